"""Servers at a URL, as a conversation opens them. aiohttp is imported when that happens, and not before."""

import asyncio
from errno import EINVAL
from typing import TYPE_CHECKING

from dragoman.channel import Channel
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.loss import Loss
from dragoman.transports.http.target import Target
from dragoman.transports.upstream import Receiver

if TYPE_CHECKING:
    from dragoman.transports.http.client import HttpChannel
    from dragoman.transports.http.session import SessionChannel


class Url:
    """A server of a revision without a handshake.

    `response_limit` is in bytes, of one JSON response or of one event (CLI-07).
    """

    fails_with = Cause.CONNECT_FAILED
    failure = "the URL cannot be used"
    is_remote = True

    def __init__(self, target: Target, response_limit: int = Bounds().response) -> None:
        self._target = target
        self._bounds = Bounds(response=response_limit)

    def open(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        """
        Raises:
            OSError: the proxy variables or the certificates are not usable (HTTP-09).
        """
        from dragoman.transports.http.proxy import UnusableProxy
        from dragoman.transports.http.target import UnusableTrust

        def lines(lines: list[bytes], of: bytes | None) -> None:
            receiver.lines([*lines], of)

        def lane_lost(id: bytes, loss: Loss) -> None:
            receiver.lane_lost(id, Fault(loss.kind, loss.detail), loss.may_retry)

        try:
            return self._kind()(
                self._target, loop, limits, lines, lane_lost, receiver.drained, receiver.note, self._bounds
            )
        except (UnusableProxy, UnusableTrust) as error:
            raise OSError(EINVAL, str(error)) from None

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        return None

    def _kind(self) -> "type[HttpChannel | SessionChannel]":
        from dragoman.transports.http.client import HttpChannel

        return HttpChannel


class SessionUrl(Url):
    """A server with a handshake, over Streamable HTTP (`http-session:URL`)."""

    def _kind(self) -> "type[HttpChannel | SessionChannel]":
        from dragoman.transports.http.session import SessionChannel

        return SessionChannel
