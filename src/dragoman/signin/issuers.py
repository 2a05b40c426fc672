"""What is special about single authorization servers: settings by issuer, ours in `issuers.toml` and the user's."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

import msgspec

from dragoman.signin.options import NO_RESOURCE


class Unusable(ValueError):
    """The sentence continues "the file"."""


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """`resource` is sent instead of the server's own, or left out for `none`; `None` changes nothing.

    With `assumes_pkce` a document that says nothing about PKCE is no reason to refuse. It is used all the same.
    """

    name: str = ""
    issuers: tuple[str, ...] = ()
    resource: str | None = None
    assumes_pkce: bool = False

    def are_for(self, issuer: str) -> bool:
        """Whether one of the patterns is the name of `issuer`, but for one final slash."""
        return any(_pattern(each).fullmatch(issuer.removesuffix("/")) for each in self.issuers)

    @property
    def is_silent(self) -> bool:
        """Whether no resource is named."""
        return self.resource == NO_RESOURCE

    def resource_for(self, own: str | None) -> str | None:
        """The parameter to send, where a server's metadata names `own`."""
        if self.resource is None:
            return own
        return None if self.is_silent else self.resource


class _Table(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    issuers: tuple[str, ...]
    resource: str | None = None
    assume_pkce: bool = False


def settings_in(text: str) -> tuple[IssuerSettings, ...]:
    """The settings of a TOML file, one table each.

    Raises:
        Unusable: it is no such file.
    """
    try:
        tables = msgspec.convert(tomllib.loads(text), dict[str, _Table])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise Unusable(f"cannot be used: {error}") from None
    for name, table in tables.items():
        if not table.issuers or (table.resource is not None and not is_resource(table.resource)):
            raise Unusable(f'must name issuers, and "{NO_RESOURCE}" or an absolute URI as resource, in {name!a}')
    return tuple(IssuerSettings(name, each.issuers, each.resource, each.assume_pkce) for name, each in tables.items())


def shipped() -> tuple[IssuerSettings, ...]:
    return settings_in(files("dragoman.signin").joinpath("issuers.toml").read_text("utf-8"))


def settings_of(issuer: str, given: Iterable[IssuerSettings]) -> IssuerSettings:
    """The first of `given`, then of ours, that are for `issuer`; settings that change nothing if there are none."""
    return next((each for each in (*given, *shipped()) if each.are_for(issuer)), IssuerSettings())


def is_resource(text: str) -> bool:
    """Whether `text` is a value for the parameter, or the word that leaves it out."""
    return text == NO_RESOURCE or re.fullmatch(r"[A-Za-z][\w+.-]*:[^\s#]+", text) is not None


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("[^/]*".join(map(re.escape, text.removesuffix("/").split("*"))))
