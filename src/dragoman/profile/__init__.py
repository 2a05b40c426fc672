"""A profile: everything in which one product's bridge differs from another's, as one frozen value.

The person who starts the bridge chooses it; nothing in the bridge picks or changes one because of what a client says
of itself (PROF-02, PROF-03). The rules of translation are the same under every profile: a profile only says which of
the optional ones apply, and how the bridge names things.

`neutral` repairs nothing and is the default, `vscode` knows that editor (decisions C4); each is a module of data.
`from_toml` in `dragoman.profile.own` reads one that a user wrote.
"""

from dataclasses import dataclass, field, replace

from dragoman.profile.masks import ClientMask, ServerMask
from dragoman.profile.passthrough import MetaPassthrough
from dragoman.revisions import Revision
from dragoman.revisions.plan import Policy
from dragoman.wire.members import Members

SUMMARIES = {
    "neutral": "translates and repairs nothing; the default",
    "handshake": "for hosts that lose something without a handshake: refuses server/discover",
    "vscode": "for Visual Studio Code and its agents: repairs tool schemas, and always answers with one revision",
}
"""The profiles that ship, each with what it is for."""

NAMES = tuple(SUMMARIES)


@dataclass(frozen=True, slots=True)
class Quirks:
    """Repairs that some client needs and no revision asks for."""

    normalize_array_items: bool = False  # PROF-08
    drop_non_object_output_schema: bool = False  # PROF-09
    strict_legacy_results: bool = False  # PROF-10
    keep_error_codes: bool = False  # decisions T29: codes that only a revision without a handshake has
    repair_input_schemas: bool = False  # some clients drop all tools for one whose input schema is no object schema
    restore_resource_not_found: bool = False  # S4-16: the code that handshake revisions have for a missing resource


@dataclass(frozen=True, slots=True)
class Profile:
    """`reply_revision` is the revision of every `initialize` result; `None` stands for the one that was asked for.

    `refuses_discover` has a client that tries `server/discover` go on with a handshake (DISC-03).
    `keep_structure` hands a `structuredContent` of any type to clients of all revisions (decisions T3).
    `progress_rate` is the number of progress notifications that one request may get in a second; `None` is no limit.
    `merge_pages` asks a server for all pages of a list and gives the client one list.
    `allow_downgrade` and `allow_reencode` permit the losses for which the specification has a fallback.
    """

    name: str
    reply_revision: Revision | None = None
    refuses_discover: bool = False
    request_id_prefix: str = "b-"
    passthrough: MetaPassthrough = field(default=MetaPassthrough(everything=True))
    quirks: Quirks = Quirks()
    keep_structure: bool = False
    client_mask: ClientMask = field(default=ClientMask())
    server_mask: ServerMask = field(default=ServerMask())
    progress_rate: int | None = None
    merge_pages: bool = False
    allow_downgrade: bool = False
    allow_reencode: bool = False

    def policy(self) -> Policy:
        """What the plans of translation may do under this profile."""
        return Policy(
            allow_downgrade=self.allow_downgrade,
            allow_reencode=self.allow_reencode,
            strict=self.quirks.strict_legacy_results,
            keep_structure=self.keep_structure,
        )

    def allowing(
        self,
        *,
        downgrade: bool = False,
        reencode: bool = False,
        restore_codes: bool = False,
        keep_codes: bool = False,
        merge_pages: bool = False,
    ) -> "Profile":
        """This profile with these permissions beside its own; each name is that of an option of the command line."""
        if not (downgrade or reencode or restore_codes or keep_codes or merge_pages):
            return self
        quirks = replace(
            self.quirks,
            restore_resource_not_found=self.quirks.restore_resource_not_found or restore_codes,
            keep_error_codes=self.quirks.keep_error_codes or keep_codes,
        )
        return replace(
            self,
            quirks=quirks,
            merge_pages=self.merge_pages or merge_pages,
            allow_downgrade=self.allow_downgrade or downgrade,
            allow_reencode=self.allow_reencode or reencode,
        )

    def mask_client(self, capabilities: Members) -> Members:
        """The capabilities of the client that the server is told of (PROF-12)."""
        return self.client_mask.applied(capabilities)

    def mask_server(self, capabilities: Members) -> Members:
        """The capabilities of the server that the client is told of (PROF-12)."""
        return self.server_mask.applied(capabilities)


def named(name: str) -> Profile | None:
    """The profile that ships under `name`; `None` for a name that is not in `NAMES`."""
    if name == "neutral":
        from dragoman.profile.neutral import PROFILE
    elif name == "handshake":
        from dragoman.profile.handshake import PROFILE
    elif name == "vscode":
        from dragoman.profile.vscode import PROFILE
    else:
        return None
    return PROFILE
