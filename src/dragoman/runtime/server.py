"""One listener on HTTP, from its start to its end by a signal (EXIT).

The end is graceful: nothing new is taken, what is in flight has its grace, the rest gets an error; then the server
behind it ends.
"""

import asyncio
import os
import threading
from contextlib import suppress
from dataclasses import replace

from dragoman.exchange.notes import Level
from dragoman.runtime.collector import spare
from dragoman.runtime.endpoint import Endpoint
from dragoman.runtime.shared import Shared
from dragoman.runtime.signals import EXIT_FINE, EXIT_LOST, Signals
from dragoman.transports.http.server.admission import Admission
from dragoman.transports.http.server.app import App
from dragoman.transports.http.server.authentication import Gate
from dragoman.transports.http.server.listening import Listening, Place
from dragoman.transports.pipes import Overflow


class Serving:
    """A listener that is started and ended by whoever holds it."""

    def __init__(self, where: Place, shared: Shared, admission: Admission, gate: Gate) -> None:
        self._where = where
        self._shared = shared
        self._gate = gate
        self._endpoint = endpoint = Endpoint(shared)
        limits = shared.limits

        def note(text: str) -> None:
            shared.log.note(Level.WARN, "endpoint", text)

        app = App(lambda: endpoint, where.path, admission, gate, limits.reception, note, has_probes=True)
        self._listening = Listening(where, app, limits.reception, note)

    @property
    def url(self) -> str:
        """Where it listens, with the port that the system chose if that was left to it; known from `start` on."""
        return replace(self._where, port=self._listening.port).url

    async def start(self) -> None:
        """
        Raises:
            OSError: the address cannot be had, or a file of the certificate not be used.
        """
        await self._listening.start()

    def reload(self) -> None:
        """Read certificates, tokens and keys anew.

        Raises:
            ValueError: a file cannot be used; the text names it and repeats nothing of it. What was there stays.
        """
        try:
            self._gate.reload()
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or f"it {error}"
            raise ValueError(f"the file of --auth-token-file: {reason}") from None
        try:
            self._listening.reload()
        except OSError as error:
            raise ValueError(f"the files of the certificate: {error.strerror or error}") from None

    async def aclose(self) -> None:
        """End in bounded time: nothing new is taken, what is in flight has its grace, then the server behind ends."""
        grace = self._shared.limits.grace
        self._listening.stop()
        await self._endpoint.aclose(grace)
        await self._listening.aclose(grace / 2)


class Server:
    """A listener in a process of its own."""

    def __init__(self, where: Place, shared: Shared, admission: Admission, gate: Gate, stderr: Overflow) -> None:
        self._where = where
        self._shared = shared
        self._serving = Serving(where, shared, admission, gate)
        self._stderr = stderr
        self._over = asyncio.Event()

    async def run(self) -> int:
        """Serve until a signal; gives the exit code."""
        loop = asyncio.get_running_loop()
        self._stderr.attach(loop)
        log, limits = self._shared.log, self._shared.limits
        try:
            await self._serving.start()
        except OSError as error:
            log.note(Level.ERR, "endpoint", f"cannot listen on {self._where.url}: {error.strerror or error}")
            return EXIT_LOST
        spare()
        with Signals(loop, self._over.set, self._reload):
            log.note(Level.INFO, "endpoint", f"listens on {self._serving.url}")
            await self._over.wait()
            watchdog = threading.Timer(limits.watchdog, self._bite)
            watchdog.daemon = True
            watchdog.start()
            await self._serving.aclose()
            watchdog.cancel()
        return EXIT_FINE

    def stop(self) -> None:
        """End as a signal would."""
        self._over.set()

    def _reload(self) -> None:
        """SIGHUP: certificates, tokens and the keys of the tokens' issuer are read anew; sessions go on."""
        log = self._shared.log
        try:
            self._serving.reload()
            log.note(Level.INFO, "endpoint", "certificates, tokens and keys were read anew")
        except ValueError as error:
            log.note(Level.ERR, "endpoint", f"cannot be used, so what was read before stays: {error}")

    def _bite(self) -> None:
        """The end takes too long: whatever the loop is doing, everything ends now (EXIT-06)."""
        with suppress(Exception):
            self._shared.kill()
        os._exit(EXIT_FINE)
