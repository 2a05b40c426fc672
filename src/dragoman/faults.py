"""What can go wrong, as a table: each cause with its code and its one sentence.

The sentences are read by users and by models who see nothing else, so each says what happened, on which side, and what
to do next (ERR-04); that the log has more is said beside them. They carry no URL, no secret and no output of the child
(ERR-03, ERR-06). `Fault.error` is the only maker of error objects.
"""

from dataclasses import dataclass
from enum import StrEnum

from msgspec import Raw

from dragoman.wire.members import raw

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
URL_ELICITATION_REQUIRED = -32042
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022


class Cause(StrEnum):
    """Names of `data.cause`, as the rules spell them (decisions T18)."""

    CANCELED = "canceled"
    TIMEOUT = "timeout"
    CLOSED = "closed"
    TRANSPORT_FAILED = "transport_failed"
    INVALID_RESPONSE = "invalid_response"
    TOO_MANY_ROUNDS = "too_many_rounds"
    UNDECLARED_INPUT_REQUEST = "undeclared_input_request"
    INVALID_REQUEST = "invalid_request"
    SPAWN_FAILED = "spawn_failed"
    CONNECT_FAILED = "connect_failed"
    DISCOVER_FAILED = "discover_failed"
    INITIALIZE_FAILED = "initialize_failed"
    UPSTREAM_EXITED = "upstream_exited"
    NOT_INITIALIZED = "not_initialized"
    ALREADY_INITIALIZED = "already_initialized"
    TOO_MANY_REQUESTS = "too_many_requests"
    DUPLICATE_ID = "duplicate_id"
    LINE_TOO_LONG = "line_too_long"
    TOO_DEEP = "too_deep"
    PARSE_ERROR = "parse_error"
    INVALID_REQUEST_SHAPE = "invalid_request_shape"
    METHOD_NOT_FOUND = "method_not_found"
    INVALID_PARAMS = "invalid_params"
    HEADER_MISMATCH = "header_mismatch"
    MISSING_META = "missing_meta"
    UNSUPPORTED_VERSION = "unsupported_version"
    MISSING_CAPABILITY = "missing_capability"
    INVALID_INPUT_REQUEST = "invalid_input_request"
    TOO_MANY_INPUT_REQUESTS = "too_many_input_requests"
    INPUT_TIMEOUT = "input_timeout"
    INVALID_CLIENT_ANSWER = "invalid_client_answer"
    INEXPRESSIBLE_INPUT_REQUEST = "inexpressible_input_request"
    REQUEST_NOT_EXPRESSIBLE = "request_not_expressible"
    RESULT_NOT_EXPRESSIBLE = "result_not_expressible"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGN_IN_TIMEOUT = "sign_in_timeout"
    SIGN_IN_DENIED = "sign_in_denied"
    SIGN_IN_ERROR = "sign_in_error"
    SIGN_IN_INVALID_URL = "sign_in_invalid_url"
    SIGN_IN_START_REUSED = "sign_in_start_reused"
    BROWSER_LAUNCH_FAILED = "browser_launch_failed"
    REDIRECT_PORT_UNAVAILABLE = "redirect_port_unavailable"
    REGISTRATION_UNAVAILABLE = "registration_unavailable"
    REGISTRATION_FAILED = "registration_failed"
    ISSUER_NOT_REGISTERED = "issuer_not_registered"
    INVALID_CLIENT_METADATA_URL = "invalid_client_metadata_url"
    ACCESS_REFUSED = "access_refused"
    REAUTHORIZATION_REQUIRED = "reauthorization_required"
    SANDBOX = "sandbox"
    CLIENT_TOO_SLOW = "client_too_slow"
    TOO_MANY_SESSIONS = "too_many_sessions"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NO_ENDPOINT = "no_endpoint"
    UNSUPPORTED_MEDIA = "unsupported_media"
    SHUTTING_DOWN = "shutting_down"
    INTERNAL = "internal"


OF_SIGN_IN = frozenset(
    {
        *(Cause.SIGN_IN_FAILED, Cause.SIGN_IN_TIMEOUT, Cause.SIGN_IN_DENIED, Cause.SIGN_IN_ERROR),
        *(Cause.SIGN_IN_INVALID_URL, Cause.SIGN_IN_START_REUSED, Cause.BROWSER_LAUNCH_FAILED),
        *(Cause.REDIRECT_PORT_UNAVAILABLE, Cause.REGISTRATION_UNAVAILABLE, Cause.REGISTRATION_FAILED),
        *(Cause.ISSUER_NOT_REGISTERED, Cause.INVALID_CLIENT_METADATA_URL, Cause.ACCESS_REFUSED),
        *(Cause.REAUTHORIZATION_REQUIRED, Cause.SANDBOX),
    }
)
"""What a sign-in can end with. None of it says anything of a server's revisions (B47)."""


