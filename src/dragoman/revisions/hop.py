"""What every pair of different revisions has in common: section H of the rows.

Most of it is kept by the machines and is here so that the index of rows is whole. Two repairs are made on every result
that changes revision, because every revision's type asks for them.
"""

from dragoman.revisions.losses import ensure_content, keep_string
from dragoman.revisions.step import ALWAYS, Doer, Row, result

LISTS = ("prompts/list", "resources/list", "resources/templates/list", "tools/list")

_cursor = result(*LISTS, member="nextCursor", act=keep_string)
_content = result("tools/call", member=ALWAYS, act=ensure_content)

HOP = (
    Row("H-01", "Each face has its own request ids.", "L", "L", Doer.HOP),
    Row("H-02", "Each face has its own progress tokens.", "L", "L", Doer.HOP),
    Row("H-03", "Progress only grows, and not too fast.", "L", "L", Doer.HOP),
    Row("H-04", "The `_meta` of a request is made anew from the keys that may pass.", "L", "L", Doer.HOP),
    Row("H-05", "The `_meta` of results and items stays, but for the server's name.", "L", "L"),
    Row("H-06", "Events and log messages lose the `_meta` of their stream.", "L", "L", Doer.HOP),
    Row(
        "H-07",
        "All other members stay as they came; a tool result has at least an empty content.",
        "L",
        "L",
        falling=(_content,),
        rising=(_content,),
    ),
    Row("H-08", "A cursor is any string, and nothing else.", "L", "L", falling=(_cursor,), rising=(_cursor,)),
    Row("H-09", "Errors stay as they came, but for codes that a revision does not have.", "L", "L", Doer.TABLES),
    Row("H-10", "Only known methods are forwarded.", "", "", Doer.TABLES),
    Row("H-11", "What is no message is answered with an error.", "", "", Doer.HOP),
    Row("H-12", "Every wait has an end.", "", "", Doer.HOP),
    Row("H-13", "A cancellation reaches the other peer.", "L", "L", Doer.HOP),
    Row("H-14", "Between two faces of one revision nothing is changed.", "L", "L"),
    Row("H-15", "What a server did not declare is not asked of it where the revision forbids that.", "", "", Doer.HOP),
    Row("H-16", "Counts and sizes have limits.", "", "", Doer.HOP),
)
