"""The table of causes: every one has a code, one sentence of its own, and the facts that a reader needs."""

import re
from pathlib import Path

import pytest

import dragoman
from dragoman.faults import HINT, TABLE, Cause, Fault
from dragoman.wire.members import opened, raw, text_of, value_of
from support.proofs import proves

SOURCE = Path(dragoman.__file__).parent
TABLE_FILE = SOURCE / "faults.py"

FACTS: dict[Cause, tuple[int, str]] = {
    Cause.TIMEOUT: (-32603, "upstream server.*in time.*log"),
    Cause.CLOSED: (-32603, "upstream server.*stopped.*log"),
    Cause.TRANSPORT_FAILED: (-32603, "connection.*failed.*log"),
    Cause.INVALID_RESPONSE: (-32603, "upstream server.*no valid.*log"),
    Cause.TOO_MANY_ROUNDS: (-32603, "kept asking.*log"),
    Cause.UNDECLARED_INPUT_REQUEST: (-32603, "input.*did not declare"),
    Cause.INVALID_REQUEST: (-32602, "params.*cannot be sent"),
    Cause.SPAWN_FAILED: (-32603, "cannot be started.*command.*log"),
    Cause.CONNECT_FAILED: (-32603, "URL.*proxy.*CA.*log"),
    Cause.DISCOVER_FAILED: (-32603, "server/discover.*2026-07-28.*respond.*log"),
    Cause.INITIALIZE_FAILED: (-32603, "initialize.*handshake.*respond.*log"),
    Cause.UPSTREAM_EXITED: (-32603, "process.*stopped.*log"),
    Cause.NOT_INITIALIZED: (-32600, "not initialized.*initialize first"),
    Cause.ALREADY_INITIALIZED: (-32600, "already"),
    Cause.TOO_MANY_REQUESTS: (-32603, "[Tt]oo many requests"),
    Cause.LINE_TOO_LONG: (-32600, "longer than the line limit"),
    Cause.TOO_DEEP: (-32600, "nested deeper than the limit"),
    Cause.PARSE_ERROR: (-32700, "not valid JSON"),
    Cause.INVALID_REQUEST_SHAPE: (-32600, "no valid JSON-RPC 2.0"),
    Cause.METHOD_NOT_FOUND: (-32601, "does not have this method"),
    Cause.INVALID_PARAMS: (-32602, "params.*not valid"),
    Cause.INVALID_INPUT_REQUEST: (-32603, "invalid.*log"),
    Cause.TOO_MANY_INPUT_REQUESTS: (-32603, "more inputs at one time"),
    Cause.INPUT_TIMEOUT: (-32603, "client did not answer.*in time"),
    Cause.INVALID_CLIENT_ANSWER: (-32603, "client sent an invalid answer"),
    Cause.SIGN_IN_FAILED: (-32603, "sign-in at the authorization server.*failed.*log"),
    Cause.SIGN_IN_TIMEOUT: (
        -32603,
        r"within \{seconds\} s.*log.*URL.*--sign-in-timeout.*initialize.*--discover-timeout.*dragoman logout",
    ),
    Cause.SIGN_IN_DENIED: (-32603, "refused.*Restart.*sign in again"),
    Cause.SIGN_IN_ERROR: (-32603, "authorization server.*error.*log"),
    Cause.SIGN_IN_INVALID_URL: (-32603, "no valid URL.*not opened.*log"),
    Cause.SIGN_IN_START_REUSED: (-32603, "stopped the sign-in.*twice.*another program.*Restart.*--no-browser"),
    Cause.BROWSER_LAUNCH_FAILED: (-32603, "cannot open a web browser.*log"),
    Cause.REDIRECT_PORT_UNAVAILABLE: (-32603, r"port \{port\}.*Stop the program.*--redirect-port.*port each"),
    Cause.REGISTRATION_UNAVAILABLE: (-32603, r"\{redirect_uri\}.*--client-id.*--client-issuer"),
    Cause.REGISTRATION_FAILED: (-32603, r"refused to register.*\{redirect_uri\}.*--client-id.*--client-issuer"),
    Cause.ISSUER_NOT_REGISTERED: (-32603, "another authorization server.*--client-id.*--client-issuer"),
    Cause.INVALID_CLIENT_METADATA_URL: (-32603, "--client-metadata-url.*https URL with a path"),
    Cause.ACCESS_REFUSED: (-32603, "refused access.*account.*permission.*log"),
    Cause.REAUTHORIZATION_REQUIRED: (-32603, "new sign-in.*did not open its URL.*Restart"),
    Cause.SANDBOX: (-32603, "sandbox.*browser.*port.*off for this server"),
}


@proves("ERR-01", "ERR-06")
@pytest.mark.parametrize("cause", Cause)
def test_each_cause_has_a_code_and_a_sentence_that_stands_alone(cause: Cause) -> None:
    code, sentence = TABLE[cause]
    assert code in (-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022)
    assert sentence.endswith(".")
    assert "://" not in sentence


@proves("ERR-05")
@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize(
    "facts", [(), (("seconds", "777"), ("port", "8888"), ("redirect_uri", "http://127.0.0.1:9999/callback"))]
)
def test_no_place_of_a_sentence_is_left_open(cause: Cause, facts: tuple[tuple[str, str], ...]) -> None:
    message = value_of(opened(Fault(cause, facts=facts).error())["message"])
    assert "{" not in message
    for name, value in facts:
        assert (value in message) is ("{" + name + "}" in TABLE[cause][1])


@proves("ERR-04")
@pytest.mark.parametrize("cause", Cause)
def test_each_cause_is_one_that_something_comes_to(cause: Cause) -> None:
    assert any(f"Cause.{cause.name}" in path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path != TABLE_FILE)


def test_each_sentence_is_the_cause_s_own() -> None:
    assert len({sentence for _, sentence in TABLE.values()}) == len(Cause)


@proves("ERR-01", "ERR-04")
@pytest.mark.parametrize("cause", FACTS)
def test_the_code_and_the_facts_are_those_of_the_rules(cause: Cause) -> None:
    """A pointer to the log is beside the sentence, as a model that reads it sees no log (E9)."""
    code, facts = FACTS[cause]
    facts, points_to_log, _ = facts.partition(".*log") if facts.endswith(".*log") else (facts, "", "")
    assert TABLE[cause][0] == code
    assert re.search(facts, TABLE[cause][1], re.DOTALL)
    error = opened(Fault(cause).error())
    assert opened(error["data"]).get("hint") == (raw(HINT) if points_to_log else None)
    assert not points_to_log or "log" not in TABLE[cause][1].replace("dragoman login", "")


@proves("ERR-01", "ERR-02")
def test_an_error_object_names_its_cause_and_a_detail_only_where_there_is_one() -> None:
    plain = opened(Fault(Cause.TIMEOUT).error())
    assert value_of(plain["data"]) == {"cause": "timeout", "hint": HINT}
    assert text_of(plain["message"]) == TABLE[Cause.TIMEOUT][1]
    full = opened(Fault(Cause.DISCOVER_FAILED, "why", -32601, (("rule", "S1-01"),)).error())
    assert value_of(full["code"]) == -32601
    assert value_of(full["data"]) == {"cause": "discover_failed", "detail": "why", "rule": "S1-01", "hint": HINT}
