"""Servers at a URL, as a conversation opens them. aiohttp is imported when that happens, and not before."""

import asyncio
from collections.abc import Callable
from errno import EINVAL

from dragoman.channel import Channel
from dragoman.faults import Cause, Fault
from dragoman.limits import Limits
from dragoman.transports.http.bounds import Bounds
from dragoman.transports.http.loss import Loss
from dragoman.transports.http.target import Target
from dragoman.transports.upstream import Receiver


class Url:
    """A server of a revision without a handshake (`http-stateless:URL`).

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

        try:
            return self._channel(receiver, loop, limits)
        except (UnusableProxy, UnusableTrust) as error:
            raise OSError(EINVAL, str(error)) from None

    def open_unused(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel | None:
        return None

    def _channel(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        from dragoman.transports.http.client import HttpChannel

        lines, lost = _lines(receiver), _lane_lost(receiver)
        return HttpChannel(self._target, loop, limits, lines, lost, receiver.drained, receiver.note, self._bounds)


class AnyUrl(Url):
    """A server whose revisions and transport nobody said (`http://…`, `https://…`)."""

    def _channel(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        from dragoman.transports.http.unpinned import AnyChannel

        ears = (_lines(receiver), _lane_lost(receiver), receiver.gone, receiver.drained, receiver.note)
        return AnyChannel(self._target, loop, limits, *ears, self._bounds, receiver.renewed)


class SessionUrl(Url):
    """A server with a handshake, over Streamable HTTP (`http-session:URL`)."""

    def _channel(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        from dragoman.transports.http.session import SessionChannel

        ears = (_lines(receiver), _lane_lost(receiver), receiver.drained, receiver.note)
        return SessionChannel(self._target, loop, limits, *ears, self._bounds, receiver.renewed)


class SseUrl(Url):
    """A server with a handshake, over HTTP+SSE (`sse:URL`)."""

    def _channel(self, receiver: Receiver, loop: asyncio.AbstractEventLoop, limits: Limits) -> Channel:
        from dragoman.transports.http.sse_renewal import RenewedSse

        ears = (_lines(receiver), _lane_lost(receiver), receiver.gone, receiver.drained, receiver.note)
        return RenewedSse(self._target, loop, limits, *ears, self._bounds, receiver.renewed)


def _lines(receiver: Receiver) -> Callable[[list[bytes], bytes | None], None]:
    def lines(lines: list[bytes], of: bytes | None) -> None:
        receiver.lines([*lines], of)

    return lines


def _lane_lost(receiver: Receiver) -> Callable[[bytes, Loss], None]:
    def lane_lost(id: bytes, loss: Loss) -> None:
        receiver.lane_lost(id, Fault(loss.kind, loss.detail, status=loss.status, facts=loss.facts), loss.may_retry)

    return lane_lost
