"""Which store is used, and where its files are."""

import sys
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail

from dragoman.signin.stores import StoreFailed
from dragoman.signin.stores.opening import opened, own_folder
from support.proofs import proves

KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def no_keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)


@proves("STORE-01")
@pytest.mark.parametrize(
    ("choice", "key", "label"),
    [
        ("auto", None, "memory"),
        ("auto", KEY, "encrypted files"),
        ("memory", KEY, "memory"),
        ("file", KEY, "encrypted files"),
    ],
)
def test_the_first_store_that_works_is_used(choice: str, key: bytes | None, label: str, tmp_path: Path) -> None:
    assert opened(choice, tmp_path, key).label == label


@proves("STORE-02")
@pytest.mark.parametrize(("choice", "key"), [("keychain", KEY), ("file", None)])
def test_a_store_that_was_named_opens_or_fails(choice: str, key: bytes | None, tmp_path: Path) -> None:
    with pytest.raises(StoreFailed):
        opened(choice, tmp_path, key)


def test_files_that_cannot_be_used_are_passed_over_by_auto_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert opened("auto", tmp_path / "file" / "store", KEY).label == "memory"
    with pytest.raises(StoreFailed):
        opened("file", tmp_path / "file" / "store", KEY)


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.local/share/dragoman/sign-ins"),
        ("linux", {"HOME": "/h", "XDG_DATA_HOME": "/d"}, "/d/dragoman/sign-ins"),
        ("linux", {"HOME": "/h", "XDG_DATA_HOME": "d"}, "/h/.local/share/dragoman/sign-ins"),
        ("darwin", {"HOME": "/h"}, "/h/Library/Application Support/dragoman/sign-ins"),
        ("win32", {"USERPROFILE": "/h"}, "/h/AppData/Local/dragoman/sign-ins"),
        ("win32", {"USERPROFILE": "/h", "LOCALAPPDATA": "/l"}, "/l/dragoman/sign-ins"),
    ],
)
def test_the_folder_is_that_of_the_system_and_of_no_version(
    platform: str, environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert own_folder(environment).as_posix() == expected
