"""The documents say what the code does: options, faults, exit codes, log lines, limits, profiles, losses, and links."""

import inspect
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

import dragoman
from dragoman.cli.check import EXIT_REFUSED
from dragoman.cli.commands import cli, run
from dragoman.cli.entry import Early, plain_command
from dragoman.diagnostics.check import Verdict
from dragoman.exchange.notes import Level
from dragoman.faults import TABLE, Cause
from dragoman.limits import Limits, Reception, Timeouts
from dragoman.profile import NAMES, named
from dragoman.profile.own import KEYS, TABLES, from_toml
from dragoman.revisions.rows import ROWS
from dragoman.runtime.conversation import EXIT_FINE, EXIT_LOST
from dragoman.runtime.log import NAMES as LEVEL_NAMES
from support.playbook import play, scenes

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "dragoman"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
STARTING = ROOT / "docs" / "getting-started.md"
TRANSLATION = ROOT / "docs" / "translation.md"
SHARED = ROOT / "docs" / "shared-endpoint.md"
TROUBLE = ROOT / "docs" / "troubleshooting.md"
DIAGNOSTICS = ROOT / "docs" / "diagnostics.md"
LIBRARY = ROOT / "docs" / "library.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
OF_OTHERS = {
    "--timeout-graceful-shutdown",
    "--global",
    "--its-option",
    "--upgrade",
    "--group",
    "--check",
    "--only",
    "--max-mb",
}

each_document = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def text(path: Path) -> str:
    return path.read_text("utf-8")


def prose(path: Path) -> str:
    return FENCE.sub("", text(path))


def blocks(path: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(text(path)) if name == language]


def section(path: Path, title: str) -> str:
    """The text under a heading, up to the next heading of its level or a higher one."""
    _, mark, rest = text(path).partition(f"\n## {title}\n")
    assert mark, f"{path.name} has no section {title}"
    return rest.partition("\n## ")[0]


def rows(table: str) -> Iterator[list[str]]:
    """The cells of each line of each table, without the rule below its head."""
    for line in table.splitlines():
        if line.startswith("|") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def options() -> dict[str, set[str]]:
    """Every option, with the commands that have it."""
    found: dict[str, set[str]] = {}
    for name, command in {"": cli, **cli.commands}.items():
        context = click.Context(command, info_name=name)
        for parameter in command.get_params(context):
            if isinstance(parameter, click.Option):
                for option in parameter.opts:
                    found.setdefault(option, set()).add(name)
    return found


# ---------------------------------------------------------------------- the command line


def test_every_option_is_documented_once() -> None:
    documented = [OPTION.findall(cells[0]) for cells in rows(section(STARTING, "Options"))]
    names = [name for row in documented for name in dict.fromkeys(row)]
    assert sorted(names) == sorted(option for option in options() if option.startswith("--"))


@each_document
def test_no_document_names_an_option_that_does_not_exist(path: Path) -> None:
    assert set(OPTION.findall(text(path))) - set(options()) <= OF_OTHERS


def test_the_documented_defaults_are_those_of_the_options() -> None:
    documented = {cells[0].split()[0].strip("`,"): cells[1].strip("`") for cells in rows(section(STARTING, "Options"))}
    for parameter in cli.commands["bridge"].params:
        if isinstance(parameter, click.Option) and isinstance(parameter.default, str | int) and not parameter.is_flag:
            assert documented[parameter.opts[0]] == str(parameter.default)


def test_every_command_is_documented() -> None:
    table = section(STARTING, "Commands")
    assert {name for name in cli.commands if f"`dragoman {name}" in table} == set(cli.commands)


