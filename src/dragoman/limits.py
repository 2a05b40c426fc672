"""Every number that bounds something, in one frozen value.

A machine is handed this object and has no number of its own, so that a test can set each of them and waits for none.
Sizes are bytes, times are seconds.
"""

from dataclasses import dataclass, replace
from enum import IntEnum


class Patience(IntEnum):
    """The classes of time limits that a wait for the upstream server or for the client can have (TIME)."""

    LIST = 0
    READ = 1
    CALL = 2
    INPUT = 3
    STREAM = 4


@dataclass(frozen=True, slots=True)
class Timeouts:
    list: float = 120.0  # TIME-01: lists and completion/complete
    read: float = 120.0  # TIME-02: the first round of prompts/get and resources/read
    call: float = 3600.0  # TIME-03, TIME-04: each round of tools/call, each later round of the others
    input: float = 3600.0  # TIME-05: all answers of the client to one round
    discover: float = 60.0  # TIME-06
    probe: float = 5.0  # B43: of server/discover, while it is not known that the server has it
    acknowledgement: float = 10.0  # LOSS-02: of a listen stream

    def of(self, patience: Patience) -> float:
        return {
            Patience.LIST: self.list,
            Patience.READ: self.read,
            Patience.CALL: self.call,
            Patience.INPUT: self.input,
            Patience.STREAM: float("inf"),  # SDKTIME-04
        }[patience]


@dataclass(frozen=True, slots=True)
class Reception:
    """Of a listener on HTTP (THTTP-05)."""

    body: int = 4 << 20  # bytes of one POST
    head: int = 16 << 10  # bytes of the request line and headers
    headers: int = 256  # of one request
    head_time: float = 10.0  # for the head to arrive
    body_time: float = 60.0  # for the body to arrive
    idle: float = 60.0  # of a connection without a request
    linger: float = 2.0  # for the rest of a request that was answered before it had come
    stall: float = 60.0  # of a client that takes nothing of what is written to it
    connections: int = 1024
    per_address: int = 256  # connections of one address beyond this machine
    exchanges: int = 1024  # requests in flight of all clients without a session together
    sessions: int = 10_000
    sessions_per_caller: int = 1000
    servers: int = 256  # processes of a server that keeps state
    servers_per_caller: int = 64
    session_idle: float = 86_400.0  # from a client's last message to the end of its session (B67)
    unheld_idle: float = 1800.0  # the same of a session that no client holds a stream of
    kept_idle: float = 600.0  # of a conversation of modern clients with a server that keeps state
    stream_after: float = 1.0  # an answer that takes longer becomes a stream of events
    comment_after: float = 15.0  # of silence on a stream (B131)
    kept: int = 1 << 20  # bytes of a stream that can be sent again
    waiting: int = 64 << 20  # bytes of a stream that its client has not taken yet
    waiting_total: int = 256 << 20  # bytes of all streams that are kept or were not taken yet
    resume: float = 60.0  # for a client to take up a stream whose connection it lost
    abandon: float = 5.0  # from the loss of a connection that cannot be taken up to the end of its request


@dataclass(frozen=True, slots=True)
class Limits:
    line: int = 64 << 20  # CLI-06, SIZE-01: bytes of one line, of either side
    depth: int = 64  # SIZE-02: levels of a message of the client
    in_flight: int = 256  # FLIGHT-01: requests of one client
    rounds: int = 10  # ROUND-11: upstream rounds of one request
    pages: int = 100  # of a list that are asked for when they are merged
    questions: int = 16  # CHK-11: input requests in one round
    backlog: int = 1 << 20  # bytes that wait for a peer before the other peer's reader pauses
    stderr: int = 1 << 20  # bytes of log and of the child's stderr that wait for our standard error
    excerpt: int = 120  # bytes of a bad line that a log line shows
    grace: float = 2.0  # EXIT-07, EXIT-08: for what runs at the end; again before a kill
    linger: float = 1.0  # after the loss of the upstream server: requests still get their error
    watchdog: float = 8.0  # EXIT-06: from the end of the input to the end of everything
    reopen_at_once: int = 3  # GAP-05: reopenings of a lost stream before the first wait
    reopen_first: float = 0.5  # LOSS-08
    reopen_last: float = 30.0  # LOSS-08
    settled: float = 10.0  # LOSS-09: life of a stream that resets the wait
    slow_first: float = 10.0  # LOGL-03
    slow_again: float = 30.0  # LOGL-03
    gather: float = 0.02  # for questions of one call that go to a client without a handshake together
    state_life: float = 600.0  # SEAL-03: for such a client to come back with answers
    roots_wait: float = 10.0  # decisions T7: for a call, when a server asks for roots before any
    turn: float = 2.0  # decisions T6: for another call that may be asked, before a guess is risked
    visit_wait: float = 60.0  # translation 4.2b: for a notice that a page is done with, before a call is sent again
    reask_wait: float = 0.05  # the second round in a row without a question, doubled for each further one
    timeouts: Timeouts = Timeouts()
    reception: Reception = Reception()

    @property
    def shared(self) -> "Limits":
        """The limits of a way to the server that all clients of a listener take together."""
        return replace(self, in_flight=self.reception.exchanges)


PATIENCE = {
    "tools/call": Patience.CALL,
    "tasks/result": Patience.CALL,
    "prompts/get": Patience.READ,
    "resources/read": Patience.READ,
    "subscriptions/listen": Patience.STREAM,
}


def patience_of(method: str, round_number: int) -> Patience:
    """The limit of round `round_number` (from 1) of a request (TIME-01 to TIME-04)."""
    first = PATIENCE.get(method, Patience.LIST)
    return Patience.CALL if first is Patience.READ and round_number > 1 else first
