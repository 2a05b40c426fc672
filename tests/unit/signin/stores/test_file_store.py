"""Sign-ins in files: encrypted, private, and never half written."""

import os
import sys
from pathlib import Path

import pytest

from dragoman.signin.stores import StoreFailed, Unreadable
from dragoman.signin.stores.files import Files, key_in, read_key
from support.proofs import proves

KEY = bytes(range(32))
posix = pytest.mark.skipif(sys.platform == "win32", reason="modes of files are POSIX")


@proves("STORE-03")
def test_what_is_written_is_read_and_is_not_in_the_file(tmp_path: Path) -> None:
    store = Files(tmp_path / "a" / "b", KEY)
    assert store.read("name") is None
    store.write("name", b"s3cr3t-4711")
    store.write("name", b"s3cr3t-4712")
    assert store.read("name") == b"s3cr3t-4712"
    (file,) = (tmp_path / "a" / "b").iterdir()
    assert b"s3cr3t" not in file.read_bytes()
    assert store.delete("name")
    assert not store.delete("name")
    assert store.read("name") is None


def test_the_same_text_is_never_encrypted_alike(tmp_path: Path) -> None:
    store = Files(tmp_path, KEY)
    store.write("name", b"text")
    first = (tmp_path / "name.signin").read_bytes()
    store.write("name", b"text")
    assert (tmp_path / "name.signin").read_bytes() != first


def test_another_key_another_name_and_a_changed_byte_are_noticed(tmp_path: Path) -> None:
    Files(tmp_path, KEY).write("name", b"text")
    with pytest.raises(Unreadable):
        Files(tmp_path, bytes(32)).read("name")
    file = tmp_path / "name.signin"
    (tmp_path / "other.signin").write_bytes(file.read_bytes())
    with pytest.raises(Unreadable):
        Files(tmp_path, KEY).read("other")
    data = file.read_bytes()
    for broken in (data[:-1] + bytes([data[-1] ^ 1]), data[:20], b""):
        file.write_bytes(broken)
        with pytest.raises(Unreadable):
            Files(tmp_path, KEY).read("name")


@posix
def test_folder_and_files_are_the_owner_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)
    Files(folder, KEY).write("name", b"text")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "name.signin").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailed):
        Files(tmp_path / "file" / "store", KEY)


@proves("STORE-03")
@pytest.mark.parametrize("text", ["", "00" * 31, "00" * 33, "g" * 64, "0x" + "00" * 31])
def test_a_key_has_64_hexadecimal_digits(text: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal"):
        read_key(text)


def test_a_key_may_have_spaces_around_it() -> None:
    assert read_key(f" {KEY.hex().upper()}\n") == KEY


@proves("STORE-04")
@posix
def test_a_key_file_is_private_and_kept_elsewhere(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    file = tmp_path / "key"
    file.write_text(KEY.hex())
    file.chmod(0o600)
    assert key_in(file, store) == KEY
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(ValueError, match="other accounts"):
            key_in(file, store)
    inside = store / "key"
    inside.write_text(KEY.hex())
    inside.chmod(0o600)
    (tmp_path / "link").symlink_to(inside)
    for place in (inside, tmp_path / "link"):
        with pytest.raises(ValueError, match="must not be in"):
            key_in(place, store)
    with pytest.raises(ValueError, match="cannot be read"):
        key_in(tmp_path / "none", store)
    file.chmod(0o600)
    file.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="64 hexadecimal"):
        key_in(file, store)
    if os.getuid() == 0:
        file.write_text(KEY.hex())
        os.chown(file, 12345, 0)
        with pytest.raises(ValueError, match="another account"):
            key_in(file, store)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_is_not_on_the_disk_is_not_written(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D8: a full disk tells so at the latest when the file is made to be on it."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = Files(tmp_path, KEY)
    store.write("a", b"old")
    monkeypatch.setattr(f"os.{call}", full)
    with pytest.raises(StoreFailed, match="No space left"):
        store.write("a", b"new")
    monkeypatch.undo()
    assert store.read("a") == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.signin"]
