"""Reading and writing file descriptors without ever blocking the loop.

`Reader` hands over what a read gives; `Writer` joins what one step wrote into one system call and keeps what the other
side does not take. Where the loop cannot watch a descriptor (a regular file; every pipe on Windows) a thread does the
blocking call in its place.
"""

import asyncio
import contextlib
import os
import socket
import stat
import sys
import threading
from collections.abc import Callable
from functools import partial

SMALL = 1 << 16
LARGE = 1 << 20


def never_blocks(fd: int) -> int:
    """A descriptor for the same pipe on which a write does not block, of our own where the system can make one.

    The flag belongs to the open file, which other processes may share; a pipe opened anew is ours alone. A terminal
    or a file is left as it is, and so is a socket, for which `Writer` has a way without the flag.
    """
    if sys.platform == "win32" or not stat.S_ISFIFO(os.fstat(fd).st_mode):
        return fd
    with contextlib.suppress(OSError):
        return os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.set_blocking(fd, False)
    return fd


def _is_socket(fd: int) -> bool:
    return sys.platform != "win32" and stat.S_ISSOCK(os.fstat(fd).st_mode)


def _send_now(peer: socket.socket, data: bytes | memoryview) -> int:
    """Write what `peer` takes at once; when that is nothing, raise `BlockingIOError` whatever the descriptor's mode."""
    return peer.send(data, socket.MSG_DONTWAIT)


def binary(*fds: int) -> None:
    """Let Windows translate no line ends on these descriptors; elsewhere there is nothing to do."""
    if sys.platform == "win32":
        import msvcrt

        for fd in fds:
            msvcrt.setmode(fd, os.O_BINARY)


class Reader:
    """Reads `fd` until its end. `feed` gets each read's bytes, `ended` is called once."""

    def __init__(
        self, fd: int, loop: asyncio.AbstractEventLoop, feed: Callable[[bytes], None], ended: Callable[[], None]
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._feed = feed
        self._ended = ended
        self._size = SMALL
        self._open = True
        self._paused = False
        self._thread: threading.Thread | None = None
        self._may_read = threading.Event()
        self._may_read.set()

    def start(self) -> None:
        try:
            if sys.platform == "win32":
                raise NotImplementedError
            os.set_blocking(self._fd, False)
            self._loop.add_reader(self._fd, self._ready)
        except (NotImplementedError, OSError):
            if sys.platform != "win32":
                os.set_blocking(self._fd, True)
            self._thread = threading.Thread(target=self._read_on, name=f"reader of {self._fd}", daemon=True)
            self._thread.start()

    def pause(self) -> None:
        if self._open and not self._paused:
            self._paused = True
            if self._thread is None:
                self._loop.remove_reader(self._fd)
            else:
                self._may_read.clear()

    def resume(self) -> None:
        if self._open and self._paused:
            self._paused = False
            if self._thread is None:
                self._loop.add_reader(self._fd, self._ready)
            else:
                self._may_read.set()

    def stop(self) -> None:
        """Read nothing more; the descriptor stays open."""
        if self._open:
            self._open = False
            if self._thread is None and not self._paused:
                self._loop.remove_reader(self._fd)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, self._size)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        # A large buffer is mapped and unmapped for each read, so it is taken only while the reads fill it.
        self._size = LARGE if len(data) >= SMALL else SMALL
        self._take(data)

    def _take(self, data: bytes) -> None:
        if not self._open:
            return
        if data:
            self._feed(data)
        else:
            self.stop()
            self._ended()

    def _read_on(self) -> None:
        data = b"-"
        while data and self._open:
            self._may_read.wait()
            try:
                data = os.read(self._fd, SMALL)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:
                return  # the loop is closed


