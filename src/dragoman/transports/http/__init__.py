"""A modern server at a URL: Streamable HTTP, each message a POST of its own (HTTP)."""