HINT = "The bridge's log has more."

TABLE: dict[Cause, tuple[int, str]] = {
    Cause.CANCELED: (INTERNAL_ERROR, "The client cancelled this request."),
    Cause.TIMEOUT: (
        INTERNAL_ERROR,
        "The upstream server did not answer this request in time. It may still be at work, so look "
        "at what it did before the request is sent again.",
    ),
    Cause.CLOSED: (
        INTERNAL_ERROR,
        "The upstream server closed its connection and has stopped. Tell the user that it has to be started again.",
    ),
    Cause.TRANSPORT_FAILED: (
        INTERNAL_ERROR,
        "The connection to the upstream server failed. Try again in a moment; if it fails again, "
        "tell the user that the server cannot be reached.",
    ),
    Cause.INVALID_RESPONSE: (
        INTERNAL_ERROR,
        "The upstream server sent something that is no valid answer to this request. Sending it "
        "again will hardly help; tell the user that the server has a fault.",
    ),
    Cause.TOO_MANY_ROUNDS: (
        INTERNAL_ERROR,
        "The upstream server kept asking for input and never finished, so the bridge gave up. Ask "
        "the user before it is tried again.",
    ),
    Cause.UNDECLARED_INPUT_REQUEST: (
        INTERNAL_ERROR,
        "The upstream server asked for a kind of input that this client did not declare.",
    ),
    Cause.INVALID_REQUEST: (INVALID_PARAMS, "The params of this request cannot be sent to the upstream server."),
    Cause.SPAWN_FAILED: (
        INTERNAL_ERROR,
        "The upstream server cannot be started. The user has to check its command in the configuration.",
    ),
    Cause.CONNECT_FAILED: (
        INTERNAL_ERROR,
        "The URL of the upstream server cannot be used. The user has to check the URL, the proxy "
        "variables and the CA certificates.",
    ),
    Cause.DISCOVER_FAILED: (
        INTERNAL_ERROR,
        "The upstream server gave no usable answer to server/discover: it does not speak revision 2026-07-28, or it "
        "does not respond. The user has to check that its command or URL is that of an MCP server.",
    ),
    Cause.INITIALIZE_FAILED: (
        INTERNAL_ERROR,
        "The upstream server gave no usable answer to initialize: it speaks no revision with a "
        "handshake that the bridge knows, or it does not respond. The user has to check that its command or "
        "URL is that of an MCP server.",
    ),
    Cause.UPSTREAM_EXITED: (
        INTERNAL_ERROR,
        "The process of the upstream server has stopped. The user has to start it again, which most "
        "hosts do when they are asked to restart the server.",
    ),
    Cause.NOT_INITIALIZED: (INVALID_REQUEST, "This connection is not initialized yet. Send initialize first."),
    Cause.ALREADY_INITIALIZED: (INVALID_REQUEST, "initialize was already sent on this connection."),
    Cause.TOO_MANY_REQUESTS: (
        INTERNAL_ERROR,
        "Too many requests are in flight on this connection. Wait for an answer and send it again.",
    ),
    Cause.DUPLICATE_ID: (INVALID_REQUEST, "Another request with this id is still in flight on this connection."),
    Cause.LINE_TOO_LONG: (INVALID_REQUEST, "The message is longer than the line limit of the bridge."),
    Cause.TOO_DEEP: (INVALID_REQUEST, "The message is nested deeper than the limit of the bridge."),
    Cause.PARSE_ERROR: (PARSE_ERROR, "The message is not valid JSON in UTF-8."),
    Cause.INVALID_REQUEST_SHAPE: (INVALID_REQUEST, "The message is no valid JSON-RPC 2.0 request."),
    Cause.METHOD_NOT_FOUND: (METHOD_NOT_FOUND, "The server does not have this method."),
    Cause.INVALID_PARAMS: (INVALID_PARAMS, "The params of this request are not valid."),
    Cause.HEADER_MISMATCH: (
        HEADER_MISMATCH,
        "A header of this HTTP request does not say what its body says. Send every header that the revision asks for, "
        "with the values of the body.",
    ),
    Cause.MISSING_META: (
        INVALID_PARAMS,
        "The _meta of this request lacks what every request of its revision carries, or has it in a wrong type.",
    ),
    Cause.UNSUPPORTED_VERSION: (
        UNSUPPORTED_VERSION,
        "The bridge does not serve this revision without a handshake. data.supported lists what it serves so.",
    ),
    Cause.MISSING_CAPABILITY: (
        MISSING_CAPABILITY,
        "The upstream server needs something of the client that this request did not declare; "
        "data.requiredCapabilities has what is missing.",
    ),
    Cause.INVALID_INPUT_REQUEST: (
        INTERNAL_ERROR,
        "The upstream server asked for input in an invalid way, so this request ended. Tell the user "
        "that the server has a fault.",
    ),
    Cause.TOO_MANY_INPUT_REQUESTS: (
        INTERNAL_ERROR,
        "The upstream server asked for more inputs at one time than the bridge allows.",
    ),
    Cause.INPUT_TIMEOUT: (INTERNAL_ERROR, "The client did not answer the upstream server's questions in time."),
    Cause.INVALID_CLIENT_ANSWER: (
        INTERNAL_ERROR,
        "The client sent an invalid answer to an input request of the upstream server.",
    ),
    Cause.INEXPRESSIBLE_INPUT_REQUEST: (
        METHOD_NOT_FOUND,
        "The upstream server asked for a kind of input that the client's revision of the protocol does not have.",
    ),
    Cause.REQUEST_NOT_EXPRESSIBLE: (
        METHOD_NOT_FOUND,
        "This request has a part that the upstream server's revision of the protocol does not have.",
    ),
    Cause.RESULT_NOT_EXPRESSIBLE: (
        METHOD_NOT_FOUND,
        "The request was carried out, but its result has a part that the client's revision of the protocol does not "
        "have. Do not send it again for that reason; data.rule names the part.",
    ),
    Cause.SIGN_IN_FAILED: (
        INTERNAL_ERROR,
        "The sign-in at the authorization server of the upstream server failed. The user may try it again "
        "with dragoman login and the server's URL.",
    ),
    Cause.SIGN_IN_TIMEOUT: (
        INTERNAL_ERROR,
        "Nobody completed the sign-in to the upstream server within {seconds} s. The bridge's log has the URL to open. "
        "--sign-in-timeout gives more time, and during initialize --discover-timeout does, too. If the authorization "
        "server shows no page to sign in, it may have forgotten this bridge: run dragoman logout with the server's "
        "URL, then restart the server.",
    ),
    Cause.SIGN_IN_DENIED: (
        INTERNAL_ERROR,
        "Access to the upstream server was refused at the sign-in. Restart the server to sign in again.",
    ),
    Cause.SIGN_IN_ERROR: (
        INTERNAL_ERROR,
        "The authorization server of the upstream server ended the sign-in with an error. The user may try it "
        "again with dragoman login and the server's URL.",
    ),
    Cause.SIGN_IN_INVALID_URL: (
        INTERNAL_ERROR,
        "The authorization server of the upstream server gave no valid URL to sign in at, so it was not "
        "opened. Its administrator has to mend that.",
    ),
    Cause.SIGN_IN_START_REUSED: (
        INTERNAL_ERROR,
        "The bridge stopped the sign-in, as its start URL was used twice; another program of this machine may have "
        "opened it. Restart the server to sign in again. On a machine that others use as well, start the bridge with "
        "--no-browser.",
    ),
    Cause.BROWSER_LAUNCH_FAILED: (
        INTERNAL_ERROR,
        "The bridge cannot open a web browser for the sign-in. The user may open the URL that the bridge printed, "
        "or sign in with dragoman login and the server's URL.",
    ),
    Cause.REDIRECT_PORT_UNAVAILABLE: (
        INTERNAL_ERROR,
        "The bridge cannot use port {port} of this machine for the sign-in. Stop the program that uses it, or choose "
        "another port with --redirect-port. Servers that are signed in to at the same time need a port each.",
    ),
    Cause.REGISTRATION_UNAVAILABLE: (
        INTERNAL_ERROR,
        "The authorization server of the upstream server offers no way of registration that the bridge can use. "
        "Register a client there with the redirect URI {redirect_uri}, and give its id with --client-id and the issuer "
        "with --client-issuer.",
    ),
    Cause.REGISTRATION_FAILED: (
        INTERNAL_ERROR,
        "The authorization server of the upstream server refused to register the bridge. Register a client there with "
        "the redirect URI {redirect_uri}, and give its id with --client-id and the issuer with --client-issuer.",
    ),
    Cause.ISSUER_NOT_REGISTERED: (
        INTERNAL_ERROR,
        "The client id belongs to another authorization server than that of the upstream server. Give a --client-id "
        "and a --client-issuer that match it.",
    ),
    Cause.INVALID_CLIENT_METADATA_URL: (
        INTERNAL_ERROR,
        "The authorization server of the upstream server does not accept the value of --client-metadata-url. It must "
        "be an https URL with a path, at which the client's metadata is.",
    ),
    Cause.ACCESS_REFUSED: (
        INTERNAL_ERROR,
        "The upstream server refused access although the sign-in succeeded. The account may lack a "
        "permission, which the user has to ask for.",
    ),
    Cause.REAUTHORIZATION_REQUIRED: (
        INTERNAL_ERROR,
        "The upstream server needs a new sign-in, and this client did not open its URL. Restart the server, or run "
        "dragoman login with the server's URL, to sign in again.",
    ),
    Cause.SANDBOX: (
        INTERNAL_ERROR,
        "The upstream server needs a sign-in, and the sandbox around this bridge lets it open neither a browser nor "
        "the port of the redirect. Turn the sandbox off for this server.",
    ),
    Cause.CLIENT_TOO_SLOW: (
        INTERNAL_ERROR,
        "The client did not take what this stream had for it, and the bridge can keep no more. Read the stream while "
        "it comes, and send the request again.",
    ),
    Cause.TOO_MANY_SESSIONS: (
        INTERNAL_ERROR,
        "The bridge serves as many clients as it may. Try again in a while, or end a session that is not needed.",
    ),
    Cause.UNAUTHORIZED: (
        INVALID_REQUEST,
        "This endpoint lets in who brings a bearer token that it knows. Ask whoever runs it for one, and send it in "
        "the Authorization header.",
    ),
    Cause.FORBIDDEN: (
        INVALID_REQUEST,
        "This endpoint is not for requests with this Host or Origin. Whoever runs it can allow them with --allow-host "
        "and --allow-origin.",
    ),
    Cause.NO_ENDPOINT: (INVALID_REQUEST, "There is no MCP endpoint at this path. Check the path of the URL."),
    Cause.UNSUPPORTED_MEDIA: (
        INVALID_REQUEST,
        "This endpoint takes one JSON-RPC message as application/json, and answers with JSON or an event stream.",
    ),
    Cause.SHUTTING_DOWN: (INTERNAL_ERROR, "The bridge is being stopped; this request was not finished."),
    Cause.INTERNAL: (
        INTERNAL_ERROR,
        "The bridge has a fault of its own and ended this request. Tell the user to report it.",
    ),
}


