"""The states of a client with a handshake, and what a request gets in each: a table, and a missing entry is a fault.

`ping`, `logging/setLevel` and `server/discover` are not in it: they are answered alike in every state (LIFE-07,
LIFE-08, LIFE-10). Nor are notifications, which never get an answer.
"""

from collections.abc import Mapping
from enum import Enum


class State(Enum):
    AWAITING_INITIALIZE = "awaiting initialize"
    INITIALIZING = "initializing"
    READY = "ready"
    SERVER_GONE = "closing: the server is gone"
    CLIENT_LEFT = "closing: the client left"


class Kind(Enum):
    INITIALIZE = "initialize"
    FORWARD = "forward"
    SUBSCRIBE = "subscribe"
    UNKNOWN = "unknown"


class Action(Enum):
    OPEN = "open"
    FORWARD = "forward"
    CHANGE = "change"
    HOLD = "hold"
    REFUSE_TWICE = "refuse twice"
    REFUSE_UNOPENED = "refuse unopened"
    REFUSE_UNKNOWN = "refuse unknown"
    REFUSE_GONE = "refuse gone"
    IGNORE = "ignore"


ON_REQUEST: Mapping[State, Mapping[Kind, Action]] = {
    State.AWAITING_INITIALIZE: {
        Kind.INITIALIZE: Action.OPEN,
        Kind.FORWARD: Action.REFUSE_UNOPENED,
        Kind.SUBSCRIBE: Action.REFUSE_UNOPENED,
        Kind.UNKNOWN: Action.REFUSE_UNOPENED,
    },
    State.INITIALIZING: {
        Kind.INITIALIZE: Action.REFUSE_TWICE,
        Kind.FORWARD: Action.HOLD,
        Kind.SUBSCRIBE: Action.HOLD,
        Kind.UNKNOWN: Action.HOLD,
    },
    State.READY: {
        Kind.INITIALIZE: Action.REFUSE_TWICE,
        Kind.FORWARD: Action.FORWARD,
        Kind.SUBSCRIBE: Action.CHANGE,
        Kind.UNKNOWN: Action.REFUSE_UNKNOWN,
    },
    State.SERVER_GONE: dict.fromkeys(Kind, Action.REFUSE_GONE),
    State.CLIENT_LEFT: dict.fromkeys(Kind, Action.IGNORE),
}
