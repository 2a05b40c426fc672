"""To which call a question of the server belongs: every case of the rule (decisions T6)."""

import pytest
from msgspec import Raw

from dragoman.core.attribution import attributed
from dragoman.exchange.caller import Caller
from dragoman.exchange.events import Call, Inquiry
from dragoman.revisions import LATEST_LEGACY

SAMPLING = "sampling/createMessage"


def calls(*methods: str) -> list[Call]:
    return [Call(key, method, {}, Caller(LATEST_LEGACY), None, False) for key, method in enumerate(methods)]


@pytest.mark.parametrize(
    ("open_", "method", "owner", "waiting"),
    [
        ((), SAMPLING, None, ()),
        (("tools/list", "completion/complete"), SAMPLING, None, ()),
        (("tools/call",), SAMPLING, 0, (0,)),
        (("tools/list", "prompts/get"), "elicitation/create", 1, (1,)),
        (("resources/read",), "roots/list", None, (0,)),
        (("tools/call", "tools/call"), SAMPLING, None, (0, 1)),
    ],
)
def test_a_pipe_tells_nothing(open_: tuple[str, ...], method: str, owner: int | None, waiting: tuple[int, ...]) -> None:
    found = attributed(Inquiry(1, Raw(b"{}")), method, calls(*open_))
    assert (found.owner.key if found.owner is not None else None) == owner
    assert tuple(call.key for call in found.waiting) == waiting


@pytest.mark.parametrize("method", [SAMPLING, "roots/list"])
def test_the_transport_knows_best(method: str) -> None:
    first, second = calls("tools/call", "tools/list")
    found = attributed(Inquiry(1, Raw(b"{}"), second), method, [first, second])
    assert (found.owner, found.waiting) == (second, (second,))
