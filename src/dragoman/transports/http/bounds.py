"""The numbers of this transport that `limits` does not have, in one frozen value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    response: int = 64 << 20  # CLI-07, SIZE-03: bytes of one JSON response, or of one event
    connect: float = 30.0  # seconds for a connection, with name, proxy and TLS
    idle: float = 4.0  # life of an unused connection: servers end theirs after 5 s, and no POST must meet that end
    streams: int = 8  # requests above the client's limit, for what the bridge asks itself
    hops: int = 3  # HTTP-12: redirects of one request
    pages: int = 64  # of tools/list, when its marks are learned anew
    accept: float = 30.0  # seconds that what follows a notification waits for the response to its POST
    listen: float = 1.0  # seconds that the first call waits for the response to the GET
    endpoint: float = 30.0  # seconds from the GET of an SSE server to its endpoint event
    turn: float = 1.0  # seconds that what follows a request of an SSE server waits for the response to its POST
    resumes: int = 5  # openings in a row that bring nothing, before the request of the stream is lost
    retry_least: float = 0.05  # seconds: a server that asks for less is not asked without a pause
    retry_most: float = 3600.0  # seconds: the longest wait that a server may ask for
