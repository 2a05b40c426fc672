"""One account of a test, and who signs in to it."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman.signin.account import Account, Visit
from dragoman.signin.challenge import Challenge, challenge
from dragoman.signin.flow import Surroundings
from dragoman.signin.key import Key
from dragoman.signin.options import Options
from dragoman.signin.person import Consent
from dragoman.signin.shelf import Shelf
from dragoman.transports.http.address import address
from dragoman.transports.http.target import Target
from support.authorization import visit

KEY = bytes(range(32))
READ = -1.0  # among what was waited for: a token was read or renewed


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


@dataclass
class Someone:
    """A person who signs in when they see a URL: in the terminal, or as a question of the client."""

    at_hand: bool = True
    askable: bool = False
    answer: Consent = Consent.OPENED
    signs_in: bool = True
    pages: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    lines: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    questions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    waited: list[float] = field(default_factory=list[float])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self.changed.clear()
            await self.changed.wait()

    def is_at_hand(self) -> bool:
        return self.at_hand

    def can_be_asked(self) -> bool:
        return self.askable

    async def asked(self, url: str, message: str) -> Consent:
        self.questions.append((url, message))
        return self.answer

    def waits(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.changed.set()

    def waits_no_more(self, signed_in: bool) -> None:
        self.waited.append(0.0)
        self.changed.set()

    def goes_on(self) -> None:
        self.waited.append(READ)

    def say(self, line: str) -> None:
        self.lines.append(line)
        self.changed.set()
        if self.signs_in and self.answer is Consent.OPENED and " with the code " not in line:
            task = asyncio.get_running_loop().create_task(self._visit(line.removeprefix("sign in at ")), name="browser")
            self.tasks.add(task)

    async def _visit(self, url: str) -> None:
        self.pages.append(await asyncio.to_thread(visit, url))


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    account: Account
    someone: Someone
    shelf: Shelf
    key: Key
    clock: Clock

    async def meets(self, status: int = 401, *values: str, visit: Visit | None = None, **given: Any) -> bool:
        """One refusal, with a challenge of those headers; whether the request would be sent again."""
        found = challenge(status, values) if values else Challenge(status, True)
        return await self.account.refused(visit or Visit(**given), found)


def options(folder: Path, **given: Any) -> Options:
    return replace(Options(folder, opens_browser=False, store="file", store_key=KEY), **given)


@asynccontextmanager
async def account(
    url: str | Target, folder: Path, someone: Someone | None = None, clock: Clock | None = None, **given: Any
) -> AsyncGenerator[Bench, None]:
    import time

    someone, clock = someone or Someone(), clock or Clock()
    chosen = options(folder, **{"redirect_port": free_port(), **given})
    target = Target(address(url)) if isinstance(url, str) else url
    key = Key(target.address.url, chosen.account, chosen.redirect_uri, chosen.client)
    shelf = Shelf(chosen.store, chosen.folder, chosen.store_key, someone.notes.append)
    around = Surroundings(someone, someone.say, someone.notes.append, time.time)
    one = Account(target, chosen, key, shelf, around, clock)
    try:
        yield Bench(one, someone, shelf, key, clock)
    finally:
        await one.close()
        await asyncio.gather(*someone.tasks)
