"""Streamable HTTP and HTTP+SSE towards clients: an ASGI application and what it is made of."""
