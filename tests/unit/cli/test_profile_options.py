"""The options that make a profile, and the command that lists those that ship."""

from pathlib import Path
from typing import Any

import click
import pytest

from dragoman.cli.commands import run
from dragoman.cli.entry import Early
from dragoman.cli.profiles import read_profile
from dragoman.profile import NAMES, SUMMARIES, named


def options(**given: Any) -> dict[str, Any]:
    flags = {
        "allow_downgrade": False,
        "allow_reencode": False,
        "restore_error_codes": False,
        "keep_error_codes": False,
        "merge_pages": False,
    }
    return {"profile": "neutral", **flags, **given}


def test_the_profiles_that_ship_are_listed_with_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profiles"], Early()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[name, SUMMARIES[name]] for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_without_options_is_the_one_that_ships(name: str) -> None:
    assert read_profile(options(profile=name)) is named(name)


def test_each_option_permits_one_thing() -> None:
    plain = read_profile(options())
    assert read_profile(options(allow_downgrade=True)).policy() == plain.policy().__class__(allow_downgrade=True)
    assert read_profile(options(allow_reencode=True)).policy() == plain.policy().__class__(allow_reencode=True)
    restoring = read_profile(options(restore_error_codes=True))
    assert restoring.quirks.restore_resource_not_found
    assert restoring.policy() == plain.policy()


def test_a_file_is_read_and_options_go_before_it(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('name = "own"\nallow_downgrade = false')
    read = read_profile(options(profile=str(file), allow_downgrade=True))
    assert (read.name, read.allow_downgrade) == ("own", True)


@pytest.mark.parametrize(
    ("name", "text"), [("x", "must be one of"), ("/no/x.toml", "cannot be read"), ("bad.toml", "is not usable")]
)
def test_no_profile_is_refused(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("what = 1")
    with pytest.raises(click.UsageError, match=text):
        read_profile(options(profile=name))
