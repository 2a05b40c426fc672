"""dragoman: an interpreter between revisions of the Model Context Protocol.

`bridge` is a bridge in a program of yours, and `asgi` the listener as an application. What a name needs is loaded when
it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "Bridge",
    "CannotListen",
    "Cause",
    "Challenge",
    "Channel",
    "Command",
    "DragomanError",
    "Fault",
    "Gate",
    "Http",
    "InvalidValue",
    "Limits",
    "Profile",
    "Receiver",
    "Reception",
    "Timeouts",
    "Upstream",
    "Url",
    "Way",
    "WrongState",
    "__version__",
    "asgi",
    "bridge",
]

if TYPE_CHECKING:
    from dragoman.channel import Channel
    from dragoman.embed.application import asgi
    from dragoman.embed.bridge import Bridge, bridge
    from dragoman.embed.errors import CannotListen, DragomanError, InvalidValue, WrongState
    from dragoman.embed.values import Command, Http, Url, Way
    from dragoman.faults import Cause, Fault
    from dragoman.limits import Limits, Reception, Timeouts
    from dragoman.profile import Profile
    from dragoman.transports.http.server.authentication import Challenge, Gate
    from dragoman.transports.upstream import Receiver, Upstream

_HOMES = {
    "dragoman.channel": ("Channel",),
    "dragoman.embed.application": ("asgi",),
    "dragoman.embed.bridge": ("Bridge", "bridge"),
    "dragoman.embed.errors": ("CannotListen", "DragomanError", "InvalidValue", "WrongState"),
    "dragoman.embed.values": ("Command", "Http", "Url", "Way"),
    "dragoman.faults": ("Cause", "Fault"),
    "dragoman.limits": ("Limits", "Reception", "Timeouts"),
    "dragoman.profile": ("Profile",),
    "dragoman.transports.http.server.authentication": ("Challenge", "Gate"),
    "dragoman.transports.upstream": ("Receiver", "Upstream"),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
