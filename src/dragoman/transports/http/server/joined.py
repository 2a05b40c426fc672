"""A connection's transport that sends the head of a response together with its body.

The application hands over the two one after the other. Sent as two, they cost a system call more here, and the client
is woken for a head without a body.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Data = bytes | bytearray | memoryview[Any]


class Joined(asyncio.Transport):
    """What is written first waits for what follows, but never beyond this turn of the loop.

    `lingers` says whether the connection has to stay open for a moment, though its last response is written.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, lingers: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._lingers = lingers
        self._transport = transport
        self._loop = loop
        self._first: Data | None = None

    def write(self, data: "Data") -> None:
        first = self._first
        if first is None:
            self._first = data
            self._loop.call_soon(self._flush)
        else:
            self._first = None
            self._transport.writelines((first, data))

    def writelines(self, list_of_data: "Iterable[Data]") -> None:
        self._flush()
        self._transport.writelines(list_of_data)

    def _flush(self) -> None:
        first, self._first = self._first, None
        if first is not None:
            self._transport.write(first)

    def close(self) -> None:
        self._flush()
        if not self._lingers():
            self._transport.close()

    def abort(self) -> None:
        self._first = None
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + (len(self._first) if self._first is not None else 0)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._transport.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def write_eof(self) -> None:
        self._flush()
        self._transport.write_eof()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()