LOGGED = frozenset(
    {
        Cause.TIMEOUT,
        Cause.CLOSED,
        Cause.TRANSPORT_FAILED,
        Cause.INVALID_RESPONSE,
        Cause.TOO_MANY_ROUNDS,
        Cause.SPAWN_FAILED,
        Cause.CONNECT_FAILED,
        Cause.DISCOVER_FAILED,
        Cause.INITIALIZE_FAILED,
        Cause.UPSTREAM_EXITED,
        Cause.INVALID_INPUT_REQUEST,
        Cause.SIGN_IN_FAILED,
        Cause.SIGN_IN_ERROR,
        Cause.SIGN_IN_INVALID_URL,
        Cause.BROWSER_LAUNCH_FAILED,
        Cause.ACCESS_REFUSED,
        Cause.INTERNAL,
    }
)
"""Of what the log tells more: a hint says so beside the sentence, as its reader may be a model that sees no log."""

UNKNOWN = {"seconds": "the given number of", "port": "of the redirect URI", "redirect_uri": "of this bridge"}
"""What the places of a sentence say while their facts are not known."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something the bridge reports itself. `code` overrides the table's (ERR-10), `extra` adds members to `data`.

    `status` is the HTTP status of the request that failed, for machines; the wire has it in the detail only (ERR-07).
    `facts` fill the places that the sentence leaves open (ERR-05).
    """

    cause: Cause
    detail: str | None = None
    code: int | None = None
    extra: tuple[tuple[str, object], ...] = ()
    status: int | None = None
    facts: tuple[tuple[str, str], ...] = ()

    def error(self) -> Raw:
        """The error object: code, message, `data.cause`, and `data.detail` and `data.hint` where there is one (ERR-01,
        ERR-02)."""
        code, message = TABLE[self.cause]
        if "{" in message:
            message = message.format_map({**UNKNOWN, **dict(self.facts)})
        data = {"cause": self.cause.value, **dict(self.extra)}
        if self.detail is not None:
            data["detail"] = self.detail
        if self.cause in LOGGED:
            data["hint"] = HINT
        return raw({"code": self.code or code, "message": message, "data": data})


def is_of_no_era(status: int) -> bool:
    """Whether an HTTP status says nothing of a server's revisions: who asks, or how busy it is, is the matter (B47)."""
    return status in (401, 403, 407, 408, 429) or status >= 500
