"""`dragoman doctor`: visit a server, and tell what it is and how it is put behind the bridge."""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.servers import Server, read_server, url_options
from dragoman.cli.signin import sign_in_options
from dragoman.cli.words import OneOf, ToServer, Whole, behind_dashes, commands_of, first_word

if TYPE_CHECKING:
    from dragoman.diagnostics.facts import Facts
    from dragoman.diagnostics.report import Setup
    from dragoman.signin.options import Options

EXIT_UNDERSTOOD, EXIT_NOT_UNDERSTOOD = 0, 1
MOST_ASIDE = 1 << 20  # bytes of standard error that are shown after the report
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Visitor(ToServer):
    """The server may also be named by a word of its own, in every form of --upstream."""

    def split_at_command(self, ctx: click.Context, words: list[str]) -> tuple[list[str], list[str] | None]:
        place = first_word(words, self)
        if place is not None and place == len(words) - 1 and len(words[place].split()) > 1:
            return words, None  # a whole command line in one word, as for --upstream
        return super().split_at_command(ctx, words)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS] ([--] COMMAND [ARGS]... | TARGET)"]


@click.command(cls=Visitor)
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=Whole(1, 3600),
    default=30,
    show_default=True,
    help="Time for the whole visit.",
)
@url_options
@sign_in_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option(
    "--log-level",
    type=OneOf("err", "warn", "info", "debug"),
    default="warn",
    show_default=True,
    help="How much is said on standard error.",
)
@click.argument("target", required=False)
@click.pass_context
def doctor(ctx: click.Context, /, **options: object) -> int:
    """Visit a server, and tell what it is.

    TARGET is a command or a URL, in every form of --upstream. The server is started or reached, asked what it is, and
    its lists are read; nothing is called. The report says which revision it speaks, what clients of each revision get
    of it through dragoman, and what to write into a configuration. Exit code 0 when the server is reached and
    understood, 1 when not, 2 when the command line is wrong.
    """
    on_the_line = click.core.ParameterSource.COMMANDLINE
    given = frozenset(name for name in options if ctx.get_parameter_source(name) is on_the_line)
    named = {**options, "upstream": options["target"], "target": None}
    server = read_server(ctx.meta["dragoman.command"], named, given)
    aside = _Aside()
    try:
        facts = _visit(server, float(str(options["time_limit"])), str(options["log_level"]), aside)
        return _report(facts, server, options)
    finally:
        aside.show()


class _Aside:
    """Our own log, and what the server writes for people: they are shown after the report (A8)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._room = MOST_ASIDE

    def write(self, data: bytes) -> None:
        if self._room > 0:
            self._parts.append(data[: self._room])
        self._room -= len(data)

    def show(self) -> None:
        sys.stdout.flush()
        left_out = f"\n[{-self._room} more bytes are left out]\n".encode() if self._room < 0 else b""
        sys.stderr.buffer.write(b"".join((*self._parts, left_out)))
        sys.stderr.buffer.flush()


def _report(facts: "Facts", server: Server, options: Mapping[str, Any]) -> int:
    if server.target is not None and server.sign_in is not None and not facts.is_fine:
        facts = _with_way_in(facts, server, server.sign_in, shlex.join(setup_of(server, facts, options).words))
    from dragoman.diagnostics.report import for_machine, for_person

    setup = setup_of(server, facts, options)
    if options["as_json"]:
        click.echo(for_machine(facts, setup))
    else:
        for line in for_person(facts, setup):
            click.echo(line)
    return EXIT_UNDERSTOOD if facts.is_fine else EXIT_NOT_UNDERSTOOD


def _visit(server: Server, seconds: float, level: str, aside: "_Aside") -> "Facts":
    import asyncio

    from dragoman.diagnostics.doctor import examine
    from dragoman.exchange.notes import Level
    from dragoman.limits import Limits
    from dragoman.runtime.log import CHOICES, Log
    from dragoman.runtime.targets import to_command, to_url
    from dragoman.runtime.unattended import Unattended
    from dragoman.runtime.visit import Visit
    from dragoman.signin.credentials import SignIn

    log = Log("dragoman", CHOICES[level], aside.write)
    kept: SignIn | None = None
    if server.target is None:
        way = to_command(server.command)()
    else:
        target = server.target
        if server.sign_in is not None:
            kept = SignIn(target, server.sign_in, lambda _: None, lambda text: log.note(Level.INFO, "signin", text))
            if not kept.are_idle:
                target = replace(target, credentials=kept)
        way = to_url(target, server.transport, Limits().line)()

    def begins(visit: Visit) -> None:
        if kept is not None:
            kept.person = Unattended(lambda: visit)

    facts = asyncio.run(examine(way, server.transport, seconds, log, aside.write, begins=begins))
    return facts if server.target is not None else replace(facts, program=server.command[0])


def _with_way_in(facts: "Facts", server: Server, sign_in: "Options", words: str) -> "Facts":
    """The same, with how to sign in if that is what the server wants."""
    from dragoman.diagnostics.symptoms import is_about_sign_in

    if facts.fault is None or server.target is None or not is_about_sign_in(facts.fault):
        return facts
    import asyncio

    from dragoman.cli.ahead import way_in

    return replace(facts, way_in=asyncio.run(way_in(server.target, sign_in, words)))


def setup_of(server: Server, facts: "Facts", options: Mapping[str, Any]) -> "Setup":
    """How the server is put into a configuration. No value of a header and no query of a URL is in it."""
    from dragoman.diagnostics.report import Setup
    from dragoman.wire.members import object_in, text_of

    told = text_of((object_in(facts.ready.info) or {}).get("name")) if facts.ready is not None else None
    if server.target is None:
        program, *arguments = server.command
        known = commands_of(click.get_current_context(silent=True))
        words = behind_dashes((_from_anywhere(program), *arguments), known)
        return Setup(_plain(told or PurePath(program).stem), words)
    address = server.target.address
    url = address.url if "?" not in address.url else f"{address.url.partition('?')[0]}?..."
    words = [f"--header-env={name}" for name in _headers(server, options)]
    if options["ca_file"] is not None:
        words.append(f"--ca-file={options['ca_file']}")
    words += [f"--{name.replace('_', '-')}" for name in ("allow_http", "allow_intranet") if options.get(name)]
    words += [url] if server.transport is None else ["--upstream", f"{server.transport.value}{url}"]
    return Setup(_plain(told or address.host), tuple(words))


def _headers(server: Server, options: Mapping[str, Any]) -> list[str]:
    """The headers without their values: a value belongs into a variable."""
    from_variables = [str(each) for each in options["header_env"]]
    known = {each.partition("=")[0].lower() for each in from_variables}
    assert server.target is not None
    visible = [header.name for header in server.target.headers if header.name.lower() not in known]
    return [*(f"{name}={name.upper().replace('-', '_')}" for name in visible), *from_variables]


def _from_anywhere(program: str) -> str:
    """A path that holds in the folder of an editor, too; a bare name is looked for as it is."""
    return program if PurePath(program).name == program else os.path.abspath(program)


def _plain(name: str) -> str:
    """A name that may stand in every configuration."""
    return _NOT_IN_A_NAME.sub("-", name).strip("-")[:64] or "server"
