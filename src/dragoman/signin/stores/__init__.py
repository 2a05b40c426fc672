"""Where sign-ins are kept: the system's keychain, encrypted files, or memory (STORE)."""

from typing import Protocol


class StoreFailed(Exception):
    """A store that does not open or no longer answers; the text says why and repeats nothing that is kept."""


class Unreadable(StoreFailed):
    """What is kept under one name cannot be read; the store itself is fine."""


class Store(Protocol):
    """Small texts under names. Every method may wait for the system, and raises `StoreFailed`."""

    label: str
    is_shared: bool
    """Whether other processes see what is kept."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, data: bytes) -> None: ...

    def delete(self, name: str) -> bool:
        """Whether there was something."""
        ...
