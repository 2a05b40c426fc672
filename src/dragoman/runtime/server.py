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


class Server:
    def __init__(self, where: Place, shared: Shared, admission: Admission, gate: Gate, stderr: Overflow) -> None:
        self._where = where
        self._shared = shared
        self._admission = admission
        self._gate = gate
        self._stderr = stderr
        self._over: asyncio.Event

    async def run(self) -> int:
        """Serve until a signal; gives the exit code."""
        loop = asyncio.get_running_loop()
        self._stderr.attach(loop)
        self._over = asyncio.Event()
        log, limits = self._shared.log, self._shared.limits
        endpoint = Endpoint(self._shared)

        def note(text: str) -> None:
            log.note(Level.WARN, "endpoint", text)

        app = App(lambda: endpoint, self._where.path, self._admission, self._gate, limits.reception, note)
        listening = Listening(self._where, app, limits.reception, note)
        try:
            await listening.start()
        except OSError as error:
            log.note(Level.ERR, "endpoint", f"cannot listen on {self._where.url}: {error.strerror or error}")
            return EXIT_LOST
        spare()
        with Signals(loop, self._over.set):
            log.note(Level.INFO, "endpoint", f"listens on {replace(self._where, port=listening.port).url}")
            await self._over.wait()
            watchdog = threading.Timer(limits.watchdog, self._bite)
            watchdog.daemon = True
            watchdog.start()
            listening.stop()
            await endpoint.aclose(limits.grace)
            await listening.aclose(limits.grace / 2)
            watchdog.cancel()
        return EXIT_FINE

    def stop(self) -> None:
        """End as a signal would."""
        self._over.set()

    def _bite(self) -> None:
        """The end takes too long: whatever the loop is doing, everything ends now (EXIT-06)."""
        with suppress(Exception):
            self._shared.kill()
        os._exit(EXIT_FINE)
