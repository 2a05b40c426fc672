"""`dragoman check FILE` and `--check-result FILE`: the report on one reply, for people and machines (decisions C6)."""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dragoman.cli.profiles import profile_options, read_profile
from dragoman.cli.words import OneOf, Plain
from dragoman.revisions import LATEST, LATEST_LEGACY, ORDER

if TYPE_CHECKING:
    from dragoman.diagnostics.check import Finding, Reply
    from dragoman.revisions import Revision

F = TypeVar("F", bound=Callable[..., Any])

EXIT_FORWARDED, EXIT_REFUSED = 0, 3
REVISIONS = (*(revision.name for revision in ORDER), "draft")
OF_A_CHECK = ("method", "source", "target_revision", "as_json")

_OPTIONS = (
    click.option("--method", metavar="METHOD", help="The request that was answered, when the reply does not show it."),
    click.option(
        "--from",
        "source",
        type=OneOf(*REVISIONS),
        default=LATEST.name,
        show_default=True,
        help="The revision of the server that replied.",
    ),
    click.option(
        "--to",
        "target_revision",
        type=OneOf(*REVISIONS),
        default=LATEST_LEGACY.name,
        show_default=True,
        help="The revision of the client.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object."),
)


def reply_options(command: F) -> F:
    """A command that can be told where a reply came from and where it goes; `run_check` reads what was said."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(cls=Plain)
@reply_options
@profile_options
@click.argument("file")
def check(**options: object) -> int:
    """Tell what the bridge would do with one reply of a server.

    FILE holds a JSON-RPC response, or a bare result; - reads standard input. Nothing is started or opened. Exit code
    0 when the reply is forwarded, 3 when it is refused, 2 when it cannot be read or the command line is wrong.
    """
    return run_check(str(options["file"]), options)


def run_check(file: str, options: Mapping[str, Any], is_remote: bool = False) -> int:
    """Print the report; gives the exit code.

    Raises:
        click.UsageError: the file cannot be read, or holds no reply; nothing of it is repeated.
    """
    from dragoman.diagnostics.check import Unreadable, Verdict, examine, read_reply
    from dragoman.revisions import named

    profile = read_profile(options)
    source, target = named(options["source"]), named(options["target_revision"])
    assert source is not None
    assert target is not None
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        reply = read_reply(data, options["method"])
    except OSError as error:
        raise click.UsageError(f"the file with the reply cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise click.UsageError(f"the reply cannot be checked: {error}") from None
    finding = examine(reply, source, target, profile, is_remote)
    if options["as_json"]:
        click.echo(_machine(reply, finding, source, target, str(options["profile"])))
    else:
        for line in _person(reply, finding, source, target, str(options["profile"])):
            click.echo(line)
    return EXIT_REFUSED if finding.verdict is Verdict.REFUSED else EXIT_FORWARDED


SENTENCES = {
    "forwarded": "forwarded",
    "downgraded": "forwarded, with less than the server sent",
    "asked": "the client is asked, and the server gets the answers",
    "repeated": "the request is sent to the server again; the client sees nothing of it",
    "refused": "refused",
}


def _person(reply: "Reply", finding: "Finding", source: "Revision", target: "Revision", profile: str) -> Iterator[Any]:
    told = f' (its "{reply.told_by}" tells)' if reply.told_by else ""
    yield f"reply to    {reply.method}{told}"
    yield f"from, to    server of {source.name}, client of {target.name}, profile {profile}"
    yield f"verdict     {SENTENCES[finding.verdict.value]}"
    refusal, fault = finding.refusal, finding.fault
    if refusal is not None:
        at = f" at {refusal.place}" if refusal.place else ""
        yield f"reason      {refusal.row}{at}: {refusal.detail} ({refusal.why.value})"
    elif fault is not None:
        yield f"reason      {fault.cause.value}: {fault.detail or 'no detail'}"
    for name in finding.would_help:
        yield f"remedy      --{name.replace('_', '-')} forwards it"
    for rule in finding.rules:
        yield f"rule        {rule.row:6} {rule.kind:3} {rule.place or 'the top'}: {rule.detail}"
    for remark in finding.remarks:
        yield f"remark      {remark}"
    if finding.frames:
        yield ""
        yield from finding.frames


def _machine(reply: "Reply", finding: "Finding", source: "Revision", target: "Revision", profile: str) -> bytes:
    from msgspec import Raw

    from dragoman.wire.members import encoded

    refusal, fault = finding.refusal, finding.fault
    report: dict[str, object] = {
        "method": reply.method,
        "methodToldBy": reply.told_by or None,
        "from": source.name,
        "to": target.name,
        "profile": profile,
        "verdict": finding.verdict.value,
        "rules": [
            {"row": rule.row, "class": rule.kind, "place": rule.place, "detail": rule.detail} for rule in finding.rules
        ],
        "remarks": finding.remarks,
        "frames": [Raw(frame) for frame in finding.frames],
        "refusal": None,
    }
    if fault is not None:
        report["refusal"] = {
            "cause": fault.cause.value,
            "detail": fault.detail,
            "row": refusal.row if refusal is not None else None,
            "why": refusal.why.name.lower() if refusal is not None else None,
            "place": refusal.place if refusal is not None else None,
            "wouldHelp": [f"--{name.replace('_', '-')}" for name in finding.would_help],
        }
    return encoded(report)