@pytest.mark.parametrize("path", [STARTING, TROUBLE], ids=lambda path: path.name)
def test_every_exit_code_is_documented(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = run(["--no-such-option"], Early())
    assert capsys.readouterr().out == ""
    documented = [cells[0] for cells in rows(section(path, "Exit codes"))]
    assert documented == ["Code", *(str(code) for code in sorted({EXIT_FINE, EXIT_LOST, wrong, EXIT_REFUSED}))]


# ---------------------------------------------------------------------- faults and log lines


def test_every_cause_is_documented_with_its_code() -> None:
    documented = {cells[0].strip("`"): cells[1] for cells in rows(section(TROUBLE, "Error causes"))}
    assert documented.pop("Cause") == "Code"
    assert set(documented) == {cause.value for cause in Cause}
    wrong = {cause for cause in Cause if documented[cause.value].split(",")[0] != str(TABLE[cause][0])}
    assert not wrong


def test_only_causes_that_the_code_never_uses_are_called_reserved() -> None:
    sources = "".join(text(path) for path in SOURCES.rglob("*.py") if path.name != "faults.py")
    reserved = {cells[0].strip("`") for cells in rows(section(TROUBLE, "Error causes")) if "Reserved." in cells[3]}
    unused = {cause.value for cause in Cause if not re.search(rf"\bCause\.{cause.name}\b", sources)}
    assert unused <= reserved
    assert reserved - unused <= {"request_not_expressible", "transport_failed"}  # of ways that stdio does not take


def test_every_scope_of_log_lines_is_documented_with_its_levels() -> None:
    note = re.compile(r"\.note\(\s*Level\.(\w+),\s*\"(\w+)\"")
    used = {
        (scope, LEVEL_NAMES[Level[level]])
        for path in SOURCES.rglob("*.py")
        for level, scope in note.findall(text(path))
    }
    documented = {(cells[0].strip("`"), cells[1]) for cells in rows(section(TROUBLE, "Log lines"))}
    assert documented - {("Scope", "Level")} == used


# ---------------------------------------------------------------------- limits, profiles, losses


def test_every_limit_is_documented_with_its_value() -> None:
    expected = {
        part.name: getattr(Limits(), part.name) for part in fields(Limits) if part.name not in ("timeouts", "reception")
    }
    expected |= {f"timeouts.{part.name}": getattr(Timeouts(), part.name) for part in fields(Timeouts)}
    documented = {cells[2].strip("`"): cells[1] for cells in rows(section(TRANSLATION, "Limits"))}
    documented.pop("Name")
    of_a_transport_to_come = {"reopen_at_once"}
    assert set(documented) == set(expected) - of_a_transport_to_come
    for name, value in documented.items():
        number = float(value.split()[0]) * (1 << 20 if value.endswith("MiB") else 1)
        assert number == expected[name], name


def test_every_limit_of_a_listener_is_documented_with_its_value() -> None:
    documented = {cells[2].strip("`"): cells[1] for cells in rows(section(SHARED, "Limits")) if cells[2] != "Name"}
    assert set(documented) == {part.name for part in fields(Reception)}
    for name, value in documented.items():
        number, _, unit = value.partition(" ")
        assert float(number) * {"MiB": 1 << 20, "KiB": 1 << 10}.get(unit, 1) == getattr(Reception(), name), name


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_is_documented(name: str) -> None:
    assert f"`{name}`" in section(STARTING, "Profiles")
    profiles = section(TRANSLATION, "Profiles")
    assert f"`{name}`" in next(iter(profiles.partition("| --- |")))
    profile = named(name)
    assert profile is not None
    assert f"`{profile.name}`" in profiles


def test_the_example_of_a_profile_is_one_and_has_every_key() -> None:
    (example,) = blocks(STARTING, "toml")
    from_toml(example)
    given = tomllib.loads(example)
    assert set(given) == KEYS
    neutral = named("neutral")
    assert neutral is not None
    for table, place in TABLES.items():
        assert set(given[table]) == {part.name for part in fields(getattr(neutral, place))}


def test_every_loss_is_documented_and_every_row_that_is_named_exists() -> None:
    can_lose = {row.id for row in ROWS.values() if "F" in row.older_client or "R" in row.older_client}
    table = " ".join(cells[0] for cells in rows(section(TRANSLATION, "Losses")))
    assert set(CODE.findall(table)) == can_lose
    for path in DOCUMENTS:
        assert set(re.findall(r"\b[HS]\d?-\d\d\b", text(path))) <= set(ROWS)


# ---------------------------------------------------------------------- examples


@pytest.mark.parametrize("path", [README, STARTING, TROUBLE], ids=lambda path: path.name)
def test_every_json_block_is_json(path: Path) -> None:
    found = blocks(path, "json")
    assert found
    for block in found:
        json.loads(block)


def test_every_example_of_a_configuration_starts_the_bridge() -> None:
    for block in blocks(README, "json"):
        ((kind, servers),) = json.loads(block).items()
        assert kind in ("mcpServers", "servers", "context_servers")
        for server in servers.values():
            if server["command"] == "dragoman":
                assert plain_command(server["args"]) == ("my-server", "--its-option")
            else:
                assert server["command"] == "my-server"


def test_the_example_of_a_scene_can_be_played(tmp_path: Path) -> None:
    (example,) = [block for block in blocks(CONTRIBUTING, "text") if block.startswith("== ")]
    path = tmp_path / "example.play"
    path.write_text(example, "utf-8")
    (scene,) = scenes(path)
    play(scene)


def test_the_reports_of_a_check_are_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reply,) = blocks(DIAGNOSTICS, "json")
    file = tmp_path / "reply.json"
    file.write_text(reply, "utf-8")
    for options, code in (((), EXIT_REFUSED), (("--allow-downgrade",), 0)):
        assert run(["check", str(file), *options], Early()) == code
        assert capsys.readouterr().out in blocks(DIAGNOSTICS, "text")


