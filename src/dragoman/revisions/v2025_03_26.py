"""2025-03-26 after 2024-11-05: Streamable HTTP, batches, sound, and hints about tools."""

from dragoman.revisions.blocks import LacksBlock, audio_as_resource
from dragoman.revisions.step import Doer, Row, Step, params, result

SAMPLING = "sampling/createMessage"

STEP = Step(
    "2025-03-26",
    rows=(
        Row("S1-01", "Several messages may stand in one JSON array.", "LB", "B", Doer.HOP),
        Row(
            "S1-02",
            "Content can be sound; a sampled answer or message that is sound has no other shape to take.",
            "R",
            "LR",
            falling=(
                result("tools/call", member="content", act=LacksBlock("audio", audio_as_resource)),
                result("prompts/get", member="messages", act=LacksBlock("audio", audio_as_resource)),
                params(SAMPLING, member="messages", act=LacksBlock("audio")),
                result(SAMPLING, member="content", act=LacksBlock("audio")),
            ),
        ),
        Row("S1-03", "A tool can say what it does to the world.", "L", "L"),
        Row("S1-04", "Progress can have a text.", "L", "L"),
        Row("S1-05", "A server declares that it completes arguments.", "L", "B", Doer.TABLES),
        Row("S1-06", "Annotations became a type with a name of its own.", "L", "L"),
        Row("S1-07", "HTTP with two endpoints gave way to Streamable HTTP.", "B", "B", Doer.HOP),
        Row("S1-08", "Peers over HTTP may have to be authorized.", "B", "B", Doer.HOP),
        Row("S1-09", "A request that timed out should be cancelled.", "L", "L", Doer.HOP),
    ),
    claims={
        "S1-01": "+JSONRPCBatchRequest +JSONRPCBatchResponse ~JSONRPCMessage",
        "S1-02": (
            "+AudioContent ~CallToolResult.content ~CreateMessageResult.content ~PromptMessage.content "
            "~SamplingMessage.content"
        ),
        "S1-03": "+Tool.annotations +ToolAnnotations",
        "S1-04": "~ProgressNotification.params",
        "S1-05": "+ServerCapabilities.completions",
        "S1-06": (
            "-Annotated +Annotations ~EmbeddedResource.annotations ~ImageContent.annotations "
            "~Resource.annotations ~ResourceTemplate.annotations ~TextContent.annotations"
        ),
    },
)
