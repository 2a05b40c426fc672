"""The library face: the bridge in a program of yours, and the listener as an ASGI application."""
