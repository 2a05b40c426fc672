"""The records of sign-ins in the store in use, with their index, and the locks beside them.

* A store is asked in a thread of its own and for a limited time, as a keychain may ask its user or never answer
  (STORE-10). A keychain that fails later is replaced for the rest of the process (STORE-06).
* The index lists what is kept, so that it can be given up without being known; it holds no secret. One that is broken
  is begun anew (STORE-08).
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from dragoman.faults import Cause
from dragoman.signin.failure import Failed
from dragoman.signin.key import Key
from dragoman.signin.lock import locked
from dragoman.signin.record import Record, read, written
from dragoman.signin.stores import Store, StoreFailed, Unreadable
from dragoman.signin.stores.files import private_folder
from dragoman.signin.stores.opening import beside_keychain, opened

ANSWER = 25.0
PROMPT = 300.0
INDEX = "index"
LOCK, FAILURE = ".lock", ".failed"

T = TypeVar("T")


class Shelf:
    """`choice`, `folder` and `key` are of the store; `store` is one that is open. `note` gets sentences for the log."""

    def __init__(
        self,
        choice: str,
        folder: Path,
        key: bytes | None,
        note: Callable[[str], None],
        store: Store | None = None,
    ) -> None:
        self._choice = choice
        self._folder = folder
        self._key = key
        self._note = note
        self._store = store
        self._opening = asyncio.Lock()

    async def open(self) -> Store:
        """The store, opened by the first who needs it, who also tells which it is (STORE-05).

        Raises:
            StoreFailed: it does not open.
        """
        async with self._opening:
            if self._store is None:
                store = await _in_thread(lambda: opened(self._choice, self._folder, self._key), PROMPT)
                why = "" if store.is_shared or self._choice == "memory" else WHY
                self._note(f"sign-ins are kept in {store.label}{why}")
                self._store = store
            return self._store

    @property
    def is_shared(self) -> bool:
        return self._store is not None and self._store.is_shared

    async def read(self, key: Key) -> Record | None:
        """What is kept under `key`; a record that cannot be read is none.

        Raises:
            StoreFailed: no store answers.
        """
        return read(await self._kept(key.name))

    async def write(self, key: Key, record: Record) -> None:
        """
        Raises:
            StoreFailed: no store answers.
        """
        await self._asked(lambda store: store.write(key.name, written(record)))
        if self.is_shared:
            with suppress(OSError):
                private_folder(self._folder)
                key.mark(self._folder).touch(mode=0o600)
            try:
                await self._change_index(lambda index: index.__setitem__(key.name, _entry(key)))
            except StoreFailed:
                with suppress(StoreFailed):
                    await self.delete(key)  # half of it would be worse than nothing
                raise

    async def delete(self, key: Key) -> bool:
        """Give up what is kept under `key`; whether there was something.

        Raises:
            StoreFailed: no store answers.
        """
        was_there = await self._asked(lambda store: store.delete(key.name))
        with suppress(OSError):
            key.mark(self._folder).unlink(missing_ok=True)
        await self._change_index(lambda index: index.pop(key.name, None))
        return was_there

    async def keys(self) -> list[Key]:
        """What the index lists.

        Raises:
            StoreFailed: no store answers.
        """
        return [Key(*entry) for entry in (await self._index()).values()]

    @asynccontextmanager
    async def locked(self, key: Key) -> AsyncGenerator[bool, None]:
        """Be the only process that changes what is under `key`; yields whether another was before."""
        async with self._lock(key.name) as waited:
            yield waited

    def leave_failure(self, key: Key, failure: Failed, now: float) -> None:
        """Tell who waits for the lock why the sign-in of this process failed."""
        if self.is_shared:
            with suppress(OSError):
                told = [now, failure.cause.value, failure.detail or ""]
                (self._folder / f"{key.name}{FAILURE}").write_bytes(msgspec.json.encode(told))

    def check_failure(self, key: Key, since: float) -> None:
        """
        Raises:
            Failed: another process told of a failure after `since`.
        """
        with suppress(OSError, msgspec.DecodeError, ValueError):
            data = (self._folder / f"{key.name}{FAILURE}").read_bytes()
            moment, cause, detail = msgspec.json.decode(data, type=tuple[float, str, str])
            if moment >= since:
                raise Failed(Cause(cause), detail or None)

    # ------------------------------------------------------------------ plumbing

    @asynccontextmanager
    async def _lock(self, name: str) -> AsyncGenerator[bool, None]:
        if not self.is_shared:
            yield False
            return
        try:
            private_folder(self._folder)
        except OSError as error:
            raise StoreFailed(f"the folder of sign-ins cannot be made: {error.strerror}") from None
        async with locked(self._folder / f"{name}{LOCK}") as waited:
            yield waited

    async def _kept(self, name: str) -> bytes | None:
        try:
            return await self._asked(lambda store: store.read(name))
        except Unreadable as error:
            self._note(str(error))
            return None

    async def _asked(self, work: Callable[[Store], T]) -> T:
        store = await self.open()
        try:
            return await _in_thread(lambda: work(store), ANSWER)
        except Unreadable:
            raise
        except StoreFailed as error:
            if self._choice != "auto" or store.label == "memory":
                raise
            self._store = beside_keychain("auto", self._folder, None if store.label == FILES else self._key)
            self._note(f"{error}; from now on sign-ins are kept in {self._store.label}")
            return await self._asked(work)

    async def _index(self) -> dict[str, tuple[str, str, str, str]]:
        data = await self._kept(INDEX)
        if data is None:
            return {}
        try:
            return msgspec.json.decode(data, type=dict[str, tuple[str, str, str, str]])
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._note("the index of sign-ins is broken and begun anew; logout may not find older ones by --all")
            return {}

    async def _change_index(self, change: Callable[[dict[str, tuple[str, str, str, str]]], object]) -> None:
        async with self._lock(INDEX):
            index = await self._index()
            before = dict(index)
            change(index)
            if index != before:
                data = msgspec.json.encode(index)
                await self._asked(lambda store: store.write(INDEX, data))


FILES = "encrypted files"
WHY = (
    ", until this process ends: the system has no keychain that can be used, and no key was given for files "
    "(--token-key-file)"
)


def _entry(key: Key) -> tuple[str, str, str, str]:
    return key.server, key.account, key.redirect_uri, key.client


async def _in_thread(work: Callable[[], T], seconds: float) -> T:
    """The result of `work`, which is left behind when it takes longer.

    Raises:
        StoreFailed: it took longer, or what it raised itself.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # pyright: ignore[reportArgumentType] - without an error it is the result

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="a store of sign-ins", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            return await done
    except TimeoutError:
        raise StoreFailed("the store of sign-ins does not answer in time") from None
