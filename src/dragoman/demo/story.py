"""The demo: an older client, this bridge, and a newer server talk, and both ends of the conversation are shown.

Three real processes take part: the client is this one, it starts the bridge as any editor would, and the bridge starts
the server. What is printed is what the bridge recorded with `--log`.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from dragoman.demo.client import Client, Json, Unexpected
from dragoman.demo.page import BAD, COLUMN, GOOD, Page, Style, column_of
from dragoman.wire.members import value_of

CLIENT, SERVER = "2025-11-25", "2026-07-28"
LIST_CHANGED = "notifications/tools/list_changed"
BOOKED = "A table for 2 at the window, on Friday."

HELLO: Json = {
    "protocolVersion": CLIENT,
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "older-client", "version": "1.0"},
}
EVENING: Json = {"action": "accept", "content": {"day": "Friday", "guests": 2}}
SEAT: Json = {"action": "accept", "content": {"seat": "window"}}


def main(write: Callable[[str], None]) -> int:
    """Play the story; gives 0, or 1 when it did not go as it should."""
    page = Page(write, style())
    began = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log, errors = Path(folder, "frames.jsonl"), Path(folder, "errors.txt")
        with errors.open("wb") as stderr:
            story = Story(page, log)
            client = Client(command(log), story.answer, stderr)
            try:
                story.play(client)
            except Unexpected as unexpected:
                client.close()
                story.show()
                page.say("")
                page.say(f"The demo failed. {unexpected}", BAD)
                for line in errors.read_text("utf-8", "replace").splitlines()[-10:]:
                    page.say(f"    {line}")
                return 1
            finally:
                client.close()
    left, right, seconds = page.counts["client"], page.counts["server"], monotonic() - began
    page.say("")
    page.say(f"Done: {left} messages of {CLIENT} on the left, {right} of {SERVER} on the right, {seconds:.1f} s.", GOOD)
    return 0


def command(log: Path) -> list[str]:
    """The bridge in front of the demo's server, as a client would be configured to start it."""
    return [sys.executable, "-m", "dragoman", f"--log={log}", "--", sys.executable, "-m", "dragoman.demo.server"]


def style() -> Style:
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    is_terminal = sys.stdout.isatty()
    column = column_of(shutil.get_terminal_size().columns) if is_terminal else COLUMN
    return Style(is_terminal and "NO_COLOR" not in os.environ, encoding == "utf8", column)


class Story:
    """The scenes, and how far the frame log has been shown."""

    def __init__(self, page: Page, log: Path) -> None:
        self._page = page
        self._log = log
        self._shown = 0
        self._asked: list[str] = []

    def play(self, client: Client) -> None:
        """
        Raises:
            Unexpected: something did not happen as it should.
        """
        self._page.head(f"The client speaks {CLIENT}", f"The server speaks {SERVER}")

        self._page.scene("A handshake. The server has none, so the bridge asks it what it is.")
        welcome = client.request("initialize", HELLO)
        _expect(welcome.get("protocolVersion") == CLIENT, f"the handshake ends in revision {CLIENT}")
        self.show()

        self._page.scene("The client waits for changes. The server tells them only to who listens, so the bridge does.")
        client.notify("notifications/initialized")
        client.hear(LIST_CHANGED)
        self.show()

        self._page.scene("A list. What only the newer revision knows is taken out.")
        names = [tool.get("name") for tool in client.request("tools/list", {}).get("tools", [])]
        _expect("book_table" in names, "book_table is in the list")
        self.show()

        self._page.scene("A call. Each request tells the server anew who asks.")
        said = client.request("tools/call", {"name": "greet", "arguments": {"guest": "Ada"}})
        _expect(_text(said) == "Welcome, Ada!", "the guest is greeted")
        self.show()

        self._page.scene(
            "A call that asks back, twice. Results that want input become questions, and answers new calls."
        )
        booked = client.request("tools/call", {"name": "book_table", "arguments": {}})
        _expect(_text(booked) == BOOKED and len(self._asked) == 2, "a table is booked after two questions")
        self.show()

        self._page.scene("Progress, under the client's own token.")
        token = {"progressToken": "plates"}
        client.request("tools/call", {"name": "count", "arguments": {"plates": 2}, "_meta": token})
        counted = [client.hear("notifications/progress") for _ in range(2)]
        _expect([step.get("progress") for step in counted] == [1, 2], "progress comes for each plate")
        _expect(all(step.get("progressToken") == "plates" for step in counted), "progress has the client's token")
        self.show()

        self._page.scene("A change. It reaches the client before the result of the call that made it.")
        client.request("tools/call", {"name": "add_dish", "arguments": {"dish": "baklava", "made_of": "nuts, honey"}})
        client.hear(LIST_CHANGED)
        self.show()

        _expect(client.leave() == 0, "the bridge ends well when the client leaves")

    def answer(self, method: str, params: Json) -> Json:
        """What the user of the client says to a question."""
        self._asked.append(method)
        return SEAT if "seat" in params.get("requestedSchema", {}).get("properties", {}) else EVENING

    def show(self) -> None:
        """Print what came into the frame log since the last time."""
        whole = self._log.read_bytes() if self._log.exists() else b""
        end = whole.rfind(b"\n") + 1
        for line in whole[self._shown : end].splitlines():
            self._page.frame(value_of(line))
        self._shown = end


def _expect(happened: bool, what: str) -> None:
    if not happened:
        raise Unexpected(f"It was expected that {what}.")


def _text(result: Json) -> str:
    return " ".join(block.get("text", "") for block in result.get("content", []))
