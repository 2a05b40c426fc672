"""Capabilities that a profile hides from the other side (PROF-12). A mask only takes away, and keeps all by default."""

from dataclasses import dataclass, fields

from dragoman.wire.members import Members, closed, object_in


@dataclass(frozen=True, slots=True)
class ClientMask:
    """Which capabilities of the client the server may learn of; a field is named like its capability."""

    sampling: bool = True
    elicitation: bool = True
    roots: bool = True
    experimental: bool = True
    extensions: bool = True

    def applied(self, capabilities: Members) -> Members:
        hidden = {part.name for part in fields(self) if not getattr(self, part.name)}
        return {name: value for name, value in capabilities.items() if name not in hidden}


@dataclass(frozen=True, slots=True)
class ServerMask:
    """Which promises of the server the client may learn of."""

    list_changes: bool = True
    subscribe: bool = True
    logging: bool = True

    def applied(self, capabilities: Members) -> Members:
        shown = dict(capabilities)
        if not self.logging:
            shown.pop("logging", None)
        if not self.list_changes:
            for name in ("tools", "prompts", "resources"):
                _hide(shown, name, "listChanged")
        if not self.subscribe:
            _hide(shown, "resources", "subscribe")
        return shown


def _hide(capabilities: Members, name: str, promise: str) -> None:
    declared = object_in(capabilities.get(name))
    if declared is not None and declared.pop(promise, None) is not None:
        capabilities[name] = closed(declared)
