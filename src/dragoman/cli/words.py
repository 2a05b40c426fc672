"""Reading the words of a command line by our rules, before click reads them (CLI-10 to CLI-14).

click's own sentences repeat what was typed, and a value may be a secret. So what can be wrong with the *form* of the
words is found here, and said with the names of options only.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_OPTION = re.compile(r"--[a-z][a-z-]*\Z")


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
    options = {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }
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
            raise click.UsageError(f"{shown} is not known here", ctx)
        if option.is_flag:
            if equals:
                raise click.UsageError(f"the option {name} takes no value", ctx)
        elif isinstance(option.flag_value, str) and not equals:
            continue  # its value is optional, and then only with an equals sign
        elif not equals:
            if place >= len(words) or words[place].startswith("--"):
                raise click.UsageError(f"the option {name} needs a value", ctx)
            place += 1
        elif not value:
            raise click.UsageError(f"the value of {name} is empty", ctx)


class ToServer(click.Command):
    """Keeps the words behind `--` for the command of a server, byte for byte (CLI-01)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words, command = split_at_dashes(args)
        if "--help" not in words and "-h" not in words:
            check_options(ctx, words, self)
        ctx.meta["dragoman.command"] = command
        return super().parse_args(ctx, words)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS] (-- COMMAND [ARGS]... | URL)"]


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
