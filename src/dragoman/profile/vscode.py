"""The profile for the editor Visual Studio Code and the agents that run in it.

The reasons: its chat stops at an array schema without `items`; one SDK that it uses refuses a whole tool list for one
input or output schema that is no object schema; its apps read structured content of every type.
"""

from dragoman.profile import Profile, Quirks
from dragoman.profile.passthrough import MetaPassthrough
from dragoman.revisions import LATEST_LEGACY

PROFILE = Profile(
    name="dragoman-vscode",
    reply_revision=LATEST_LEGACY,
    refuses_discover=True,
    passthrough=MetaPassthrough(keys=frozenset({"traceparent", "tracestate"}), prefixes=("vscode.",)),
    quirks=Quirks(normalize_array_items=True, drop_non_object_output_schema=True, repair_input_schemas=True),
    keep_structure=True,
    progress_rate=50,
)
