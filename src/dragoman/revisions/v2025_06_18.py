"""2025-06-18 after 2025-03-26: structured results, links to resources, forms; batches went."""

from dragoman.revisions.blocks import LacksBlock, link_as_text
from dragoman.revisions.losses import mirror, strip_structure
from dragoman.revisions.step import Doer, Row, Sender, Step, requests, result

STEP = Step(
    "2025-06-18",
    gains=requests(Sender.SERVER, "elicitation/create", row="S2-05"),
    rows=(
        Row("S2-01", "A JSON array of messages is no message any more.", "B", "LB", Doer.HOP),
        Row(
            "S2-02",
            "A tool result can hold its value as JSON beside its text.",
            "LF",
            "L",
            falling=(
                result("tools/call", member="structuredContent", act=mirror),
                result("tools/call", member="structuredContent", act=strip_structure),
            ),
        ),
        Row("S2-03", "A tool can promise a schema of its result.", "LF", "L"),
        Row(
            "S2-04",
            "A result or a prompt can point to a resource without its contents.",
            "R",
            "L",
            falling=(
                result("tools/call", member="content", act=LacksBlock("resource_link", link_as_text)),
                result("prompts/get", member="messages", act=LacksBlock("resource_link", link_as_text)),
            ),
        ),
        Row("S2-05", "A server can ask the user to fill in a form.", "R", "L", Doer.TABLES),
        Row("S2-06", "What has a name can have a title for people.", "LF", "L"),
        Row("S2-07", "Items, contents and roots can have `_meta`.", "L", "L"),
        Row("S2-08", "Keys of `_meta` have a grammar, and some prefixes are reserved.", "L", "L", Doer.HOP),
        Row("S2-09", "Annotations can tell when something last changed.", "L", "L"),
        Row("S2-10", "A completion can know the arguments that were chosen before.", "L", "L"),
        Row("S2-11", "A reference to a resource template got a name that says so.", "L", "L"),
        Row("S2-12", "HTTP requests name the revision in a header.", "B", "B", Doer.HOP),
        Row("S2-13", "Authorization starts at the metadata of the protected resource.", "B", "B", Doer.HOP),
        Row("S2-14", "What was not negotiated must not be used.", "L", "L", Doer.HOP),
    ),
    claims={
        "S2-01": "-JSONRPCBatchRequest -JSONRPCBatchResponse ~JSONRPCMessage",
        "S2-02": "+CallToolResult.structuredContent",
        "S2-03": "+Tool.outputSchema",
        "S2-04": "~CallToolResult.content +ContentBlock ~PromptMessage.content +ResourceLink",
        "S2-05": (
            "+BooleanSchema +ClientCapabilities.elicitation ~ClientResult +ElicitRequest +ElicitResult "
            "+EnumSchema +NumberSchema +PrimitiveSchemaDefinition ~ServerRequest +StringSchema"
        ),
        "S2-06": (
            "+BaseMetadata +Implementation.title +Prompt.title +PromptArgument.title +PromptReference.title "
            "+Resource.title +ResourceTemplate.title +Tool.title"
        ),
        "S2-07": (
            "+AudioContent._meta +BlobResourceContents._meta +EmbeddedResource._meta +ImageContent._meta "
            "+Prompt._meta +Resource._meta +ResourceContents._meta +ResourceTemplate._meta +Root._meta "
            "+TextContent._meta +TextResourceContents._meta +Tool._meta"
        ),
        "S2-08": "~JSONRPCRequest.params ~ListRootsRequest.params ~PingRequest.params ~Request.params",
        "S2-09": "+Annotations.lastModified",
        "S2-10": "~CompleteRequest.params",
        "S2-11": "-ResourceReference +ResourceTemplateReference",
    },
)
