"""What never reaches a log: credentials, wherever in a text they stand (LOGL-04, CHECK-06)."""

import re

MASK = "***"

_MEMBER = re.compile(
    r'("(?:authorization|proxy-authorization|cookie|set-cookie|x-api-key|api[_-]?key|access[_-]?token|refresh[_-]?token'
    r'|id[_-]?token|client[_-]?secret|password|passwd)"\s*:\s*)"(?:[^"\\]|\\.)*"',
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s\"@]*@")


def masked(text: str) -> str:
    """`text` with every credential that it shows replaced by a mark."""
    text = _MEMBER.sub(rf'\1"{MASK}"', text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    return _USERINFO.sub(rf"\1{MASK}@", text)
