"""The system's keychain, in the place of which a backend of the tests stands."""

from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from dragoman.signin.stores import StoreFailed
from dragoman.signin.stores.keychain import PIECE, Keychain
from support.proofs import proves


class Ring(KeyringBackend):
    priority = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride, reportUnannotatedClassAttribute]

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.is_locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.is_locked:
            raise KeyringLocked("s3cr3t")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.is_locked:
            raise KeyringLocked("s3cr3t")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("none")


class Plain(Ring):
    priority = 0.5  # pyright: ignore[reportAssignmentType, reportUnannotatedClassAttribute]


@pytest.fixture
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    own = Ring()
    keyring.set_keyring(own)
    yield own
    keyring.set_keyring(before)


def test_what_is_written_is_read_and_given_up(ring: Ring) -> None:
    store = Keychain()
    assert store.read("a") is None
    store.write("a", b"\x00\xff text")
    store.write("b", b"other")
    assert store.read("a") == b"\x00\xff text"
    assert {service for service, _ in ring.kept} == {"dragoman"}
    assert store.delete("a")
    assert not store.delete("a")
    assert store.read("b") == b"other"


def test_a_long_text_is_kept_in_pieces_that_every_keychain_takes(ring: Ring) -> None:
    store = Keychain()
    for size in (5000, 10, 0, 3000):
        data = bytes(size)
        store.write("a", data)
        assert store.read("a") == data
        assert all(len(piece) <= PIECE for piece in ring.kept.values())
    store.delete("a")
    assert ring.kept == {}


def test_pieces_that_do_not_fit_together_are_nothing(ring: Ring) -> None:
    store = Keychain()
    store.write("a", bytes(3000))
    ring.kept["dragoman", "a"] = "many"
    assert store.read("a") is None


@proves("STORE-02")
def test_a_keychain_that_is_none_does_not_open() -> None:
    before = keyring.get_keyring()
    try:
        keyring.set_keyring(Plain())
        with pytest.raises(StoreFailed, match="no keychain"):
            Keychain()
    finally:
        keyring.set_keyring(before)


def test_a_keychain_that_is_locked_says_so_and_nothing_else(ring: Ring) -> None:
    store = Keychain()
    ring.is_locked = True
    for work in (lambda: store.read("a"), lambda: store.write("a", b""), lambda: store.delete("a"), Keychain):
        with pytest.raises(StoreFailed) as failed:
            work()
        assert "s3cr3t" not in str(failed.value)
