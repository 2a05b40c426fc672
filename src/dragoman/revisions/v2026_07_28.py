"""2026-07-28 after 2025-11-25: no handshake, no session, no request from the server.

Every request carries what the client is and can. Questions come back as results, and what changes is told on a stream
that the client asked for. Tool results and output schemas may be of any type.
"""

from msgspec import Raw

from dragoman.revisions import Trait
from dragoman.revisions.blocks import require_structure_objects
from dragoman.revisions.lists import drop_open_output, name_booleans
from dragoman.revisions.losses import (
    SERVER_INFO,
    Drop,
    ForgetMeta,
    Stamp,
    cut_completion,
    drop,
    keep_object,
    mirror,
    require_structure_object,
)
from dragoman.revisions.step import ALWAYS, RENAMED, Doer, Row, Sender, Step, notices, params, requests, result

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
ROOTS = "roots/list"
RESUMABLE = ("tools/call", "prompts/get", "resources/read")
CACHEABLE = (
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/list",
)
TASKABLE = ("tools/call", SAMPLING, ELICITATION)

_no_task = params(*TASKABLE, member="task", act=Drop("F", "removed; tasks are not offered"))

STEP = Step(
    "2026-07-28",
    gains=(
        *requests(Sender.CLIENT, "server/discover", row="S4-01"),
        *requests(Sender.CLIENT, "subscriptions/listen", row="S4-08"),
        *notices(Sender.SERVER, "notifications/subscriptions/acknowledged", row="S4-08"),
        *notices(Sender.SERVER, "notifications/progress", row="S4-25"),
    ),
    drops={
        "initialize": "S4-01",
        "notifications/initialized": "S4-01",
        "ping": "S4-06",
        "logging/setLevel": "S4-07",
        "resources/subscribe": "S4-08",
        "resources/unsubscribe": "S4-08",
        "tasks/cancel": "S4-12",
        "tasks/get": "S4-12",
        "tasks/list": "S4-12",
        "tasks/result": "S4-12",
        "notifications/tasks/status": "S4-12",
        "notifications/roots/list_changed": "S4-13",
        "notifications/elicitation/complete": "S4-14",
    },
    rows=(
        Row("S4-01", "Each request says what a handshake said before.", "B", "B", Doer.HOP),
        Row("S4-02", "The client declares its capabilities in every request.", "B", "B", Doer.HOP),
        Row(
            "S4-03",
            "The server names itself in the `_meta` of its results; the machine that stamps this knows the name.",
            "L",
            "L",
            falling=(result(member="_meta", act=ForgetMeta((SERVER_INFO,))),),
        ),
        Row(
            "S4-04",
            "A result says whether it is the last word.",
            "L",
            "L",
            falling=(result(member="resultType", act=drop),),
            rising=(result(member=ALWAYS, act=Stamp("resultType", Raw(b'"complete"'))),),
        ),
        Row(
            "S4-05",
            "Some results say how long and for whom they may be kept.",
            "L",
            "B",
            falling=(result(member="ttlMs", act=drop), result(member="cacheScope", act=drop)),
            rising=(
                result(*CACHEABLE, member=ALWAYS, act=Stamp("ttlMs", Raw(b"0"))),
                result(*CACHEABLE, member=ALWAYS, act=Stamp("cacheScope", Raw(b'"private"'))),
            ),
        ),
        Row("S4-06", "There is no ping.", "B", "B", Doer.HOP),
        Row("S4-07", "A request says which log messages it wants.", "B", "B", Doer.HOP),
        Row("S4-08", "Subscriptions to resources are asked for with a stream.", "B", "B", Doer.HOP),
        Row("S4-09", "Changes of lists come only on a stream that asked for them.", "B", "BF", Doer.HOP),
        Row(
            "S4-10",
            "A question of the server is a result, and the answer comes with the repeated request.",
            "B",
            "B",
            Doer.HOP,
            falling=(
                params(*RESUMABLE, member="inputResponses", act=drop),
                params(*RESUMABLE, member="requestState", act=drop),
            ),
            rising=(  # of a client that does not know them they are something else, and would be taken for answers
                params(*RESUMABLE, member="inputResponses", act=drop),
                params(*RESUMABLE, member="requestState", act=drop),
            ),
        ),
        Row("S4-11", "A server cannot ask outside a request.", "", "R", Doer.HOP),
        Row("S4-12", "Tasks are no part of the core any more.", "FR", "R", falling=(_no_task,), rising=(_no_task,)),
        Row("S4-13", "The client does not tell that its roots changed.", "L", "L", Doer.TABLES),
        Row(
            "S4-14",
            "Elicitation by URL has no id and no notice of its end.",
            "B",
            "L",
            rising=(params(ELICITATION, member="elicitationId", act=drop),),
        ),
        Row("S4-15", "No error asks for a visit to a web page.", "R", "B", Doer.TABLES),
        Row("S4-16", "A missing resource is an invalid parameter.", "L", "L", Doer.TABLES),
        Row(
            "S4-17",
            "Tool schemas may use all of JSON Schema, booleans for properties included.",
            "L",
            "L",
            falling=(
                result("tools/list", member="tools", act=name_booleans),
                params(SAMPLING, member="tools", act=name_booleans),
            ),
        ),
        Row(
            "S4-18",
            "An output schema may describe a value of any type.",
            "F",
            "L",
            falling=(
                result("tools/list", member="tools", act=drop_open_output, only=Trait.TYPED_STRUCTURE),
                params(SAMPLING, member="tools", act=drop_open_output, only=Trait.TYPED_STRUCTURE),
            ),
        ),
        Row(
            "S4-19",
            "The structured content of a tool result may be any value.",
            "F",
            "L",
            falling=(
                result("tools/call", member="structuredContent", act=mirror),
                result(
                    "tools/call",
                    member="structuredContent",
                    act=require_structure_object,
                    only=Trait.TYPED_STRUCTURE,
                ),
            ),
        ),
        Row(
            "S4-20",
            "So may the structured content that a sampling message tells of.",
            "R",
            "L",
            falling=(
                params(SAMPLING, member="messages", act=require_structure_objects, only=Trait.SAMPLING_TOOLS),
                result(SAMPLING, member="content", act=require_structure_objects, only=Trait.SAMPLING_TOOLS),
            ),
        ),
        Row("S4-21", "HTTP headers repeat parts of the body.", "B", "B", Doer.HOP),
        Row("S4-22", "HTTP has no sessions and no resumption.", "B", "B", Doer.HOP),
        Row("S4-23", "Closing the HTTP response cancels the request.", "L", "B", Doer.HOP),
        Row("S4-24", "A server cancels nothing but a listening stream.", "L", "B", Doer.HOP),
        Row("S4-25", "Progress comes from servers only.", "F", "F", Doer.HOP),
        Row("S4-26", "Peers declare extensions.", "L", "L", Doer.TABLES),
        Row("S4-27", "Three errors are about the new way to talk.", "LB", "B", Doer.TABLES),
        Row("S4-28", "Keys of distributed traces have fixed names.", "L", "L", Doer.HOP),
        Row("S4-29", "A tool no longer says whether it can be a task; one that says so is not cut for that.", "L", "L"),
        Row("S4-30", "Lists do not depend on the connection.", "L", "L"),
        Row("S4-31", "Every request has params.", "B", "L", Doer.HOP),
        Row("S4-32", "References in schemas are not followed over the network.", "L", "L"),
        Row(
            "S4-33",
            "Questions and answers inside results have no `_meta` of the hop.",
            "L",
            "L",
            falling=(params(ELICITATION, ROOTS, SAMPLING, member="_meta", act=keep_object),),
            rising=(
                params(
                    ELICITATION,
                    ROOTS,
                    SAMPLING,
                    member="_meta",
                    act=ForgetMeta(("progressToken", "io.modelcontextprotocol/related-task")),
                ),
                result(ELICITATION, ROOTS, member="_meta", act=ForgetMeta(())),
            ),
        ),
        Row(
            "S4-34",
            "The limit of completion values is checked.",
            "L",
            "F",
            rising=(result("completion/complete", member="completion", act=cut_completion),),
        ),
    ),
    claims={
        "H-06": (
            "~CancelledNotificationParams._meta ~LoggingMessageNotificationParams._meta +NotificationMetaObject "
            "~NotificationParams._meta ~ProgressNotificationParams._meta ~ResourceUpdatedNotificationParams._meta"
        ),
        "S2-07 H-05": (
            "~AudioContent._meta ~BlobResourceContents._meta ~CallToolResult._meta ~CompleteResult._meta "
            "~CreateMessageResult._meta ~EmbeddedResource._meta ~GetPromptResult._meta ~ImageContent._meta "
            "~ListPromptsResult._meta ~ListResourceTemplatesResult._meta ~ListResourcesResult._meta "
            "~ListToolsResult._meta +MetaObject ~PaginatedResult._meta ~Prompt._meta ~ReadResourceResult._meta "
            "~Resource._meta ~ResourceContents._meta ~ResourceLink._meta ~ResourceTemplate._meta ~Result._meta "
            "~Root._meta ~SamplingMessage._meta ~TextContent._meta ~TextResourceContents._meta ~Tool._meta "
            "~ToolResultContent._meta ~ToolUseContent._meta"
        ),
        "S3-19": "~CancelledNotificationParams.requestId",
        "S4-01": (
            "+DiscoverRequest +DiscoverResult -InitializeRequest -InitializeRequestParams -InitializeResult "
            "-InitializedNotification"
        ),
        "S4-01 S4-06 S4-07 S4-08 S4-09 S4-10 S4-11 S4-12 S4-13 S4-14": (
            "~ClientNotification ~ClientRequest ~ClientResult ~ServerNotification -ServerRequest ~ServerResult"
        ),
        "S4-01 S4-31 H-04": (
            "~CallToolRequestParams._meta ~CompleteRequestParams._meta ~GetPromptRequestParams._meta "
            "~PaginatedRequestParams._meta ~ReadResourceRequestParams._meta +RequestMetaObject "
            "~RequestParams._meta ~ResourceRequestParams._meta"
        ),
        "S4-03 H-05": "+ResultMetaObject",
        "S4-04": (
            "+CallToolResult.resultType +CompleteResult.resultType +GetPromptResult.resultType "
            "+ListPromptsResult.resultType +ListResourceTemplatesResult.resultType "
            "+ListResourcesResult.resultType +ListToolsResult.resultType +PaginatedResult.resultType "
            "+ReadResourceResult.resultType +Result.resultType +ResultType"
        ),
        "S4-05": (
            "+CacheableResult +ListPromptsResult.cacheScope +ListPromptsResult.ttlMs "
            "+ListResourceTemplatesResult.cacheScope +ListResourceTemplatesResult.ttlMs "
            "+ListResourcesResult.cacheScope +ListResourcesResult.ttlMs +ListToolsResult.cacheScope "
            "+ListToolsResult.ttlMs +ReadResourceResult.cacheScope +ReadResourceResult.ttlMs"
        ),
        "S4-06": "-PingRequest",
        "S4-07": "-SetLevelRequest -SetLevelRequestParams",
        "S4-08 S4-09": (
            "-SubscribeRequest -SubscribeRequestParams +SubscriptionFilter +SubscriptionsAcknowledgedNotification "
            "+SubscriptionsAcknowledgedNotificationParams +SubscriptionsListenRequest "
            "+SubscriptionsListenRequestParams +SubscriptionsListenResult +SubscriptionsListenResultMetaObject "
            "-UnsubscribeRequest -UnsubscribeRequestParams"
        ),
        "S4-10": (
            "+CallToolRequestParams.inputResponses +CallToolRequestParams.requestState -CreateMessageRequest.id "
            "-CreateMessageRequest.jsonrpc -ElicitRequest.id -ElicitRequest.jsonrpc ~ElicitRequestParams "
            "+GetPromptRequestParams.inputResponses +GetPromptRequestParams.requestState +InputRequest "
            "+InputRequests +InputRequiredResult +InputResponse +InputResponseRequestParams +InputResponses "
            "-ListRootsRequest.id -ListRootsRequest.jsonrpc +ReadResourceRequestParams.inputResponses "
            "+ReadResourceRequestParams.requestState"
        ),
        "S4-12": (
            "-CallToolRequestParams.task -CancelTaskRequest -CancelTaskResult -ClientCapabilities.tasks "
            "-CreateMessageRequestParams.task -CreateTaskResult -ElicitRequestFormParams.task "
            "-ElicitRequestURLParams.task -GetTaskPayloadRequest -GetTaskPayloadResult -GetTaskRequest "
            "-GetTaskResult -ListTasksRequest -ListTasksResult -RelatedTaskMetadata -ServerCapabilities.tasks "
            "-Task -TaskAugmentedRequestParams -TaskMetadata -TaskStatus -TaskStatusNotification "
            "-TaskStatusNotificationParams"
        ),
        "S4-13": "~ClientCapabilities.roots -RootsListChangedNotification",
        "S4-14": "-ElicitRequestURLParams.elicitationId -ElicitationCompleteNotification",
        "S4-15": "-URLElicitationRequiredError",
        "S4-17": "~Tool.inputSchema",
        "S4-18": "~Tool.outputSchema",
        "S4-19 S4-20": "~CallToolResult.structuredContent ~ToolResultContent.structuredContent",
        "S4-26": "+ClientCapabilities.extensions +ServerCapabilities.extensions",
        "S4-27": "+HeaderMismatchError +MissingRequiredClientCapabilityError +UnsupportedProtocolVersionError",
        "S4-29": "-Tool.execution -ToolExecution",
        "S4-31": (
            "~ListPromptsRequest.params ~ListResourceTemplatesRequest.params ~ListResourcesRequest.params "
            "~ListToolsRequest.params ~PaginatedRequest.params"
        ),
        "S4-33": (
            "-CreateMessageRequestParams._meta -ElicitRequestFormParams._meta -ElicitRequestURLParams._meta "
            "-ElicitResult._meta ~ListRootsRequest.params -ListRootsResult._meta"
        ),
        "S4-34": "~CompleteResult.completion",
        RENAMED: (
            "+JSONArray +JSONObject +JSONValue +CallToolResultResponse +CompleteResultResponse "
            "+DiscoverResultResponse +GetPromptResultResponse +InternalError +InvalidParamsError "
            "+InvalidRequestError +ListPromptsResultResponse +ListResourceTemplatesResultResponse "
            "+ListResourcesResultResponse +ListToolsResultResponse +MethodNotFoundError +ParseError "
            "+ReadResourceResultResponse +SubscriptionsListenResultResponse ~ClientCapabilities.elicitation "
            "~ClientCapabilities.experimental ~ClientCapabilities.sampling ~CreateMessageRequestParams.metadata "
            "~ServerCapabilities.completions ~ServerCapabilities.experimental ~ServerCapabilities.logging"
        ),
    },
)
