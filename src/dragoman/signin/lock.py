"""One process at a time: locks of the operating system, which end with the process that holds them (B134, B150)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

LOOK = 0.05
"""Seconds between two attempts."""


@asynccontextmanager
async def locked(place: Path) -> AsyncGenerator[bool, None]:
    """Hold the lock at `place`; yields whether somebody else had it first. The file itself means nothing.

    Raises:
        OSError: there can be no file at that place.
    """
    lock = FileLock(place, timeout=0, mode=0o600, thread_local=False)
    waited = False
    while True:
        try:
            lock.acquire()
            break
        except Timeout:
            waited = True
            await asyncio.sleep(LOOK)
    try:
        yield waited
    finally:
        lock.release()
