"""2024-11-05, the first revision: where every other one starts."""

from dragoman.revisions.step import Sender, Step, notices, requests

STEP = Step(
    "2024-11-05",
    rows=(),
    gains=(
        *requests(
            Sender.CLIENT,
            "completion/complete",
            "initialize",
            "logging/setLevel",
            "prompts/get",
            "prompts/list",
            "resources/list",
            "resources/read",
            "resources/subscribe",
            "resources/templates/list",
            "resources/unsubscribe",
            "tools/call",
            "tools/list",
        ),
        *requests(Sender.SERVER, "roots/list", "sampling/createMessage"),
        *requests(Sender.BOTH, "ping"),
        *notices(Sender.CLIENT, "notifications/initialized", "notifications/roots/list_changed"),
        *notices(
            Sender.SERVER,
            "notifications/message",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ),
        *notices(Sender.BOTH, "notifications/cancelled", "notifications/progress"),
    ),
)
