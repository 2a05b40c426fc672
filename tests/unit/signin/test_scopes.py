"""Which scopes are asked for: a table."""

import pytest

from dragoman.signin.scopes import Scopes, chosen
from support.proofs import proves


@proves("B147", "B148")
@pytest.mark.parametrize(
    ("challenged", "supported", "offered", "before", "expected"),
    [
        (None, None, None, None, None),
        (None, (), None, None, None),
        (("r",), ("r", "w"), None, None, ("r",)),
        (None, ("r", "w"), None, None, ("r", "w")),
        (("w",), None, None, ("r",), ("r", "w")),
        (("r", "w"), None, None, ("r",), ("r", "w")),
        (None, None, None, ("r",), ("r",)),
        (("w",), ("x",), None, (), ("w",)),
        (("r",), None, ("r", "offline_access"), None, ("r", "offline_access")),
        (("offline_access",), None, ("offline_access",), None, ("offline_access",)),
        (None, None, ("offline_access",), None, None),
        (("r",), None, ("r",), None, ("r",)),
    ],
)
def test_the_choice(
    challenged: Scopes | None,
    supported: Scopes | None,
    offered: Scopes | None,
    before: Scopes | None,
    expected: Scopes | None,
) -> None:
    assert chosen(challenged, supported, offered, before) == expected