class Writer:
    """Writes frames to `fd`, each followed by LF. `broken` is called once when the other side is gone."""

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        broken: Callable[[], None] = lambda: None,
        drained: Callable[[], None] = lambda: None,
    ) -> None:
        self._fd = fd
        self._loop = loop
        # Hosts written in Node give their servers sockets, not pipes; a single write to one can be told not to block.
        self._socket = socket.socket(fileno=fd) if _is_socket(fd) else None
        self._offer = partial(os.write, fd) if self._socket is None else partial(_send_now, self._socket)
        self._broken = broken
        self._drained = drained
        self._waiting: list[memoryview] = []
        self._armed = False
        self._gone = False
        self._taken = asyncio.Event()
        self.backlog = 0

    def send(self, frames: list[bytes]) -> None:
        """Write frames whole and in order, as one piece. The list is used up."""
        if self._gone or not frames:
            return
        if len(frames) == 1 and len(frames[0]) >= SMALL:
            self.put([frames[0], b"\n"])
            return
        frames.append(b"")
        data = b"\n".join(frames)
        if not self._waiting and not self._armed:
            data = self._take_at_once(data)
        if data:
            self.put([data])

    def put(self, pieces: list[bytes]) -> None:
        """Write bytes as they are."""
        if self._gone:
            return
        for piece in pieces:
            self.backlog += len(piece)
            self._waiting.append(memoryview(piece))
        if not self._armed:
            self._push()

    def _take_at_once(self, data: bytes) -> bytes:
        """Write what the other side takes in one call, which is nearly always all; gives the rest."""
        try:
            written = self._offer(data)
        except OSError:
            return data  # full, or gone: `put` finds out
        return b"" if written == len(data) else data[written:]

    async def drain(self, seconds: float) -> None:
        """Wait until everything is taken, but no longer than that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.backlog and not self._gone:
                    self._taken.clear()
                    await self._taken.wait()

    def close(self) -> None:
        """Forget what is waiting and close the descriptor."""
        self._forget()
        self._gone = True
        if self._socket is not None:
            self._socket.detach()
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def _push(self) -> None:
        waiting = self._waiting
        try:
            while waiting:
                piece = waiting[0]
                written = self._offer(piece)
                self.backlog -= written
                if written == len(piece):
                    del waiting[0]
                else:
                    waiting[0] = piece[written:]
        except BlockingIOError:
            if not self._armed:
                self._armed = True
                self._loop.add_writer(self._fd, self._push)
            return
        except OSError:
            self._forget()
            self._gone = True
            self._broken()
            return
        if self._armed:
            self._armed = False
            self._loop.remove_writer(self._fd)
            self._taken.set()
            self._drained()

    def _forget(self) -> None:
        self._taken.set()
        if self._armed:
            self._armed = False
            self._loop.remove_writer(self._fd)
        self._waiting.clear()
        self.backlog = 0


class ThreadWriter(Writer):
    """A `Writer` for a descriptor that the loop cannot watch: a thread does the blocking writes, in order."""

    def _take_at_once(self, data: bytes) -> bytes:
        return data

    def _push(self) -> None:
        self._armed = True
        pieces, self._waiting = self._waiting, []
        threading.Thread(target=self._write, args=(pieces,), name=f"writer of {self._fd}", daemon=True).start()

    def _write(self, pieces: list[memoryview]) -> None:
        written, gone = 0, False
        try:
            for piece in pieces:
                view = piece
                while view:
                    done = os.write(self._fd, view)
                    view = view[done:]
                    written += done
        except OSError:
            gone = True
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._written, written, gone)

    def _written(self, count: int, gone: bool) -> None:
        self._armed = False
        self.backlog -= count
        if gone:
            self._forget()
            self._gone = True
            self._broken()
        elif self._waiting:
            self._push()
        else:
            self._taken.set()
            self._drained()

    def _forget(self) -> None:
        self._taken.set()
        self._waiting.clear()
        self.backlog = 0


def writer(
    fd: int,
    loop: asyncio.AbstractEventLoop,
    broken: Callable[[], None] = lambda: None,
    drained: Callable[[], None] = lambda: None,
) -> Writer:
    """The writer for this system."""
    return (ThreadWriter if sys.platform == "win32" else Writer)(fd, loop, broken, drained)


class Overflow:
    """Standard error: bytes that nobody takes in time are dropped, counted, and said to be so (B58)."""

    def __init__(self, fd: int, limit: int) -> None:
        self._fd = never_blocks(fd)
        self._limit = limit
        self._writer: Writer | None = None
        self._dropped = 0
        self._in_line = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on a full pipe is waited for by the loop."""
        self._writer = writer(self._fd, loop, drained=self._tell)

    def line(self, line: bytes) -> None:
        """Write a line of our own, at the begin of a line even when the child left one open (LOGL-01)."""
        self.write(b"\n" + line if self._in_line else line)

    def write(self, data: bytes) -> None:
        """Write bytes of the child as they are."""
        self._in_line = not data.endswith(b"\n")
        writer = self._writer
        if writer is None:
            with contextlib.suppress(OSError):
                os.write(self._fd, data)
        elif writer.backlog + len(data) > self._limit:
            self._dropped += len(data)
        else:
            writer.put([data])

    def _tell(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            self.line(b"[%d bytes of standard error were dropped: nobody read them]\n" % dropped)
