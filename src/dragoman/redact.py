"""What never reaches a log: credentials, wherever in a text they stand (LOGL-04, CHECK-06)."""

import re

MASK = "***"

_MEMBER = re.compile(
    r'(?P<quote>\\*")(?P<name>authorization|proxy-authorization|cookie|set-cookie|x-api-key|api[_-]?key|access[_-]?token'
    r"|refresh[_-]?token|id[_-]?token|client[_-]?secret|password|passwd)(?P=quote)(?P<colon>\s*:\s*)(?P=quote)"
    r"(?:.*?)(?<!\\)(?P=quote)",
    re.IGNORECASE | re.DOTALL,
)
"""A member that holds a credential, also in JSON that is the text of another member: its quotes are escaped alike."""

_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s\"@]*@")


def masked(text: str) -> str:
    """`text` with every credential that it shows replaced by a mark."""
    text = _MEMBER.sub(rf"\g<quote>\g<name>\g<quote>\g<colon>\g<quote>{MASK}\g<quote>", text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    return _USERINFO.sub(rf"\1{MASK}@", text)
