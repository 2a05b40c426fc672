"""The head of a response and its body leave together, and nothing waits longer than a turn of the loop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

from dragoman.transports.http.server.joined import Joined

HEAD, BODY, MORE = b"HTTP/1.1 200 OK\r\n\r\n", b"{}", b"data: 1\n\n"


class Connection(asyncio.Protocol):
    """One end of a pair of sockets."""

    joined: Joined

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.joined = Joined(transport, asyncio.get_running_loop(), lambda: False)


def on_pair(scene: Callable[[Joined, Callable[[], list[bytes]]], Awaitable[None]]) -> None:
    async def run() -> None:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)

        def heard() -> list[bytes]:
            pieces: list[bytes] = []
            try:
                while piece := theirs.recv(1000):
                    pieces.append(piece)
            except BlockingIOError:
                return pieces
            return [*pieces, b""]

        with theirs:
            _, protocol = await asyncio.get_running_loop().create_connection(Connection, sock=ours)
            await scene(protocol.joined, heard)
            protocol.joined.abort()

    asyncio.run(run())


def test_two_writes_of_one_turn_are_sent_as_one() -> None:
    async def scene(joined: Joined, heard: Callable[[], list[bytes]]) -> None:
        joined.write(HEAD)
        assert heard() == []
        assert joined.get_write_buffer_size() == len(HEAD)
        joined.write(BODY)
        assert heard() == [HEAD + BODY]

    on_pair(scene)


def test_a_head_without_a_body_leaves_at_the_end_of_the_turn() -> None:
    async def scene(joined: Joined, heard: Callable[[], list[bytes]]) -> None:
        joined.write(HEAD)
        await asyncio.sleep(0)
        assert heard() == [HEAD]
        joined.write(MORE)
        joined.write(MORE)
        joined.write(BODY)
        await asyncio.sleep(0)
        assert b"".join(heard()) == MORE + MORE + BODY

    on_pair(scene)


def test_what_waits_goes_before_the_end_and_not_after_an_abort() -> None:
    async def closed(joined: Joined, heard: Callable[[], list[bytes]]) -> None:
        joined.write(HEAD)
        joined.close()
        assert joined.is_closing()
        await asyncio.sleep(0)
        assert heard() == [HEAD, b""]

    async def aborted(joined: Joined, heard: Callable[[], list[bytes]]) -> None:
        joined.write(HEAD)
        joined.abort()
        await asyncio.sleep(0)
        assert heard() in ([], [b""])

    on_pair(closed)
    on_pair(aborted)


def test_lists_keep_their_place() -> None:
    async def scene(joined: Joined, heard: Callable[[], list[bytes]]) -> None:
        joined.write(HEAD)
        joined.writelines([BODY, MORE])
        assert b"".join(heard()) == HEAD + BODY + MORE

    on_pair(scene)
