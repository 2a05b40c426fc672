"""dragoman: an interpreter between revisions of the Model Context Protocol.

`dragoman.asgi(…)` is the listener as an application; it is loaded when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "asgi"]

if TYPE_CHECKING:
    from dragoman.embed import asgi


def __getattr__(name: str) -> object:
    if name == "asgi":
        return import_module("dragoman.embed").asgi
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
