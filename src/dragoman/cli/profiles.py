"""The options that say what may be changed and lost, and the profile that they make together."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from dragoman.profile import Profile

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--profile",
        metavar="NAME",
        default="neutral",
        show_default=True,
        help="A profile (see: dragoman profiles) or a TOML file with one.",
    ),
    click.option(
        "--allow-downgrade",
        is_flag=True,
        help="Use the fallback that the specification gives for what the client's revision lacks.",
    ),
    click.option(
        "--allow-reencode",
        is_flag=True,
        help="Write audio and resource links in another form for clients that do not know them.",
    ),
    click.option(
        "--restore-error-codes",
        is_flag=True,
        help="Give a missing resource the error code that the client's revision has for it.",
    ),
    click.option(
        "--keep-error-codes",
        is_flag=True,
        help="Pass error codes of 2026-07-28 to older clients as they are, not as -32600.",
    ),
    click.option(
        "--merge-pages",
        is_flag=True,
        help="Ask the server for all pages of a list, for clients that read the first one only.",
    ),
)


def profile_options(command: F) -> F:
    """A command that can be told a profile and what it permits; `read_profile` reads what was said."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_profile(options: Mapping[str, Any]) -> "Profile":
    """The profile that the options name, with all that they permit beside it.

    Raises:
        click.UsageError: there is no such profile, or its file is not usable.
    """
    return _named(str(options["profile"])).allowing(
        downgrade=options["allow_downgrade"],
        reencode=options["allow_reencode"],
        restore_codes=options["restore_error_codes"],
        keep_codes=options["keep_error_codes"],
        merge_pages=options["merge_pages"],
    )


def _named(name: str) -> "Profile":
    from dragoman.profile import NAMES, named

    found = named(name)
    if found is not None:
        return found
    if not name.endswith(".toml"):
        raise click.UsageError(f"the value of --profile must be one of {', '.join(NAMES)}, or a .toml file")
    from dragoman.profile.own import from_toml

    try:
        return from_toml(Path(name).read_text("utf-8"))
    except OSError as error:
        raise click.UsageError(f"the file of --profile cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(f"the file of --profile is not usable: {error}") from None
