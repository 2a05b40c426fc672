"""What a bridge in a program raises. Each error is also one of Python's own, so that either name catches it."""


class DragomanError(Exception):
    """Everything that dragoman raises in a program of yours, but for what your own code raises in a callback."""


class InvalidValue(DragomanError, ValueError):
    """A value cannot be used. The sentence says which and why, and repeats nothing of it."""


class CannotListen(DragomanError, OSError):
    """The place for clients cannot be had. `errno` is the system's number."""


class WrongState(DragomanError, RuntimeError):
    """It is too late for this, or too early."""
