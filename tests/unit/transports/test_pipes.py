"""Reading and writing descriptors: whole, in order, bounded, and never in the loop's way."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.transports.pipes import Overflow, Reader, ThreadWriter, Writer
from support.proofs import proves

WRITERS: list[type[Writer]] = [Writer, ThreadWriter]


async def until(true: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.001)


def pipe() -> tuple[int, int]:
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    return reads, writes


@proves("ORDER-07", "B163")
@pytest.mark.parametrize("kind", WRITERS)
def test_frames_arrive_whole_and_in_order_through_a_pipe_that_is_slow(kind: type[Writer]) -> None:
    frames = [b"%d:" % place + b"x" * (place * 37 % 90_000) for place in range(300)]

    async def work() -> bytes:
        reads, writes = pipe()
        if kind is ThreadWriter:
            os.set_blocking(writes, True)
        loop = asyncio.get_running_loop()
        got: list[bytes] = []
        reader = Reader(reads, loop, got.append, lambda: None)
        writer = kind(writes, loop)
        for frame in frames:
            writer.send([frame])
        assert writer.backlog > 0
        reader.start()
        await writer.drain(20)
        assert writer.backlog == 0
        await until(lambda: sum(map(len, got)) == sum(map(len, frames)) + len(frames))
        reader.stop()
        writer.close()
        return b"".join(got)

    assert asyncio.run(work()).split(b"\n")[:-1] == frames


@pytest.mark.skipif(sys.platform == "win32", reason="the loop does not watch descriptors there")
def test_a_socket_that_blocks_is_written_to_without_blocking() -> None:
    frames = [b"%d:" % place + b"x" * 500_000 for place in range(20)]

    async def work() -> bytes:
        ours, theirs = socket.socketpair()
        assert ours.getblocking()
        got: list[bytes] = []
        loop = asyncio.get_running_loop()
        reader = Reader(theirs.detach(), loop, got.append, lambda: None)
        writer = Writer(ours.detach(), loop)
        for frame in frames:
            writer.send([frame])
        assert writer.backlog > 0
        reader.start()
        await writer.drain(20)
        await until(lambda: sum(map(len, got)) == sum(map(len, frames)) + len(frames))
        reader.stop()
        writer.close()
        return b"".join(got)

    assert asyncio.run(work()).split(b"\n")[:-1] == frames


@pytest.mark.parametrize("kind", WRITERS)
def test_a_reader_that_is_gone_is_told_once_and_nothing_is_kept(kind: type[Writer]) -> None:
    async def work() -> list[int]:
        reads, writes = pipe()
        told: list[int] = []
        writer = kind(writes, asyncio.get_running_loop(), broken=lambda: told.append(1))
        os.close(reads)
        writer.send([b"x"])
        await until(lambda: bool(told))
        writer.send([b"y"])
        assert writer.backlog == 0
        await writer.drain(1)
        return told

    assert asyncio.run(work()) == [1]


def test_a_paused_reader_reads_nothing_until_it_is_resumed() -> None:
    async def work() -> None:
        reads, writes = os.pipe()
        got: list[bytes] = []
        ended: list[int] = []
        reader = Reader(reads, asyncio.get_running_loop(), got.append, lambda: ended.append(1))
        reader.start()
        os.write(writes, b"a")
        await until(lambda: got == [b"a"])
        reader.pause()
        os.write(writes, b"b")
        await asyncio.sleep(0.02)
        assert got == [b"a"]
        reader.resume()
        await until(lambda: got == [b"a", b"b"])
        os.close(writes)
        await until(lambda: ended == [1])

    asyncio.run(work())


def test_a_file_is_read_by_a_thread(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 200_000)

    async def work() -> bytes:
        fd = os.open(tmp_path / "in", os.O_RDONLY)
        got: list[bytes] = []
        ended: list[int] = []
        Reader(fd, asyncio.get_running_loop(), got.append, lambda: ended.append(1)).start()
        await until(lambda: ended == [1])
        os.close(fd)
        return b"".join(got)

    assert asyncio.run(work()) == b"x" * 200_000


@proves("B58")
def test_what_nobody_reads_on_standard_error_is_dropped_in_bounds_and_counted() -> None:
    async def work() -> bytes:
        reads, writes = os.pipe()
        stderr = Overflow(writes, 100_000)
        loop = asyncio.get_running_loop()
        stderr.attach(loop)
        for _ in range(200):
            stderr.write(b"z" * 10_000)
        got: list[bytes] = []
        reader = Reader(reads, loop, got.append, lambda: None)
        reader.start()
        await until(lambda: b"were dropped" in b"".join(got))
        reader.stop()
        return b"".join(got)

    out = asyncio.run(work())
    kept = out.count(b"z")
    assert kept + int(out.rpartition(b"[")[2].split(b" ")[0]) == 2_000_000
    assert kept < 300_000
