"""The commands, their options, and how a wrong command line is answered."""

import os
import sys
from dataclasses import replace

import click

from dragoman import __version__
from dragoman.cli.accounts import login, logout
from dragoman.cli.check import OF_A_CHECK, check, reply_options, run_check
from dragoman.cli.doctor import doctor
from dragoman.cli.entry import Early
from dragoman.cli.listeners import OWN_STREAMS, listener_limits, read_listener
from dragoman.cli.profiles import profile_options, read_profile
from dragoman.cli.servers import read_server, url_options
from dragoman.cli.signin import hide_variables, sign_in_options
from dragoman.cli.words import OneOf, Plain, ToServer, Whole

EPILOG = """\b
In an editor's configuration:
  {"mcpServers": {"demo": {"command": "dragoman", "args": ["my-server", "--its-option"]}}}
Try it:  dragoman demo"""


class Commands(click.Group):
    """A group in which the bridge needs no name: `dragoman [options] -- COMMAND…` (decisions C1)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] == "help":
            args = ["--help"]
        if args[0] in ("--help", "-h", "--version"):
            args = args[:1]
        elif args[0] not in self.commands:
            args = ["bridge", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dragoman", message="%(prog)s %(version)s")
def cli() -> None:
    """Let an MCP client and an MCP server of different revisions work together.

    \b
    dragoman [OPTIONS] COMMAND [ARGS]...     start COMMAND, a server of any revision on stdio,
                                             and serve it to a client on our stdio
    dragoman [OPTIONS] URL                   the same for a server at a URL
    dragoman bridge --help                   all options of that

    A -- before COMMAND is needed only when it is named as a command below.
    """


@cli.command(cls=ToServer, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--listen",
    metavar="TARGET",
    default=OWN_STREAMS,
    help="Where clients come in: stdio:. (our own stdio, one client) or http://HOST:PORT/PATH (many).",
)
@click.option(
    "--upstream", metavar="TARGET", help="Where the server is: stdio:COMMAND, split as a shell splits words, or a URL."
)
@profile_options
@click.option("--name", metavar="NAME", help="The server's name for the client when the server gives none.")
@click.option(
    "--discover-timeout",
    metavar="SECONDS",
    type=Whole(1, 86400),
    default=60,
    show_default=True,
    help="Time for the server to say what it is.",
)
@click.option(
    "--max-line-bytes",
    metavar="BYTES",
    type=Whole(1, 1 << 30),
    default=64 << 20,
    show_default=True,
    help="Longest line of either side.",
)
@click.option(
    "--max-response-bytes",
    metavar="BYTES",
    type=Whole(1, 1 << 30),
    default=64 << 20,
    show_default=True,
    help="Largest response, or event of a stream, of a server at a URL.",
)
@url_options
@click.option(
    "--allow-host",
    metavar="NAME",
    multiple=True,
    help="A further host name of the listener. May be repeated.",
)
@click.option(
    "--allow-origin", metavar="ORIGIN", multiple=True, help="Let web pages of this origin in, too. May be repeated."
)
@listener_limits
@click.option("--tls-cert", metavar="FILE", help="The certificate (PEM) of a listener on https.")
@click.option("--tls-key", metavar="FILE", help="The private key (PEM) of that certificate.")
@click.option("--tls-client-ca", metavar="FILE", help="Let only clients in that have a certificate of this CA (PEM).")
@click.option(
    "--public-url", metavar="URL", help="The URL by which clients reach the listener, when it is another one."
)
@click.option(
    "--shared-upstream",
    is_flag=True,
    help="Let clients that do not say who they are share a server that keeps state.",
)
@click.option("--auth-token-env", metavar="VARIABLE", help="Let only clients in that send the token in this variable.")
@click.option(
    "--auth-token-file",
    metavar="FILE",
    help="Let only clients in that send a token of this file; SIGHUP reads it anew.",
)
@click.option(
    "--auth-issuer", metavar="URL", help="Let only clients in that have an access token (JWT) of this issuer."
)
@click.option(
    "--auth-audience", metavar="TEXT", help="The audience that tokens must have; without it, the URL of the listener."
)
@click.option(
    "--auth-scope", metavar="SCOPE", multiple=True, help="A scope that every token must have. May be repeated."
)
@click.option(
    "--state-key-env",
    metavar="VARIABLE",
    help="Seal the states of parked calls with the key (32 bytes, Base64 or hex) in this variable.",
)
@click.option(
    "--progress-rate",
    metavar="N",
    type=Whole(1, 1_000_000),
    help="Most progress notifications per second and request; more are dropped.",
)
@click.option(
    "--log",
    metavar="FILE",
    is_flag=False,
    flag_value="-",
    help="Record every frame, one JSON object a line; without =FILE on standard error.",
)
@click.option(
    "--log-level",
    type=OneOf("err", "warn", "info", "debug"),
    default="info",
    show_default=True,
    help="How much is said on standard error.",
)
@click.option(
    "--check-result", metavar="FILE", help="Serve nobody: tell what would be done with the reply in FILE, and end."
)
@reply_options
@sign_in_options
@click.argument("target", required=False)
@click.pass_context
def bridge(ctx: click.Context, /, **options: object) -> int:
    """Serve one client: dragoman bridge [OPTIONS] ([--] COMMAND [ARGS]... | URL)

    A command is started when the client sends initialize, and ends with the client. Exit code 0 when the client's
    input ends, 1 when the server's process stops first, 2 when the command line is wrong.
    """
    on_the_line = click.core.ParameterSource.COMMANDLINE
    given = frozenset(name for name in options if ctx.get_parameter_source(name) is on_the_line)
    behind = ctx.meta["dragoman.command"]
    if options["check_result"] is not None:
        return _check(behind, options, given)
    for name in OF_A_CHECK:
        if name in given:
            raise click.UsageError(f"the option {_spelled(ctx, name)} needs --check-result")
    from dragoman.cli.run import Settings, run_bridge

    server = read_server(behind, options, given)
    listener = read_listener(options, given, os.environ, server.era)
    if options["name"] == "":
        raise click.UsageError("the value of --name is empty")
    profile = read_profile(options)
    if isinstance(options["progress_rate"], int):
        profile = replace(profile, progress_rate=options["progress_rate"])
    state_key = _state_key(options["state_key_env"])
    hide_variables(options)
    early = ctx.obj
    assert isinstance(early, Early)
    settings = Settings(
        server=server,
        profile=profile,
        name=str(options["name"]) if options["name"] is not None else None,
        discover_timeout=float(str(options["discover_timeout"])),
        line_limit=int(str(options["max_line_bytes"])),
        response_limit=int(str(options["max_response_bytes"])),
        log_level=str(options["log_level"]),
        frame_log=str(options["log"]) if options["log"] is not None else None,
        listener=listener,
        state_key=state_key,
    )
    try:
        return run_bridge(settings, early)
    except OSError as error:
        raise click.UsageError(f"the file of --log cannot be written: {error.strerror}") from None


def _check(behind: list[str] | None, options: dict[str, object], given: frozenset[str]) -> int:
    """Only the report on a reply. A server may be named, as in the line that is checked, and is not used."""
    named = behind is not None or options["upstream"] is not None or options["target"] is not None
    server = read_server(behind, options, given) if named else None
    return run_check(str(options["check_result"]), options, server is not None and server.target is not None)


def _spelled(ctx: click.Context, name: str) -> str:
    """How the option of that name is written."""
    return next(parameter.opts[0] for parameter in ctx.command.params if parameter.name == name)


def _state_key(variable: object) -> bytes | None:
    if variable is None:
        return None
    from dragoman.runtime.seals import read_key

    text = os.environ.get(str(variable))
    if not text:
        raise click.UsageError("the variable of --state-key-env is not set, or empty")
    try:
        return read_key(text)
    except ValueError as error:
        raise click.UsageError(f"the variable of --state-key-env {error}") from None


cli.add_command(check)
cli.add_command(doctor)


cli.add_command(login)
cli.add_command(logout)


@cli.command(cls=Plain)
def profiles() -> None:
    """List the profiles, and what each of them changes."""
    from dragoman.profile import NAMES, SUMMARIES

    for name in NAMES:
        click.echo(f"{name:10} {SUMMARIES[name]}")


@cli.command(cls=Plain)
def demo() -> int:
    """Watch an older client use a modern server through the bridge."""
    from dragoman.demo import story

    return story.main(click.echo)


@cli.command("demo-server", cls=Plain)
def demo_server() -> int:
    """Be the demo's server: a real one of revision 2026-07-28, on stdio."""
    from dragoman.demo import server

    server.main()
    return 0


def run(words: list[str], early: Early) -> int:
    """Run the command line; gives the exit code. A wrong one is answered with its cause and the usage (EXIT-04)."""
    try:
        code = cli.main(words, prog_name="dragoman", standalone_mode=False, obj=early)
    except click.UsageError as error:
        usage = (error.ctx or click.Context(cli, info_name="dragoman")).get_usage()
        sys.stderr.write(f"dragoman: {error.format_message()}\n{usage}\n")
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 1
    except OSError as error:  # of what a command prints; the bridge has its own
        sys.stderr.write(f"dragoman: the output cannot be written: {error.strerror}\n")
        return 1
    return code if isinstance(code, int) else 0
