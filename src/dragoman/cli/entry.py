"""The first code that runs. It starts an upstream command as early as it may, and imports the rest meanwhile.

An editor waits for its server from the moment it starts us, so the server should not have to wait for our imports. The
rules say when it may start: not before the client's `initialize` (LIFE-06), and not with arguments that are wrong
(EXIT-03). So, only for the plainest command line there is (`[known options] -- COMMAND…`), standard input is looked at
between the imports, and when a first line is there and is plainly an `initialize`, the command is started at once.
Everything else, and every diagnosis, is left to `dragoman.cli.commands`.
"""

import os
import sys

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than all else here
if TYPE_CHECKING:
    from dragoman.transports.spawn import Spawned
if sys.platform != "win32":
    import select
    from _json import make_scanner

    from dragoman.transports.spawn import spawn

HEAVY = ("click", "msgspec", "asyncio", "uvloop", "dragoman.cli.run")
PLAIN = {"--profile", "--name", "--discover-timeout", "--log-level", "--progress-rate"}
PLAIN_FLAGS = {"--allow-downgrade", "--allow-reencode", "--restore-error-codes", "--keep-error-codes", "--merge-pages"}
PROFILES = ("neutral", "handshake", "vscode")  # as dragoman.profile.NAMES, which would cost its imports
SUBCOMMANDS = (
    *("bridge", "check", "demo", "demo-server", "doctor", "help", "login", "logout", "profiles"),
)  # as in dragoman.cli.commands
READ = 1 << 16
BRACKETS = 64  # no deeper than the limit of the bridge, whatever their order


class Early:
    """What was done before the command line was read.

    `data` was read from standard input; `spawned` was started for it, or `error` is why it could not be.
    """

    __slots__ = ("data", "error", "spawned")

    def __init__(self) -> None:
        self.data = b""
        self.spawned: Spawned | None = None
        self.error: OSError | None = None


def main(argv: list[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    words = sys.argv[1:] if argv is None else argv
    command = plain_command(words)
    early = _start_early(command) if command is not None and sys.platform != "win32" else Early()
    from dragoman.cli.commands import run

    return run(words, early)


def plain_command(words: list[str]) -> tuple[str, ...] | None:
    """The upstream command when the command line is of the plainest form and its options look right."""
    end = words.index("--") if "--" in words else _first_word(words)
    if end is None:
        return None
    options, command = words[:end], words[end + 1 :] if "--" in words else words[end:]
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


def _first_word(words: list[str]) -> int | None:
    """The place at which the command begins when no `--` says it, and it is beyond doubt."""
    place = 0
    while place < len(words) and words[place].startswith("--"):
        place += 2 if words[place] in PLAIN else 1
    is_command = place < len(words) and ":" not in words[place] and words[place] not in (*SUBCOMMANDS, "-h")
    return place if is_command else None


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
    try:
        text = line.decode().strip(" \t\r\n")
        frame, end = make_scanner(_Strict())(text, 0)  # pyright: ignore[reportArgumentType] - anything with these members will do
        params = frame["params"]
        info = params["clientInfo"]
        texts = (params["protocolVersion"], info["name"], info["version"])
        return (
            end == len(text)
            and (frame["jsonrpc"], frame["method"]) == ("2.0", "initialize")
            and type(frame["id"]) in (str, int)
            and all(isinstance(text, str) for text in texts)
            and isinstance(params.get("capabilities", {}), dict)
        )
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        return False
    except SystemError:  # the scanner's own error lives in `json`, which is not loaded
        return False


class _Strict:
    """How the scanner of `json` reads: as JSON and nothing more. The package around it would cost twice all else."""

    strict = True
    object_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    @staticmethod
    def object_pairs_hook(pairs: list[tuple[str, object]]) -> dict[str, object]:
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
