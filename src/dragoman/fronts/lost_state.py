"""What a client is told when the server no longer accepts the state that it asked us to keep (STATE)."""

from msgspec import Raw

from dragoman.wire import frame as wire
from dragoman.wire.members import closed, encoded, object_in, raw, text_of


def lost_state(id: bytes, method: str, error: Raw) -> bytes:
    """The whole response: a tool result that says so, or the server's error with that text as its message."""
    members = object_in(error) or {}
    again = "Run the tool again." if method == "tools/call" else "Send the request again."
    text = (
        "The upstream server did not accept the state that it had saved for this request: either the answer came too "
        f"late, or the server was restarted meanwhile. It says: {text_of(members.get('message')) or 'nothing'} {again}"
    )
    if method == "tools/call":
        return wire.reply(id, encoded({"content": [{"type": "text", "text": text}], "isError": True}))
    return wire.failure(id, closed({**members, "message": raw(text)}))
