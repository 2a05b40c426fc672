"""Icons of a remote server: only those that need no fetching (ICON).

A host gives the icons of a stdio server the trust of a local process. What comes from a network must not get that
trust by passing through us, so of its icons only those with a `data:` URI stay. An item that has none left has no
`icons` at all.
"""

from collections.abc import Callable

from msgspec import Raw

from dragoman.exchange.meta import SERVER_INFO
from dragoman.revisions.methods import LISTS
from dragoman.wire.members import Members, closed, encoded, items_of, may_name, object_in, raw, text_of


def without_remote(method: str, result: Members) -> None:
    """Take the icons that lead to a network out of a result, in place; nothing else changes its bytes."""
    _clean_meta(result)
    if method in LISTS:
        _each(result, LISTS[method], _clean)
    elif method in ("tools/call", "tasks/result"):
        _each(result, "content", _clean_link)
    elif method == "prompts/get":
        _each(result, "messages", _clean_message)


def clean_info(info: Raw) -> Raw:
    """The server's description without such icons (ICON-02)."""
    members = object_in(info)
    return closed(members) if members is not None and _clean(members) else info


def _clean_meta(result: Members) -> None:
    """A server without a handshake says in its results who it is."""
    given = result.get("_meta")
    meta = object_in(given) if given is not None and may_name(bytes(given), b"icons") else None
    info = meta.get(SERVER_INFO) if meta is not None else None
    if meta is None or info is None:
        return
    cleaned = clean_info(info)
    if cleaned is not info:
        meta[SERVER_INFO] = cleaned
        result["_meta"] = closed(meta)


def _each(owner: Members, name: str, clean: Callable[[Members], bool]) -> bool:
    whole = owner.get(name)
    if whole is None or not may_name(bytes(whole), b"icons"):
        return False
    items = items_of(whole)
    if items is None:
        return False
    changed = False
    for place, item in enumerate(items):
        members = object_in(item)
        if members is not None and clean(members):
            items[place] = closed(members)
            changed = True
    if changed:
        owner[name] = Raw(encoded(items))
    return changed


def _clean(members: Members) -> bool:
    given = members.get("icons")
    if given is None:
        return False
    icons = items_of(given)
    kept = [icon for icon in icons or () if _is_data(icon)]
    if icons is not None and len(kept) == len(icons) and kept:
        return False
    if kept:
        members["icons"] = raw(kept)
    else:
        del members["icons"]
    return True


def _clean_link(block: Members) -> bool:
    return text_of(block.get("type")) == "resource_link" and _clean(block)


def _clean_message(message: Members) -> bool:
    block = object_in(message.get("content"))
    if block is None or not _clean_link(block):
        return False
    message["content"] = closed(block)
    return True


def _is_data(icon: Raw) -> bool:
    source = text_of((object_in(icon) or {}).get("src"))
    return source is not None and source[:5].lower() == "data:"
