"""Why a server could not be used, in words for a person: what happened, and what to do."""

from dataclasses import dataclass

from dragoman.diagnostics.facts import Facts, Wire
from dragoman.faults import Cause, Fault
from dragoman.signin.challenge import FORBIDDEN, UNAUTHORIZED

INVALID = (Cause.INVALID_RESPONSE, Cause.DISCOVER_FAILED, Cause.INITIALIZE_FAILED)
SIGN_IN = (Cause.REAUTHORIZATION_REQUIRED, Cause.SIGN_IN_FAILED, Cause.ACCESS_REFUSED, Cause.REGISTRATION_UNAVAILABLE)
REFUSALS = (UNAUTHORIZED, FORBIDDEN)
HEADER = "Give the header that it wants, with --header-env Authorization=VARIABLE."
NOT_A_MESSAGE = "neither JSON nor an event stream"  # as the transport says it


@dataclass(frozen=True, slots=True)
class Symptom:
    """`name` is for machines and stays the same; the other two are sentences."""

    name: str
    what: str
    advice: str


def symptom(facts: Facts) -> Symptom | None:
    """What is wrong with a server that cannot be used; `None` for one that can."""
    fault = facts.fault
    if facts.is_fine or fault is None:
        return None
    if fault.cause is Cause.SPAWN_FAILED:
        return _not_started(facts.program, facts.opening or "unknown error")
    if fault.cause is Cause.CONNECT_FAILED:
        return Symptom(
            "unusable_environment",
            f"The URL cannot be used: {facts.opening or 'unknown error'}.",
            "Check HTTPS_PROXY, ALL_PROXY, NO_PROXY and the file of --ca-file.",
        )
    if facts.noise:
        return _noise(facts)
    if fault.cause in (Cause.UPSTREAM_EXITED, Cause.CLOSED) and facts.wire is Wire.STDIO:
        return Symptom(
            "exits_at_once",
            f"The server's process {facts.end or 'stopped'} before it answered.",
            "Run the command by itself, in the same folder and with the same environment; what it writes to its "
            "standard error usually says why.",
        )
    if fault.status is not None and fault.status not in REFUSALS:
        return _status(fault.status)
    if is_about_sign_in(fault):
        why = f"HTTP status {fault.status}" if fault.status is not None else fault.detail or fault.cause.value
        return Symptom("sign_in", f"The server wants to know who asks: {why}.", facts.way_in or HEADER)
    if fault.cause in (Cause.TRANSPORT_FAILED, Cause.CLOSED):
        return _connection(fault.detail or "the connection ended")
    if fault.detail is not None and fault.detail.startswith("no response in"):
        return Symptom(
            "silent",
            f"The server runs, but there was {fault.detail}.",
            "It may wait for a key, a network or a terminal, or not flush its output. If it is only slow to start, "
            "raise --time-limit.",
        )
    if fault.cause in INVALID and fault.detail is not None and NOT_A_MESSAGE in fault.detail:
        return _page()
    return _not_understood(fault)


def is_about_sign_in(fault: Fault) -> bool:
    """Whether the server wants to know who asks."""
    return fault.cause in SIGN_IN or fault.status in REFUSALS


def _not_started(program: str | None, why: str) -> Symptom:
    command = f"The command {program}" if program is not None else "The command"
    if "no such file" in why.lower() or "cannot find" in why.lower():
        return Symptom(
            "command_not_found",
            f"{command} was not found: {why}.",
            "Write its full path (which NAME tells it). No shell is run, so ~, $VARIABLE and pipes mean nothing.",
        )
    return Symptom(
        "command_not_started", f"{command} cannot be started: {why}.", "Check that it is a program and may be run."
    )


def _noise(facts: Facts) -> Symptom:
    end = f", and its process {facts.end}" if facts.end is not None else ""
    return Symptom(
        "noise",
        f"The server gave no usable answer, but wrote lines that are no messages to its standard output: "
        f"{facts.noise}{end}.",
        "Standard output belongs to the protocol. Have the server write everything else to its standard error, and see "
        "that the command is a server on stdio.",
    )


def _status(status: int) -> Symptom:
    if status in (404, 405, 400, 406, 410):
        return Symptom(
            "wrong_path",
            f"There is no MCP server at this URL: HTTP status {status}.",
            "Check the path; it is often /mcp, or /sse for an older server (sse:URL).",
        )
    if status == 407:
        return Symptom("proxy", "The proxy wants a sign-in: HTTP status 407.", "Check HTTPS_PROXY and ALL_PROXY.")
    if status in (408, 429) or status >= 500:
        return Symptom(
            "busy",
            f"The server cannot answer now: HTTP status {status}.",
            "Try again later, or look at the server's own log.",
        )
    return _page() if status < 300 else Symptom(
        "refused", f"The server refuses the request: HTTP status {status}.", "Look at the server's own log."
    )  # fmt: skip


def _page() -> Symptom:
    return Symptom(
        "web_page",
        "What is at this URL answers, but not as an MCP server; it may be a web page.",
        "Check the URL. It must be the one for MCP clients, often with the path /mcp.",
    )


def _connection(why: str) -> Symptom:
    what = f"The server cannot be reached: {why}."
    if "TLS" in why:
        return Symptom(
            "tls",
            what,
            "Check that the URL has the host of the certificate, and that the server speaks TLS there; for a "
            "certificate of your own, give --ca-file.",
        )
    if "refused" in why:
        return Symptom("connection_refused", what, "Start the server, and check host and port.")
    if "name of the host" in why:
        return Symptom("unknown_host", what, "Check the host in the URL, and the network.")
    if "proxy" in why:
        return Symptom("proxy", what, "Check HTTPS_PROXY, ALL_PROXY and NO_PROXY.")
    return Symptom("unreachable", what, "Check the URL, the network, and that the server runs.")


def _not_understood(fault: Fault) -> Symptom:
    code = f" (error {fault.code})" if fault.code is not None else ""
    return Symptom(
        "not_understood",
        f"The server answers, but cannot be used{code}: {fault.detail or fault.cause.value}.",
        "It speaks no revision that dragoman knows, or wants something that this visit does not have. Report it to the "
        "server's author.",
    )
