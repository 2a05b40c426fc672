"""The frame log: one JSON object a line for each frame, as it was on the wire (CHECK-05 to CHECK-07, decisions C5).

`time` is the wall clock in seconds and `offset` the seconds since the log began; `face` is the side of the bridge;
`direction` is `<` for what arrived and `>` for what left; `lane` is the path it took, `frame` its text with credentials
masked. `rules` is there for a frame that was changed by rules that can lose something: rows, classes and places.
"""

import time
from collections.abc import Callable

from dragoman.redact import masked
from dragoman.revisions.plan import Loss
from dragoman.wire.members import encoded


class FrameLog:
    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._begin = time.monotonic()

    def record(self, face: str, direction: str, frame: bytes, losses: list[Loss], lane: str = "link") -> None:
        entry: dict[str, object] = {
            "time": round(time.time(), 6),  # noqa: TID251 - the one place that wants the wall clock
            "offset": round(time.monotonic() - self._begin, 6),
            "face": face,
            "direction": direction,
            "lane": lane,
            "frame": masked(frame.decode("utf-8", "backslashreplace")),
        }
        if losses:
            entry["rules"] = [{"row": loss.row, "class": loss.kind, "place": loss.place} for loss in losses]
        self._write(encoded(entry) + b"\n")
