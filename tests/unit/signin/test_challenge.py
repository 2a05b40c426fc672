"""What a refusal asks for, whatever stands around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.signin.challenge import Challenge, challenge
from support.proofs import proves

METADATA = "https://m.example/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], Challenge(401)),
        (["Basic realm=x"], Challenge(401)),
        (["Negotiate YWJj=="], Challenge(401)),
        (["Bearer"], Challenge(401, True)),
        (["bearer  "], Challenge(401, True)),
        ([f'Bearer resource_metadata="{METADATA}"'], Challenge(401, True, METADATA)),
        # N20, D5: no quotes, single quotes, and a relative value, which counts as absent
        ([f"Bearer resource_metadata={METADATA}"], Challenge(401, True, METADATA)),
        ([f"Bearer resource_metadata={METADATA}?a=b, scope=s"], Challenge(401, True, f"{METADATA}?a=b", ("s",))),
        ([f"Bearer resource_metadata='{METADATA}', scope='r w'"], Challenge(401, True, METADATA, ("r", "w"))),
        (['Bearer resource_metadata="/.well-known/x", scope=s'], Challenge(401, True, None, ("s",))),
        (["Bearer resource_metadata=//h.example/x"], Challenge(401, True)),
        (
            [f'Bearer realm="a, b", resource_metadata="{METADATA}" , scope="r w"'],
            Challenge(401, True, METADATA, ("r", "w")),
        ),
        (["Bearer scope=one"], Challenge(401, True, None, ("one",))),
        (['Bearer scope=""'], Challenge(401, True)),
        (['Bearer scope="r  r\tw"'], Challenge(401, True, None, ("r", "w"))),
        (['Bearer scope="a \u00e9 b"'], Challenge(401, True, None, ("a", "b"))),
        (['Basic realm="x", Bearer error="invalid_token"'], Challenge(401, True, error="invalid_token")),
        (['Negotiate, Bearer error="invalid_token"'], Challenge(401, True, error="invalid_token")),
        (['Negotiate YWJj==, BEARER ERROR = "invalid_token"'], Challenge(401, True, error="invalid_token")),
        (["Basic realm=x", "Bearer scope=s"], Challenge(401, True, None, ("s",))),
        (['Bearer error="a\\"b"'], Challenge(401, True, error='a"b')),
        (['Bearer error=x, error="y"'], Challenge(401, True, error="x")),
        (['Bearer scope="open, scope=closed'], Challenge(401, True)),
        (['Bearer error=x, "stray", scope=s'], Challenge(401, True, error="x")),
        (["scope=s"], Challenge(401)),
    ],
)
def test_the_bearer_challenge_is_found_among_others(values: list[str], expected: Challenge) -> None:
    assert challenge(401, values) == expected


@given(st.lists(st.text(max_size=60), max_size=3))
def test_no_header_is_too_odd_to_be_read(values: list[str]) -> None:
    assert challenge(401, values).status == 401


@proves("B147")
@pytest.mark.parametrize(
    ("status", "value", "wants_more"),
    [
        (403, 'Bearer error="insufficient_scope", scope="w"', True),
        (401, 'Bearer error="insufficient_scope", scope="w"', False),
        (403, 'Bearer error="invalid_token"', False),
        (403, "Bearer", False),
    ],
)
def test_only_a_403_that_says_so_wants_more_scopes(status: int, value: str, wants_more: bool) -> None:
    assert challenge(status, [value]).wants_more is wants_more
