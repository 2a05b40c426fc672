"""The notifications that tell of changes, by what changed and the other way round."""

from dragoman.exchange.events import Changed

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CHANGES = {
    "notifications/tools/list_changed": Changed.TOOLS,
    "notifications/prompts/list_changed": Changed.PROMPTS,
    "notifications/resources/list_changed": Changed.RESOURCES,
    "notifications/resources/updated": Changed.RESOURCE,
}
NOTICES = {what: method for method, what in CHANGES.items()}