def test_every_problem_of_a_visit_is_documented() -> None:
    documented = {cells[0].strip("`") for cells in rows(section(DIAGNOSTICS, "Visit a server"))}
    used = set(re.findall(r'Symptom\(\s*"(\w+)"', text(SOURCES / "diagnostics" / "symptoms.py")))
    assert used
    assert documented == used | {"Problem"}


def test_every_verdict_is_documented_with_its_exit_code() -> None:
    documented = {cells[0].strip("`"): cells[1] for cells in rows(section(DIAGNOSTICS, "Check a reply"))}
    assert {each.value for each in Verdict} <= set(documented)
    assert {documented[each.value] for each in Verdict if each is not Verdict.REFUSED} == {"0"}
    assert documented[Verdict.REFUSED.value] == str(EXIT_REFUSED)


def test_every_value_of_the_library_is_documented() -> None:
    documented = {name for cells in rows(section(LIBRARY, "Other values")) for name in CODE.findall(cells[0])}
    taken = set(inspect.signature(dragoman.bridge).parameters)
    assert documented == taken - {"upstream", "listen"}
    page = text(LIBRARY)
    assert {name for name in dragoman.__all__ if name[0].isupper() and f"dragoman.{name}" not in page} == {"Bridge"}
    for value in (dragoman.Url, dragoman.Http):
        (cells,) = [cells for cells in rows(page) if cells[0].startswith(f"`dragoman.{value.__name__}(")]
        assert {part.name for part in fields(value)} - {"url"} <= set(CODE.findall(cells[1]))


# ---------------------------------------------------------------------- names and links


def test_every_file_that_the_architecture_names_exists() -> None:
    names = {name for name in CODE.findall(prose(ARCHITECTURE)) if re.fullmatch(r"[\w/.-]+\.(py|toml)", name)}
    assert names
    plain = {path.name for path in SOURCES.rglob("*.py")}
    to_be_made = {"revisions/vYYYY_MM_DD.py"}
    missing = {
        name
        for name in names - to_be_made
        if not (SOURCES / name).exists() and not (ROOT / name).exists() and ("/" in name or name not in plain)
    }
    assert not missing


def test_every_member_that_the_architecture_names_exists() -> None:
    sources = [text(path) for path in SOURCES.rglob("*.py")]
    named_there = {name for name in CODE.findall(prose(ARCHITECTURE)) if re.fullmatch(r"[A-Z]\w+\.[a-z_]+", name)}
    assert named_there
    missing = {
        name
        for name in named_there
        if not any(
            re.search(rf"^class {name.partition('.')[0]}\b", source, re.MULTILINE)
            and re.search(rf"\b(?:def|self\.)?\s*{name.partition('.')[2]}\b", source)
            for source in sources
        )
    }
    assert not missing


def test_the_layers_of_the_architecture_are_those_of_the_contract() -> None:
    contract = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = next(block for block in blocks(ARCHITECTURE, "text") if block.startswith("cli"))
    assert [re.split(r"\s{2,}", line)[0] for line in drawn.splitlines()] == contract


@each_document
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for target in LINK.findall(prose(path)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert there.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(there), target


def anchors(path: Path) -> set[str]:
    """The anchors of the headings, as they are made from their text."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose(path)))
    return {word.replace(" ", "-") for word in words}


def test_every_target_of_make_exists() -> None:
    makefile = text(ROOT / "Makefile")
    for path in DOCUMENTS:
        for target in re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text(path), re.MULTILINE):
            assert re.search(rf"^{target}\b.*:", makefile, re.MULTILINE), f"{path.name}: make {target}"


@each_document
def test_lines_are_short(path: Path) -> None:
    long = [line for line in prose(path).splitlines() if len(line) > 120 and not line.startswith("|")]
    assert not long


@each_document
def test_no_document_names_this_machine_or_a_registry(path: Path) -> None:
    words = text(path)
    own_places = {str(ROOT), str(Path.home()), sys.prefix, sys.base_prefix} - {"/", "/usr"}
    assert not [place for place in own_places if re.search(rf"{re.escape(place)}(?![\w-])", words)]
    assert not re.findall(r"(?<![\w~./-])/(?:home|root|tmp|work|Users|opt|var)/\S*", words)
    assert not re.findall(r"\b(?:pypi|npmjs|pythonhosted|crates)\.\w+|\bregistry\.\w+\.\w+", words)
