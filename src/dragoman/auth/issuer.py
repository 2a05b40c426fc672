"""The authorization server whose tokens are taken: its keys, fetched when the first token comes, and kept for a while.

* One request at a time asks the issuer, and never more often than every `pause` seconds, whatever tokens name. Who
  comes meanwhile waits for that answer, unless its key is there.
* Keys are asked for again when they are old or one is missing. While the issuer does not answer, those that are known
  serve until they are too old.
* Connections go through the proxies of the environment and trust what a server at a URL would be trusted by.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from jwt import PyJWK

from dragoman.auth.discovery import Unfit, place_of_keys, places
from dragoman.auth.keys import Keys
from dragoman.limits import Limits
from dragoman.transports.http.address import Address, address
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.connection import Connections
from dragoman.transports.http.loss import Lost, is_fine
from dragoman.transports.http.place import place
from dragoman.transports.http.proxy import UnusableProxy
from dragoman.transports.http.reading import Reading
from dragoman.transports.http.target import Target, UnusableTrust

SERVER_ERRORS = range(500, 600)


@dataclass(frozen=True, slots=True)
class KeyBounds:
    document: int = 256 << 10  # bytes of the metadata, and of the key set
    patience: float = 10.0  # seconds for all documents together
    pause: float = 10.0  # seconds from what the issuer answered to the next time that it is asked
    renew: float = 600.0  # seconds after which keys are asked for again
    keep: float = 3600.0  # seconds after which keys are not used any more


class Unavailable(Exception):
    """The issuer cannot be asked. `news` says why, to the one of all who wait that the log should hear it from."""

    def __init__(self, news: str | None) -> None:
        super().__init__(news)
        self.news = news


class Issuer:
    """`name` is the issuer exactly as it writes itself; `target` has its address. `clock` counts seconds."""

    def __init__(
        self, name: str, target: Target, bounds: KeyBounds | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self._target = target
        self._bounds = bounds or KeyBounds()
        self._clock = clock
        self._keys: Keys | None = None
        self._asked = self._got = float("-inf")
        self._is_failing = False
        self._lock = asyncio.Lock()

    @property
    def pause(self) -> float:
        """Seconds after which asking again may help."""
        return self._bounds.pause

    async def key(self, algorithm: str, kid: str | None) -> PyJWK | None:
        """The key that a token names; `None` when the issuer has no such key.

        Raises:
            Unavailable: that cannot be known now.
        """
        found = self._known(algorithm, kid)
        is_old = self._clock() - self._got > self._bounds.renew
        if found is not None and (not is_old or self._lock.locked()):
            return found
        news = await self._renew()
        found = self._known(algorithm, kid)
        if found is None and self._is_failing:
            raise Unavailable(news)
        return found

    def expire(self) -> None:
        """Ask for the keys again with the next token; until that is answered, those that are known serve."""
        self._asked = float("-inf")
        self._got = min(self._got, self._clock() - self._bounds.renew - 1)

    def _known(self, algorithm: str, kid: str | None) -> PyJWK | None:
        if self._clock() - self._got > self._bounds.keep:
            self._keys = None
        return self._keys.find(algorithm, kid) if self._keys is not None else None

    async def _renew(self) -> str | None:
        """Ask for the keys, unless someone just did; gives why that failed."""
        async with self._lock:
            if self._clock() - self._asked < self._bounds.pause:
                return None
            self._is_failing = True
            try:
                async with asyncio.timeout(self._bounds.patience):
                    self._keys = await self._fetched()
            except Lost as lost:
                return lost.loss.detail
            except TimeoutError:
                return "it did not answer in time"
            except (Unfit, UnusableProxy, UnusableTrust) as unfit:
                return str(unfit)
            finally:
                self._asked = self._clock()
            self._got = self._asked
            self._is_failing = False
            return None

    async def _fetched(self) -> Keys:
        """
        Raises:
            Lost, Unfit, UnusableProxy, UnusableTrust: there are no keys to be had.
        """
        wanted = Bounds(response=self._bounds.document, connect=self._bounds.patience)
        connections = Connections(self._target, asyncio.get_running_loop(), wanted)
        try:
            reading = Reading(Limits(), wanted)
            document = await self._document(connections, reading, await self._place(connections, reading))
        finally:
            await connections.close()
        if document is None:
            raise Unfit("its keys are not where it says")
        try:
            return Keys(document)
        except ValueError:
            raise Unfit("its keys are no JSON Web Key Set") from None

    async def _place(self, connections: Connections, reading: Reading) -> Address:
        """Where the keys are. A place without metadata is passed over, and so is a document that does not fit (B141).

        Raises:
            Lost, Unfit, UnusableProxy, UnusableTrust: no place tells.
        """
        unfit = Unfit("it has no metadata")
        for url in places(self._target.address):
            document = await self._document(connections, reading, address(url))
            if document is None:
                continue
            try:
                return place_of_keys(document, self.name, self._target.address)
            except Unfit as error:
                unfit = error
        raise unfit

    async def _document(self, connections: Connections, reading: Reading, at: Address) -> bytes | None:
        """The document at a place; `None` when there is none. Redirects are not followed.

        Raises:
            Lost, Unfit, UnusableProxy, UnusableTrust: the place does not work.
        """
        headers = {"Accept": "application/json"}
        response = await connections.fetch("GET", place(at, self._target, True), None, headers)
        async with response:
            if response.status in SERVER_ERRORS:
                raise Unfit(f"HTTP status {response.status}")
            return await reading.document(response) if is_fine(response.status) else None
