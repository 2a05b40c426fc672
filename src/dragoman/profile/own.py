"""A profile that a user wrote, as TOML.

    base = "neutral"            # the shipped profile to start from
    name = "my-bridge"
    reply_revision = "…"        # of every initialize result; left out: the one that the client asks for
    request_id_prefix = "b-"
    refuses_discover = false    # true: a client that tries server/discover goes on with a handshake
    progress_rate = 50          # per second and request; 0 is no limit
    merge_pages = false         # true: the client gets all pages of a list in one
    keep_structure = false
    allow_downgrade = false
    allow_reencode = false

    [meta_passthrough]          # everything, or keys and prefixes
    everything = false
    keys = ["traceparent", "baggage"]
    prefixes = ["com.example/"]

    [quirks]                    # normalize_array_items, drop_non_object_output_schema, strict_legacy_results,
                                # repair_input_schemas, restore_resource_not_found, keep_error_codes
    [client_capabilities]       # sampling, elicitation, roots, experimental, extensions: false hides one
    [server_capabilities]       # list_changes, subscribe, logging: false hides one

Every key may be left out. A key or value that means nothing is an error and no guess.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from dragoman.profile import NAMES, Profile, named
from dragoman.profile.passthrough import MetaPassthrough
from dragoman.revisions import HANDSHAKE

FLAGS = ("refuses_discover", "merge_pages", "keep_structure", "allow_downgrade", "allow_reencode")
TABLES = {"quirks": "quirks", "client_capabilities": "client_mask", "server_capabilities": "server_mask"}
KEYS = frozenset({
    "base", "name", "reply_revision", "request_id_prefix", "progress_rate", "meta_passthrough", *FLAGS, *TABLES
})  # fmt: skip
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")

T = TypeVar("T")


def from_toml(text: str) -> Profile:
    """The profile that `text` describes.

    Raises:
        ValueError: with a sentence that names the key and what it should be.
    """
    import tomllib

    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"The profile is not valid TOML: {error}.") from None
    _refuse_unknown(given, KEYS, "")
    changes: dict[str, Any] = {}
    base = _base(given)
    if "name" in given:
        changes["name"] = _plain(given, "name")
    if "request_id_prefix" in given:
        changes["request_id_prefix"] = _plain(given, "request_id_prefix")
    if "reply_revision" in given:
        changes["reply_revision"] = _one_of(given, "reply_revision", {each.name: each for each in HANDSHAKE})
    if "progress_rate" in given:
        changes["progress_rate"] = _rate(given)
    if "meta_passthrough" in given:
        changes["passthrough"] = _passthrough(_table(given, "meta_passthrough"))
    changes |= {name: _flag(given, name, name) for name in FLAGS if name in given}
    for table, place in TABLES.items():
        if table in given:
            changes[place] = _flags(getattr(base, place), _table(given, table), table)
    return replace(base, **changes)


def _base(given: Mapping[str, Any]) -> Profile:
    shipped = {name: profile for name in NAMES if (profile := named(name)) is not None}
    return _one_of(given, "base", shipped) if "base" in given else shipped["neutral"]


def _one_of(given: Mapping[str, Any], key: str, choices: Mapping[str, T]) -> T:
    value = given[key]
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f'The profile key "{key}" must be one of: {", ".join(choices)}.')
    return choices[value]


def _plain(given: Mapping[str, Any], key: str) -> str:
    value = given[key]
    if not isinstance(value, str) or not PLAIN.fullmatch(value):
        raise ValueError(
            f'The profile key "{key}" must be a text of 1 to 64 letters, digits, dots, hyphens and underscores.'
        )
    return value


def _rate(given: Mapping[str, Any]) -> int | None:
    value = given["progress_rate"]
    if type(value) is not int or value < 0:
        raise ValueError('The profile key "progress_rate" must be a whole number; 0 stands for no limit.')
    return value or None


def _passthrough(table: Mapping[str, Any]) -> MetaPassthrough:
    _refuse_unknown(table, frozenset({"everything", "keys", "prefixes"}), "meta_passthrough.")
    return MetaPassthrough(
        keys=frozenset(_texts(table, "keys")),
        prefixes=tuple(_texts(table, "prefixes")),
        everything=_flag(table, "everything", "meta_passthrough.everything") if "everything" in table else False,
    )


def _flags(base: T, table: Mapping[str, Any], name: str) -> T:
    """`base`, a dataclass of flags, with those flags that the table sets."""
    known = frozenset(part.name for part in fields(cast("Any", base)))
    _refuse_unknown(table, known, f"{name}.")
    return replace(cast("Any", base), **{key: _flag(table, key, f"{name}.{key}") for key in table})


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = given[key]
    if not isinstance(value, dict):
        raise ValueError(f'The profile key "{key}" must be a table, written as [{key}].')
    return cast("Mapping[str, Any]", value)


def _flag(table: Mapping[str, Any], key: str, shown: str) -> bool:
    value = table[key]
    if not isinstance(value, bool):
        raise ValueError(f'The profile key "{shown}" must be true or false.')
    return value


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) and text for text in cast("list[Any]", value)):
        raise ValueError(f'The profile key "meta_passthrough.{key}" must be a list of texts, none of them empty.')
    return cast("list[str]", value)


def _refuse_unknown(table: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f'The profile has an unknown key "{place}{key}"; known here: {", ".join(sorted(known))}.')
