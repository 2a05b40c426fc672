"""Reading the words of a command line by our rules, before click reads them (CLI-10 to CLI-14).

click's own sentences repeat what was typed, and a value may be a secret. So what can be wrong with the *form* of the
words is found here, and said with the names of options only.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from dragoman.cli.sections import write_options

F = TypeVar("F", bound=Callable[..., Any])

FOLLOWED = frozenset({"resource"})
_OPTION = re.compile(r"--[a-z][a-z-]*\Z")
_TARGET = re.compile(r"(?:stdio|sse|https?(?:-[a-z]+)?|unix|wss?|grpcs?):|[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def split_at_dashes(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The words before `--`, and those behind it; `None` when there is no `--`."""
    if "--" not in words:
        return words, None
    end = words.index("--")
    return words[:end], words[end + 1 :]


def check_options(ctx: click.Context, words: list[str], command: click.Command, *, mixed: bool = False) -> None:
    """Refuse unknown options and options without their value; `mixed` lets options stand behind another word.

    Raises:
        click.UsageError: with a sentence that repeats no value.
    """
    options = _options(command)
    followed = False
    room = sum(isinstance(param, click.Argument) for param in command.params)
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if not word.startswith("-") or word == "-":
            room -= 1
            if room < 0:
                raise click.UsageError(f"word {place} is one too many", ctx)
            followed = not mixed
            continue
        if followed:
            raise click.UsageError(f"word {place} stands behind the URL; options go before it", ctx)
        name, equals, value = word.partition("=")
        option = options.get(name)
        if option is None:
            shown = f"the option {name}" if _OPTION.match(name) else f"word {place}"
            raise click.UsageError(f"{shown} is not known here{meant(name, options)}", ctx)
        if option.is_flag:
            if equals:
                raise click.UsageError(f"the option {name} takes no value", ctx)
        elif isinstance(option.flag_value, str) and not equals:
            place += _has_value(option, words, place)
        elif not equals:
            if place >= len(words) or words[place].startswith("--"):
                raise click.UsageError(f"the option {name} needs a value", ctx)
            place += 1
        elif not value:
            raise click.UsageError(f"the value of {name} is empty", ctx)


def first_word(words: list[str], command: click.Command) -> int | None:
    """The place of the first word that is no option and no option's value; `None` when there is none."""
    options = _options(command)
    place = 0
    while place < len(words):
        word = words[place]
        if not word.startswith("-") or word == "-":
            return place
        option = options.get(word)
        place += 1
        if option is not None and not option.is_flag:
            place += not isinstance(option.flag_value, str) or _has_value(option, words, place)
    return None


def _has_value(option: click.Option, words: list[str], place: int) -> bool:
    """Whether the word at `place` is the value of an option that needs none; of most it must follow an equals sign."""
    return option.name in FOLLOWED and place < len(words) and not words[place].startswith("-")


def meant(word: str, known: Iterable[str]) -> str:
    """What a sentence about an unknown word says of the one that it looks like, if there is one."""
    import difflib  # only a wrong command line needs it

    found = difflib.get_close_matches(word, list(known), 1, 0.7)
    return f"; did you mean {found[0]}?" if found else ""


def _options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }


def commands_of(ctx: click.Context | None) -> list[str]:
    """The commands beside the one that runs, and itself."""
    group = ctx.parent.command if ctx is not None and ctx.parent is not None else None
    return list(group.commands) if isinstance(group, click.Group) else []


def behind_dashes(command: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The words that name a server's command to us, behind `--` if it would be taken for something else without."""
    program, *rest = command
    is_clear = not program.startswith("-") and not _TARGET.match(program) and program not in known and "--" not in rest
    return tuple(command) if is_clear else ("--", *command)


class ToServer(click.Command):
    """Keeps the words behind `--` for the command of a server, byte for byte (CLI-01).

    Without `--`, a first word that is no target of ours begins the command.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(ctx, formatter, self.get_params(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words, command = split_at_dashes(args)
        if command is None:
            words, command = self.split_at_command(ctx, words)
        if "--help" not in words and "-h" not in words:
            check_options(ctx, words, self)
        ctx.meta["dragoman.command"] = command
        return super().parse_args(ctx, words)

    def split_at_command(self, ctx: click.Context, words: list[str]) -> tuple[list[str], list[str] | None]:
        """The words before the command of a server that no `--` begins, and those of it."""
        place = first_word(words, self)
        if place is None or _TARGET.match(words[place]):
            return words, None
        known = commands_of(ctx)
        word = words[place]
        if word in known:
            text = f"{word} is a command of dragoman, which comes first; a program of that name is written behind --"
            raise click.UsageError(f"{text}, as in: dragoman -- {word}", ctx)
        from shutil import which

        hint = meant(word, known) if place == 0 and which(word) is None else ""
        if hint:
            raise click.UsageError(f"word 1 is no command of dragoman and no program here{hint}", ctx)
        return words[:place], words[place:]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS] ([--] COMMAND [ARGS]... | URL)"]


class Plain(click.Command):
    """A command whose options are checked by our rules."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--help" not in args and "-h" not in args:
            check_options(ctx, args, self, mixed=True)
        return super().parse_args(ctx, args)


class Whole(click.ParamType[int]):
    """A whole number in bounds, in plain digits (CLI-12)."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if not (text.isascii() and text.isdigit()) or not self.least <= int(text) <= self.most:
            name = param.opts[0] if param is not None else "the option"
            raise click.UsageError(f"the value of {name} must be a whole number from {self.least} to {self.most}", ctx)
        return int(text)


class OneOf(click.ParamType[str]):
    """One of a few words; the sentence names them, and not what was given."""

    name = "choice"

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "|".join(self.choices)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        name = param.opts[0] if param is not None else "the option"
        raise click.UsageError(f"the value of {name} must be one of: {', '.join(self.choices)}", ctx)


def with_options(options: tuple[Callable[[F], F], ...]) -> Callable[[F], F]:
    """Give a command these options, in their order."""

    def given(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return given
