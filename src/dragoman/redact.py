"""What never reaches a log: credentials, wherever in a text they stand (LOGL-04, CHECK-06).

* A member of JSON whose name is that of a credential, whatever the type of its value and however deep the JSON stands
  in strings of other JSON; a parameter or setting (`token=…`), a header line (`Cookie: …`), what follows a scheme
  (`Bearer …`), a JSON web token, and the user of a URL.
* Names are compared without their escapes, their case and their separators. Quotes and signs count however they are
  spelled (`\\u0022`, `\\u003d`); a text in which that shows a credential leaves with the plain spelling of each.
* A text is read once from its begin to its end, so that its length costs its length. Most texts hold none of the words
  that make a name, which costs next to nothing.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

MASK = "***"

NAMES = frozenset({"clientassertion", "codeverifier", "cookies", "jwt", "pwd", "secrets", "setcookie", "tokens"})
ENDINGS = (
    *("accesskey", "apikey", "authorization", "cookie", "credential", "credentials", "passphrase", "passwd"),
    *("password", "privatekey", "secret", "secretkey", "signingkey", "token"),
)
HARMLESS = frozenset({"continuationtoken", "nextpagetoken", "nexttoken", "pagetoken", "prevpagetoken", "progresstoken"})
IN_A_QUERY = frozenset({"assertion", "code", "key", "sig", "signature"})
LINES = frozenset({"authorization", "cookie", "proxyauthorization", "setcookie"})
"""Headers whose value is all that follows on their line."""

WORDS = ("assert", "auth", "code", "cookie", "cred", "jwt", "key", "pass", "pwd", "secret", "sig", "token", "verifier")
LONGEST_NAME = 100
MOST_LEVELS = 4
"""How often a text is read for escapes that other escapes spell."""

_MEMBER = re.compile(r'"\s*+:(?:\s|\\+[nrt])*+')
_SETTING = re.compile(
    r"(?P<query>[?&])?+(?<![\w.%-])(?P<name>[\w.%-]{1,100}+)'?+[ \t]*+(?P<sign>[=:])[ \t]*+(?P<quote>\\*+[\"'])?+"
)
_QUOTE = re.compile(r'(?<!\\)\\*+"')
_INSIDE = re.compile(r'[\[\]{}]|(?<!\\)\\*+"')
_WORD = re.compile(r"[^\s,}\]\\\"]+")
_PLAIN = re.compile(r"[^\s&\"'#;,\\<>]+")
_LINE = re.compile(r"[^\r\n\"'\\]+")
_TOKEN = r"[!#-&(-\[\]-~]"
_SCHEME = re.compile(
    rf"\b(?P<scheme>(?:Bearer|Basic)(?=\s++{_TOKEN}{{8}})"
    rf"|(?i:bearer|basic)(?=\s++(?:{_TOKEN}{{20}}|(?=[A-Za-z.,;:()]*+[0-9!#-&*+/<=>?@\[\]^_`{{|}}~-]){_TOKEN}{{8}})))"
    rf"\s++{_TOKEN}+"
)
_WEB_TOKEN = re.compile(r"(?<![\w-])eyJ[\w-]{10,}+\.[\w-]{10,}+(?:\.[\w-]*+)?")
_USER = re.compile(r"(:\\*+/\\*+/)[^/\s\"\\?#]*@")
_SPELLED = re.compile(r"(?<!\\)(\\+)u00([2-7][0-9a-fA-F])")
_ESCAPED = re.compile(r"%([0-9a-fA-F]{2})")
_SEPARATOR = re.compile(r"[\W_]+")

Span = tuple[int, int, str]
"""Where something is replaced, and by what."""


def masked(text: str) -> str:
    """`text` with every credential that it shows replaced by a mark."""
    if "\\u00" in text:
        plain = _respelled(text)
        shown = _masked(plain)
        return text if shown == plain else shown
    return _masked(text)


def _masked(text: str) -> str:
    low = text.lower()
    if any(word in low for word in WORDS) or "%" in low:
        text = _replaced(text, _members(text))
        text = _replaced(text, _settings(text))
    if "bearer" in low or "basic" in low:
        text = _SCHEME.sub(rf"\g<scheme> {MASK}", text)
    if "eyJ" in text:
        text = _WEB_TOKEN.sub(MASK, text)
    return _USER.sub(rf"\1{MASK}@", text) if "@" in text else text


def _respelled(text: str) -> str:
    """`text` with no sign of ASCII as an escape by number, at any depth of JSON in strings of JSON."""
    for _ in range(MOST_LEVELS):
        plain = _SPELLED.sub(_sign, text)
        if plain == text:
            break
        text = plain
    return text


def _sign(escape: re.Match[str]) -> str:
    sign, slashes = chr(int(escape[2], 16)), len(escape[1])
    levels = (slashes & -slashes).bit_length() - 1  # so many strings are opened before the escape is one
    own = slashes >> levels
    if sign not in '"\\':
        return "\\" * ((own - 1) << levels) + sign
    for _ in range(levels):
        own = 2 * own + 1
    if sign == "\\":
        return "\\" * (own + 1)
    return "\\" * own + sign


def _replaced(text: str, spans: Iterator[Span]) -> str:
    parts: list[str] = []
    end = 0
    for start, stop, by in spans:
        parts += (text[end:start], by)
        end = stop
    return "".join((*parts, text[end:])) if parts else text


@lru_cache(4096)
def _folded(name: str) -> str:
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)
    return _SEPARATOR.sub("", plain).lower()


@lru_cache(4096)
def _is_secret(name: str) -> bool:
    folded = _folded(name)
    return (folded in NAMES or folded.endswith(ENDINGS)) and folded not in HARMLESS


# ---------------------------------------------------------------------- members of JSON


def _members(text: str) -> Iterator[Span]:
    """Values of members. JSON in a string of JSON has its quotes escaped, once for each level."""
    end = 0
    for found in _MEMBER.finditer(text):
        quote = found.start()
        start = text.rfind('"', max(end, quote - LONGEST_NAME), quote) + 1
        if quote < end or not start:
            continue
        name = text[start:quote]
        bare = name.rstrip("\\")
        if _is_secret(bare):
            depth = (len(name) - len(bare) + 1).bit_length() - 1
            begin, end, escapes = found.end(), *_value(text, found.end(), depth)
            yield begin, end, f'{escapes}"{MASK}{escapes}"'


def _value(text: str, at: int, depth: int) -> tuple[int, str]:
    """Where the value at `at` ends, and how its quotes are escaped."""
    opening = _QUOTE.match(text, at)
    if opening is not None:
        escapes = opening[0][:-1]
        return _end_of_string(text, opening.end(), (len(escapes) + 1).bit_length() - 1), escapes
    escapes = "\\" * ((1 << depth) - 1)
    if text[at : at + 1] in ("{", "["):
        return _end_of_container(text, at, depth), escapes
    word = _WORD.match(text, at)
    return (word.end() if word is not None else at), escapes


def _end_of_string(text: str, at: int, depth: int) -> int:
    for quote in _QUOTE.finditer(text, at):
        if _is_end(len(quote[0]) - 1, depth):
            return quote.end()
    return len(text)  # it was cut off


def _end_of_container(text: str, at: int, depth: int) -> int:
    opened, is_in_string = 0, False
    for found in _INSIDE.finditer(text, at):
        part = found[0]
        if part[-1] == '"':
            escapes = len(part) - 1
            if escapes < (1 << depth) - 1:
                return found.start()  # the string around it ends
            if not is_in_string or _is_end(escapes, depth):
                is_in_string = not is_in_string
        elif not is_in_string:
            opened += 1 if part in "{[" else -1
            if not opened:
                return found.end()
    return len(text)


def _is_end(escapes: int, depth: int) -> bool:
    """Whether a quote behind so many backslashes ends a string of JSON that stands in so many others."""
    for _ in range(depth):
        if escapes % 2 == 0:
            return True  # it ends one of the strings around, too
        escapes //= 2
    return escapes % 2 == 0


# ---------------------------------------------------------------------- settings, parameters, headers


def _settings(text: str) -> Iterator[Span]:
    end = 0
    for found in _SETTING.finditer(text):
        name, quote = found["name"], found["quote"]
        if found.start() < end:
            continue
        if not _is_secret(name) and not (found["query"] and _folded(name) in IN_A_QUERY):
            continue
        begin = found.end()
        if quote is not None:
            closing = text.find(quote, begin)
            end = closing if closing >= 0 else len(text)
        else:
            value = (_LINE if found["sign"] == ":" and _folded(name) in LINES else _PLAIN).match(text, begin)
            end = value.end() if value is not None else begin
        if end > begin:
            yield begin, end, MASK
