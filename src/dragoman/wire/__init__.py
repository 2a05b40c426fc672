"""Bytes, frames and members: what every JSON-RPC peer has in common, whatever its revision."""
