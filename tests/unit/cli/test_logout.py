"""What `logout` deletes, and from where."""

import asyncio
from pathlib import Path
from typing import Any

import keyring
import pytest

from dragoman.cli.ahead import give_up
from dragoman.signin.clients import Client, Kind
from dragoman.signin.key import Key
from dragoman.signin.options import Options
from dragoman.signin.record import Record
from dragoman.signin.shelf import Shelf
from dragoman.signin.tokens import Tokens
from support.proofs import proves
from unit.signin.stores.test_keychain import Ring

SECRET = bytes(range(32))
URL = "https://m.example/mcp"
RECORD = Record("https://as.example", Client("i", Kind.REGISTERED), "https://as.example/token", Tokens("t"))


def key(url: str = URL, account: str = "default", port: int = 1, client: str = "") -> Key:
    return Key(url, account, Options(Path(), redirect_port=port).redirect_uri, client)


TRUST = {"ca_file": None, "allow_intranet": False}


def given_up(folder: Path, url: str | None, **given: Any) -> int:
    options = {"account": "default", "redirect_port": 1, "token_store": "auto", **TRUST, **given}
    return asyncio.run(give_up(url, options, folder, SECRET))


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    own = Ring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: own)
    return own


def shelves(folder: Path) -> list[Shelf]:
    return [Shelf(choice, folder, SECRET, lambda _: None) for choice in ("keychain", "file")]


def keep(folder: Path, *keys: Key) -> None:
    async def kept() -> None:
        for shelf in shelves(folder):
            for one in keys:
                await shelf.write(one, RECORD)

    asyncio.run(kept())


def kept(folder: Path) -> list[Key]:
    async def found() -> list[Key]:
        return [key for shelf in shelves(folder) for key in await shelf.keys()]

    return asyncio.run(found())


@proves("OUT-01", "STORE-07")
def test_a_sign_in_goes_from_every_store_and_others_stay(tmp_path: Path, ring: Ring) -> None:
    others = [key("https://n.example"), key(account="work"), key(port=2)]
    keep(tmp_path, key(), key(client="id:mine https://as.example"), *others)
    assert given_up(tmp_path, URL) == 2
    assert kept(tmp_path) == others * 2
    assert not [name for _, name in ring.kept if name.startswith(key().name)]
    assert given_up(tmp_path, URL) == 0


@proves("OUT-01")
def test_a_record_without_its_index_is_found_by_what_it_is_for(tmp_path: Path, ring: Ring) -> None:
    keep(tmp_path, key())
    del ring.kept["dragoman", "index"]
    (tmp_path / "index.signin").unlink()
    assert given_up(tmp_path, URL) == 1
    assert not [name for _, name in ring.kept if name != "index" and not name.startswith("index/")]


@proves("OUT-02")
def test_everything_goes_with_the_folder(tmp_path: Path, ring: Ring) -> None:
    folder = tmp_path / "store"
    keep(folder, key(), key("https://n.example"))
    assert given_up(folder, None) == 2
    assert not folder.exists()
    assert {name.partition("/")[0] for _, name in ring.kept} == {"index"}
