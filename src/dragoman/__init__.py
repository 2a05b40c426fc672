"""dragoman: an interpreter between revisions of the Model Context Protocol.

`bridge` is a bridge in a program of yours, and `asgi` the listener as an application. What a name needs is loaded when
it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["Bridge", "Command", "Http", "Limits", "Profile", "Url", "Way", "__version__", "asgi", "bridge"]

if TYPE_CHECKING:
    from dragoman.embed.application import asgi
    from dragoman.embed.bridge import Bridge, bridge
    from dragoman.embed.values import Command, Http, Url, Way
    from dragoman.limits import Limits
    from dragoman.profile import Profile

_HOMES = {
    "asgi": "dragoman.embed.application",
    "bridge": "dragoman.embed.bridge",
    "Bridge": "dragoman.embed.bridge",
    "Command": "dragoman.embed.values",
    "Http": "dragoman.embed.values",
    "Url": "dragoman.embed.values",
    "Way": "dragoman.embed.values",
    "Limits": "dragoman.limits",
    "Profile": "dragoman.profile",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
