"""The first code that runs. It starts an upstream command as early as it may, and imports the rest meanwhile.

An editor waits for its server from the moment it starts us, so the server should not have to wait for our imports. The
rules say when it may start: not before the client's `initialize` (LIFE-06), and not with arguments that are wrong
(EXIT-03). So, only for the plainest command line there is (`[known options] -- COMMAND…`), standard input is looked at
between the imports, and when a first line is there and is plainly an `initialize`, the command is started at once.
Everything else, and every diagnosis, is left to `dragoman.cli.commands`.
"""

import os
import sys

from dragoman.cli.early import Early

if sys.platform != "win32":
    import select

    from dragoman.transports.spawn import spawn

HEAVY = ("click", "msgspec", "asyncio", "uvloop", "dragoman.cli.run")
PLAIN = {"--profile", "--name", "--discover-timeout", "--log-level", "--progress-rate"}
PLAIN_FLAGS = {"--allow-downgrade", "--allow-reencode", "--restore-error-codes"}
PROFILES = ("neutral", "vscode")  # as dragoman.profile.NAMES, which would cost its imports
READ = 1 << 16
BRACKETS = 64  # no deeper than the limit of the bridge, whatever their order


def main(argv: list[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    words = sys.argv[1:] if argv is None else argv
    command = plain_command(words)
    early = _start_early(command) if command is not None and sys.platform != "win32" else Early()
    from dragoman.cli.commands import run

    return run(words, early)


def plain_command(words: list[str]) -> tuple[str, ...] | None:
    """The upstream command when the command line is of the plainest form and its options look right."""
    if "--" not in words:
        return None
    end = words.index("--")
    options, command = words[:end], words[end + 1 :]
    place = 0
    while place < len(options):
        name, equals, value = options[place].partition("=")
        if name in PLAIN and not equals:
            place += 1
            value = options[place] if place < len(options) else ""
        if name in PLAIN_FLAGS and not equals:
            pass
        elif name not in PLAIN or not _is_safe(name, value):
            return None
        place += 1
    return tuple(command) if command and command[0] else None


def _is_safe(name: str, value: str) -> bool:
    """Whether a value is right beyond doubt; the real check comes later and may only refuse what this refuses."""
    if name == "--profile":
        return value in PROFILES
    if name == "--log-level":
        return value in ("err", "warn", "info", "debug")
    if name == "--name":
        return bool(value) and not value.startswith("--")
    return value.isascii() and value.isdigit() and len(value) < 6 and int(value) > 0


def is_initialize(line: bytes) -> bool:
    """Whether a line is an `initialize` for which the server is sure to be started (INIT-02); a doubt is a no."""
    if b'"initialize"' not in line or line.count(b"{") + line.count(b"[") > BRACKETS:
        return False
    import json

    try:
        frame = json.loads(line.decode(), parse_constant=_refuse, object_pairs_hook=_without_repetition)  # noqa: TID251 - nothing of it is forwarded, and it costs the least to import
        params = frame["params"]
        info = params["clientInfo"]
        texts = (params["protocolVersion"], info["name"], info["version"])
        return (
            (frame["jsonrpc"], frame["method"]) == ("2.0", "initialize")
            and type(frame["id"]) in (str, int)
            and all(isinstance(text, str) for text in texts)
            and isinstance(params.get("capabilities", {}), dict)
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def _start_early(command: tuple[str, ...]) -> Early:
    early = Early()
    for module in ("", *HEAVY):
        if module:
            try:
                __import__(module)
            except ImportError:
                continue  # an optional speed-up, or a fault that is reported where it matters
        if not early.data:
            early.data = _first_read()
            if early.data:
                line, whole, _ = early.data.partition(b"\n")
                if whole and is_initialize(line):
                    _spawn(early, command)
    return early


def _first_read() -> bytes:
    """What is on standard input at this moment, without waiting for it."""
    try:
        ready, _, _ = select.select([0], [], [], 0)
        return os.read(0, READ) if ready else b""
    except (OSError, ValueError):
        return b""


def _spawn(early: Early, command: tuple[str, ...]) -> None:
    try:
        early.spawned = spawn(command)
    except OSError as error:
        early.error = error
