"""Validation of frames against the official schema of the revision that receives them (QA-01, QA-02)."""

import json
from functools import cache
from importlib import resources
from typing import Any

import jsonschema_rs

RESULTS = {
    "initialize": "InitializeResult",
    "server/discover": "DiscoverResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "completion/complete": "CompleteResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "elicitation/create": "ElicitResult",
    "sampling/createMessage": "CreateMessageResult",
    "roots/list": "ListRootsResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/get": "GetTaskResult",
    "tasks/list": "ListTasksResult",
    "tasks/result": "GetTaskPayloadResult",
}
TASKABLE = frozenset({"tools/call", "sampling/createMessage", "elicitation/create"})
REQUESTS = {
    "initialize": "InitializeRequest",
    "logging/setLevel": "SetLevelRequest",
    "resources/subscribe": "SubscribeRequest",
    "resources/unsubscribe": "UnsubscribeRequest",
    "server/discover": "DiscoverRequest",
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
    "prompts/list": "ListPromptsRequest",
    "prompts/get": "GetPromptRequest",
    "resources/list": "ListResourcesRequest",
    "resources/templates/list": "ListResourceTemplatesRequest",
    "resources/read": "ReadResourceRequest",
    "completion/complete": "CompleteRequest",
    "subscriptions/listen": "SubscriptionsListenRequest",
    "elicitation/create": "ElicitRequest",
    "sampling/createMessage": "CreateMessageRequest",
    "roots/list": "ListRootsRequest",
    "tasks/cancel": "CancelTaskRequest",
    "tasks/get": "GetTaskRequest",
    "tasks/list": "ListTasksRequest",
    "tasks/result": "GetTaskPayloadRequest",
}
NOTICES = {
    "notifications/initialized": "InitializedNotification",
    "notifications/roots/list_changed": "RootsListChangedNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/cancelled": "CancelledNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/elicitation/complete": "ElicitationCompleteNotification",
    "notifications/tasks/status": "TaskStatusNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}


@cache
def schema(revision: str) -> dict[str, Any]:
    text = resources.files("dragoman.schemas").joinpath(f"{revision}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def validator(revision: str, name: str) -> Any:
    whole = schema(revision)
    kind = "$defs" if "$defs" in whole else "definitions"
    assert name in whole[kind], f"{revision} has no {name}"
    return jsonschema_rs.validator_for({"$ref": f"#/{kind}/{name}", kind: whole[kind]})


def faults_of(revision: str, name: str, value: Any) -> list[str]:
    return [f"{error.instance_path}: {error.message}" for error in validator(revision, name).iter_errors(value)]


def check(revision: str, name: str, value: Any) -> None:
    faults = faults_of(revision, name, value)
    assert not faults, f"not valid as {name} of {revision}: {faults[:3]} in {json.dumps(value)[:600]}"


def check_frame(revision: str, frame: dict[str, Any], answers: str | None = None) -> None:
    """Check one frame for a receiver of that revision; `answers` is the method that a response answers.

    Raises:
        AssertionError: the frame is not valid there.
    """
    assert frame.get("jsonrpc") == "2.0"
    method = frame.get("method")
    if method is not None and "id" in frame:
        check(revision, "JSONRPCRequest", frame)
        check(revision, REQUESTS[method], frame)
    elif method is not None:
        check(revision, "JSONRPCNotification", frame)
        check(revision, NOTICES[method], frame)
    elif "error" in frame:
        error = frame["error"]
        assert isinstance(error["code"], int)
        assert isinstance(error["message"], str)
        if frame["id"] is not None:
            kind = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in json.dumps(schema(revision)) else "JSONRPCError"
            check(revision, kind, frame)
    elif frame["result"].get("resultType") == "input_required":
        check(revision, "InputRequiredResult", frame["result"])
    else:
        assert answers is not None, f"a result for no known request: {frame}"
        is_task = "task" in frame["result"] and answers in TASKABLE
        check(revision, "CreateTaskResult" if is_task else RESULTS[answers], frame["result"])
