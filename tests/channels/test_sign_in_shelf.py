"""The records of sign-ins, their index, and a store that stops answering."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import keyring
import pytest

from channels.scripted_http import played
from dragoman.signin import shelf as shelves
from dragoman.signin.clients import Client, Kind
from dragoman.signin.key import Key
from dragoman.signin.record import Record
from dragoman.signin.shelf import Shelf
from dragoman.signin.stores import StoreFailed
from dragoman.signin.tokens import Tokens
from support.proofs import proves
from unit.signin.stores.test_keychain import Ring

SECRET = bytes(range(32))
KEY = Key("https://m.example/mcp", "default", "http://127.0.0.1:1/callback")
RECORD = Record("https://as.example", Client("i", Kind.REGISTERED), "https://as.example/token", Tokens("s3cr3t"))


def filed(folder: Path, notes: list[str] | None = None, choice: str = "file") -> Shelf:
    return Shelf(choice, folder, SECRET, (notes if notes is not None else []).append)


def test_a_record_comes_back_and_is_listed_and_marked(tmp_path: Path) -> None:
    async def scene() -> None:
        notes: list[str] = []
        shelf = filed(tmp_path, notes)
        assert not KEY.mark(tmp_path).exists()
        await shelf.write(KEY, RECORD)
        assert KEY.mark(tmp_path).exists()
        again = filed(tmp_path)
        assert await again.read(KEY) == RECORD
        assert await again.keys() == [KEY]
        assert await again.delete(KEY)
        assert not await again.delete(KEY)
        assert await again.read(KEY) is None
        assert await again.keys() == []
        assert not KEY.mark(tmp_path).exists()
        assert notes == ["sign-ins are kept in encrypted files"]

    played(scene)
    assert not [file for file in tmp_path.iterdir() if b"s3cr3t" in file.read_bytes()]


@proves("STORE-07")
@pytest.mark.parametrize(
    "other",
    [
        Key("https://m.example/other", KEY.account, KEY.redirect_uri),
        Key(KEY.server, "work", KEY.redirect_uri),
        Key(KEY.server, KEY.account, "http://127.0.0.1:2/callback"),
        Key(KEY.server, KEY.account, KEY.redirect_uri, "id:mine https://as.example"),
        Key(KEY.server, KEY.account, KEY.redirect_uri, "document:https://c.example/d"),
    ],
)
def test_a_record_is_for_one_server_account_redirect_and_client(other: Key, tmp_path: Path) -> None:
    async def scene() -> None:
        shelf = filed(tmp_path)
        await shelf.write(KEY, RECORD)
        assert await shelf.read(other) is None

    played(scene)
    assert "m.example" not in KEY.name


@proves("STORE-08")
def test_a_broken_index_is_begun_anew_and_sign_ins_go_on(tmp_path: Path) -> None:
    async def scene() -> None:
        notes: list[str] = []
        shelf = filed(tmp_path, notes)
        await shelf.write(KEY, RECORD)
        store = await shelf.open()
        store.write("index", b"[1]")
        assert await shelf.read(KEY) == RECORD
        assert await shelf.keys() == []
        other = Key("https://n.example", "default", KEY.redirect_uri)
        await shelf.write(other, RECORD)
        assert await shelf.keys() == [other]
        assert any("index" in note for note in notes)

    played(scene)


def test_many_writers_lose_nothing_of_the_index(tmp_path: Path) -> None:
    async def scene() -> None:
        keys = [Key(f"https://m{number}.example", "default", KEY.redirect_uri) for number in range(12)]
        await asyncio.gather(*(filed(tmp_path).write(key, RECORD) for key in keys))
        assert sorted(await filed(tmp_path).keys(), key=str) == sorted(keys, key=str)

    played(scene)


@proves("STORE-01", "STORE-05")
def test_memory_says_why_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        notes: list[str] = []
        monkeypatch.setattr(keyring, "get_keyring", Broken)
        shelf = Shelf("auto", tmp_path, None, notes.append)
        await shelf.write(KEY, RECORD)
        assert await shelf.read(KEY) == RECORD
        assert len(notes) == 1
        assert "memory" in notes[0]
        assert "no keychain" in notes[0]
        assert "--token-key-file" in notes[0]
        assert not KEY.mark(tmp_path).exists()

    played(scene)


class Broken(Ring):
    def __init__(self) -> None:
        super().__init__()
        self.is_locked = True


@proves("STORE-06")
def test_a_keychain_that_stops_answering_is_replaced_for_the_rest_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        ring, notes = Ring(), list[str]()
        monkeypatch.setattr(keyring, "get_keyring", lambda: ring)
        shelf = Shelf("auto", tmp_path, SECRET, notes.append)
        await shelf.write(KEY, RECORD)
        assert ring.kept
        ring.is_locked = True
        assert await shelf.read(KEY) is None
        await shelf.write(KEY, RECORD)
        assert await shelf.read(KEY) == RECORD
        assert "does not answer" in notes[1]
        assert "encrypted files" in notes[1]
        named = Shelf("keychain", tmp_path, SECRET, notes.append)
        with pytest.raises(StoreFailed):
            await named.read(KEY)

    played(scene)


@proves("STORE-10")
def test_a_keychain_that_never_answers_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    class Slow(Ring):
        def get_password(self, service: str, username: str) -> str | None:
            release.wait()
            return None

    async def scene() -> None:
        notes: list[str] = []
        for seconds, hanging in (("PROMPT", 0.05), ("ANSWER", 0.05)):
            monkeypatch.setattr(shelves, seconds, hanging)
        monkeypatch.setattr(keyring, "get_keyring", Slow)
        shelf = Shelf("keychain", tmp_path, None, notes.append)
        with pytest.raises(StoreFailed, match="in time"):
            await shelf.read(KEY)

    try:
        played(scene)
    finally:
        release.set()


def test_work_that_fails_in_its_thread_fails_here(tmp_path: Path) -> None:
    async def scene() -> None:
        shelf = filed(tmp_path / "file" / "store")
        (tmp_path / "file").write_text("")
        failing: list[Callable[[], object]] = [lambda: shelf.read(KEY), lambda: shelf.write(KEY, RECORD)]
        for work in failing:
            with pytest.raises(StoreFailed):
                await work()  # pyright: ignore[reportGeneralTypeIssues]

    played(scene)
