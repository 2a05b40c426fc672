"""2025-11-25 after 2025-06-18: tasks, elicitation by URL, sampling with tools, icons."""

from dragoman.revisions.blocks import LacksBlock, bare_content
from dragoman.revisions.forms import name_choices, refuse_list_answers, refuse_lists, require_form
from dragoman.revisions.losses import Drop, Lacks
from dragoman.revisions.step import RENAMED, Doer, Row, Sender, Step, notices, params, requests, result

SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
TASKABLE = ("tools/call", SAMPLING, ELICITATION)

_no_task = params(*TASKABLE, member="task", act=Drop("F", "removed; who does not offer tasks ignores it"))

STEP = Step(
    "2025-11-25",
    gains=(
        *notices(Sender.SERVER, "notifications/elicitation/complete", row="S3-04"),
        *requests(Sender.BOTH, "tasks/cancel", "tasks/get", "tasks/list", "tasks/result", row="S3-14"),
        *notices(Sender.BOTH, "notifications/tasks/status", row="S3-14"),
    ),
    rows=(
        Row("S3-01", "A client says which modes of elicitation it can show.", "L", "LR", Doer.TABLES),
        Row(
            "S3-02",
            "A server can send the user to a web page.",
            "R",
            "L",
            falling=(params(ELICITATION, member="mode", act=require_form),),
        ),
        Row("S3-03", "A call can fail until the user has been to a web page.", "R", "L", Doer.TABLES),
        Row("S3-04", "A server tells that the user is done with a web page.", "F", "L", Doer.TABLES),
        Row(
            "S3-05",
            "A form says that it is one, and which dialect its schema has.",
            "L",
            "L",
            falling=(params(ELICITATION, member="mode", act=Drop("L", "removed; without modes there are only forms")),),
        ),
        Row(
            "S3-06",
            "A choice of titled values is one array of pairs.",
            "L",
            "L",
            falling=(params(ELICITATION, member="requestedSchema", act=name_choices),),
        ),
        Row(
            "S3-07",
            "A form can ask for several values at once.",
            "R",
            "L",
            falling=(params(ELICITATION, member="requestedSchema", act=refuse_lists),),
        ),
        Row("S3-08", "Texts, numbers and choices of a form can have a default.", "L", "L"),
        Row(
            "S3-09",
            "The answer to a form can hold a list.",
            "L",
            "R",
            falling=(result(ELICITATION, member="content", act=refuse_list_answers),),
        ),
        Row(
            "S3-10",
            "The model that is asked can be given tools.",
            "R",
            "L",
            falling=(
                params(SAMPLING, member="tools", act=Lacks("sampling with tools does not exist there")),
                params(SAMPLING, member="toolChoice", act=Lacks("sampling with tools does not exist there")),
                params(SAMPLING, member="messages", act=LacksBlock("tool_use")),
                params(SAMPLING, member="messages", act=LacksBlock("tool_result")),
                result(SAMPLING, member="content", act=LacksBlock("tool_use")),
                result(SAMPLING, member="content", act=LacksBlock("tool_result")),
            ),
        ),
        Row(
            "S3-11",
            "A sampling message can have several blocks.",
            "LR",
            "LR",
            falling=(
                params(SAMPLING, member="messages", act=bare_content),
                result(SAMPLING, member="content", act=bare_content),
            ),
        ),
        Row("S3-12", "A sampling message can have `_meta`.", "L", "L"),
        Row("S3-13", "A client says whether it gives context of servers to the model.", "L", "L", Doer.TABLES),
        Row(
            "S3-14",
            "A request can become a task. An older peer that writes `task` means nothing by it.",
            "R",
            "FR",
            falling=(_no_task,),
            rising=(_no_task,),
        ),
        Row("S3-15", "A tool says whether it runs as a task.", "LR", "L"),
        Row("S3-16", "Things and peers can have icons, a peer a description and a web site.", "L", "L"),
        Row("S3-17", "Schemas are of dialect 2020-12 unless they say otherwise.", "L", "L"),
        Row("S3-18", "An error may have no id.", "L", "L", Doer.HOP),
        Row("S3-19", "A cancellation may have no request id.", "L", "L", Doer.HOP),
        Row("S3-20", "Bad arguments are told in a tool result instead of an error.", "L", "L"),
        Row(
            "S3-21", "Event streams begin with an event to resume from, and a bad origin gets 403.", "B", "B", Doer.HOP
        ),
        Row(
            "S3-22", "Clients find and introduce themselves to authorization servers in more ways.", "B", "B", Doer.HOP
        ),
        Row("S3-23", "Tool names have a recommended alphabet.", "L", "L"),
    ),
    claims={
        "S3-01": "~ClientCapabilities.elicitation",
        "S3-02": "+ElicitRequestURLParams",
        "S3-02 S3-04 S3-14": (
            "~ClientNotification ~ClientRequest ~ClientResult ~ServerNotification ~ServerRequest ~ServerResult"
        ),
        "S3-02 S3-05": "+ElicitRequestFormParams +ElicitRequestParams",
        "S3-03": "+URLElicitationRequiredError",
        "S3-04": "+ElicitationCompleteNotification",
        "S3-06 S3-07": (
            "~EnumSchema +LegacyTitledEnumSchema ~PrimitiveSchemaDefinition +SingleSelectEnumSchema "
            "+TitledSingleSelectEnumSchema +UntitledSingleSelectEnumSchema"
        ),
        "S3-07": "+MultiSelectEnumSchema +TitledMultiSelectEnumSchema +UntitledMultiSelectEnumSchema",
        "S3-08": "+NumberSchema.default +StringSchema.default",
        "S3-09": "~ElicitResult.content",
        "S3-10": (
            "~CreateMessageRequest.params +CreateMessageRequestParams +SamplingMessageContentBlock +ToolChoice "
            "+ToolResultContent +ToolUseContent"
        ),
        "S3-10 S3-11": "~CreateMessageResult.content ~SamplingMessage.content",
        "S3-10 S3-13": "~ClientCapabilities.sampling",
        "S3-12": "+SamplingMessage._meta",
        "S3-14": (
            "+CancelTaskRequest +CancelTaskResult +ClientCapabilities.tasks +CreateTaskResult "
            "+GetTaskPayloadRequest +GetTaskPayloadResult +GetTaskRequest +GetTaskResult +ListTasksRequest "
            "+ListTasksResult +RelatedTaskMetadata +ServerCapabilities.tasks +Task +TaskAugmentedRequestParams "
            "+TaskMetadata +TaskStatus +TaskStatusNotification +TaskStatusNotificationParams"
        ),
        "S3-15": "+Tool.execution +ToolExecution",
        "S3-16": (
            "+Icon +Icons +Implementation.description +Implementation.icons +Implementation.websiteUrl "
            "+Prompt.icons +Resource.icons +ResourceLink.icons +ResourceTemplate.icons +Tool.icons"
        ),
        "S3-17": "~Tool.inputSchema ~Tool.outputSchema",
        "S3-18": "-JSONRPCError +JSONRPCErrorResponse ~JSONRPCMessage ~JSONRPCResponse +JSONRPCResultResponse",
        "S3-19": "~CancelledNotification.params +CancelledNotification.jsonrpc +CancelledNotificationParams",
        RENAMED: (
            "~CallToolRequest.params +CallToolRequest.id +CallToolRequest.jsonrpc +CallToolRequestParams "
            "~CompleteRequest.params +CompleteRequest.id +CompleteRequest.jsonrpc +CompleteRequestParams "
            "+CreateMessageRequest.id +CreateMessageRequest.jsonrpc ~ElicitRequest.params +ElicitRequest.id "
            "+ElicitRequest.jsonrpc +Error ~GetPromptRequest.params +GetPromptRequest.id "
            "+GetPromptRequest.jsonrpc +GetPromptRequestParams ~InitializeRequest.params +InitializeRequest.id "
            "+InitializeRequest.jsonrpc +InitializeRequestParams ~InitializedNotification.params "
            "+InitializedNotification.jsonrpc ~JSONRPCNotification.params ~JSONRPCRequest.params "
            "~ListPromptsRequest.params +ListPromptsRequest.id +ListPromptsRequest.jsonrpc "
            "~ListResourceTemplatesRequest.params +ListResourceTemplatesRequest.id "
            "+ListResourceTemplatesRequest.jsonrpc ~ListResourcesRequest.params +ListResourcesRequest.id "
            "+ListResourcesRequest.jsonrpc ~ListRootsRequest.params +ListRootsRequest.id "
            "+ListRootsRequest.jsonrpc ~ListToolsRequest.params +ListToolsRequest.id +ListToolsRequest.jsonrpc "
            "~LoggingMessageNotification.params +LoggingMessageNotification.jsonrpc "
            "+LoggingMessageNotificationParams ~Notification.params +NotificationParams ~PaginatedRequest.params "
            "+PaginatedRequest.id +PaginatedRequest.jsonrpc +PaginatedRequestParams ~PingRequest.params "
            "+PingRequest.id +PingRequest.jsonrpc ~ProgressNotification.params +ProgressNotification.jsonrpc "
            "+ProgressNotificationParams ~PromptListChangedNotification.params "
            "+PromptListChangedNotification.jsonrpc ~ReadResourceRequest.params +ReadResourceRequest.id "
            "+ReadResourceRequest.jsonrpc +ReadResourceRequestParams ~Request.params +RequestParams "
            "~ResourceListChangedNotification.params +ResourceListChangedNotification.jsonrpc "
            "+ResourceRequestParams ~ResourceUpdatedNotification.params +ResourceUpdatedNotification.jsonrpc "
            "+ResourceUpdatedNotificationParams ~RootsListChangedNotification.params "
            "+RootsListChangedNotification.jsonrpc ~SetLevelRequest.params +SetLevelRequest.id "
            "+SetLevelRequest.jsonrpc +SetLevelRequestParams ~SubscribeRequest.params +SubscribeRequest.id "
            "+SubscribeRequest.jsonrpc +SubscribeRequestParams ~ToolListChangedNotification.params "
            "+ToolListChangedNotification.jsonrpc ~UnsubscribeRequest.params +UnsubscribeRequest.id "
            "+UnsubscribeRequest.jsonrpc +UnsubscribeRequestParams"
        ),
    },
)
