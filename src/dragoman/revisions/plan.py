"""What happens to a payload on its way from one revision to another.

`lowering(source, target)` collects once, for the ordered pair, the rules of all steps between the two: falling rules
from the newest step down, or rising rules from the oldest up, after the two repairs of `hop.py` and before what strict
results remove. They are kept per method and part, so that a message costs one look-up and a few tests for members.

A method that the target does not have is refused in both its parts. A method of no revision at all is no business of
a plan: its payload passes under the rules for every method.
"""

from collections.abc import Iterator
from functools import cache

from dragoman.revisions import Era, Revision
from dragoman.revisions.errors import enclosed, translated
from dragoman.revisions.hop import HOP
from dragoman.revisions.lists import strip
from dragoman.revisions.losses import absent
from dragoman.revisions.methods import known_anywhere, requests, row_of_absence
from dragoman.revisions.rows import STEPS
from dragoman.revisions.step import ALWAYS, Act, Loss, Part, Policy, Refusal, Rule, Why, result
from dragoman.wire.members import Members

__all__ = ["Loss", "Part", "Plan", "Policy", "Refusal", "Rule", "Why", "lowering"]

LISTED = (
    ("tools/list", "tools", "Tool", None),
    ("prompts/list", "prompts", "Prompt", None),
    ("prompts/list", "prompts", "PromptArgument", "arguments"),
    ("resources/list", "resources", "Resource", None),
    ("resources/templates/list", "resourceTemplates", "ResourceTemplate", None),
)
"""Where strict results look for members that are too new: list method, member, type of its items, and array inside."""

_Compiled = tuple[tuple[str, Act, Rule], ...]


class _Table:
    """The rules of one part, by method."""

    __slots__ = ("by_method", "otherwise")

    def __init__(self, by_method: dict[str, _Compiled] | None = None, otherwise: _Compiled = ()) -> None:
        self.by_method = by_method or {}
        self.otherwise = otherwise

    def of(self, method: str) -> _Compiled:
        return self.by_method.get(method, self.otherwise)


class Plan:
    """The rules between two revisions, compiled."""

    __slots__ = ("_params", "_results", "source", "target")

    def __init__(self, source: Revision, target: Revision, params: _Table, results: _Table) -> None:
        self.source = source
        self.target = target
        self._params = params
        self._results = results

    def apply(self, method: str, part: Part, members: Members, policy: Policy, report: list[Loss]) -> Members | Refusal:
        """`members`, changed in place where a rule fired, or why they cannot travel.

        Values that no rule changed are the same objects as before. After a refusal `members` may be half changed.
        """
        table = self._results if part is Part.RESULT else self._params
        for member, act, rule in table.by_method.get(method, table.otherwise):
            if not member or member in members:
                refusal = act(rule, members, policy, report)
                if refusal is not None:
                    return refusal
        return members

    def rules(self, method: str, part: Part) -> tuple[Rule, ...]:
        """The rules for one payload, in the order in which they act."""
        table = self._results if part is Part.RESULT else self._params
        return tuple(rule for _, _, rule in table.of(method))

    def error(self, method: str, error: Members, *, params: Members | None = None, keep_codes: bool = False) -> Members:
        """An error object in the codes of the target; `params` are those of the request that failed.

        With `keep_codes` those pass that only a revision without a handshake has (decisions T29).
        """
        mapped = translated(error, self.source, self.target, method=method, params=params)
        if keep_codes or self.target.era is Era.MODERN or self.source.era is Era.LEGACY:
            return mapped
        return enclosed(mapped)


@cache
def lowering(source: Revision, target: Revision) -> Plan:
    """The plan for payloads that travel from `source` to `target`; between equal revisions it does nothing."""
    if source is target:
        return Plan(source, target, _Table(), _Table())
    rules = [*_between(source, target), *_strict(source, target)]
    return Plan(source, target, *(_table(rules, part, source, target) for part in Part))


def _between(source: Revision, target: Revision) -> Iterator[Rule]:
    """The rules of the hop and of each step on the way, in the order of the way."""
    falls = source.place > target.place
    low, high = sorted((source.place, target.place))
    passed = STEPS[low + 1 : high + 1]
    rows = [*HOP, *(row for step in (reversed(passed) if falls else passed) for row in step.rows)]
    for row in rows:
        for rule in row.falling if falls else row.rising:
            if rule.only is None or target.has(rule.only):
                yield rule.bound(row.id, source, target)


def _strict(source: Revision, target: Revision) -> Iterator[Rule]:
    """Rules that take away, when results are strict, each member that a later step added to a listed type."""
    added = {
        change: rows.partition(" ")[0]
        for step in STEPS[target.place + 1 : source.place + 1]
        for rows, changes in step.claims.items()
        for change in changes.split()
    }
    for method, member, type_, inner in LISTED:
        start = f"+{type_}."
        newer = {change.removeprefix(start): row for change, row in added.items() if change.startswith(start)}
        if newer:
            yield result(method, member=member, act=strip(newer, inner)).bound("", source, target)


def _table(rules: list[Rule], part: Part, source: Revision, target: Revision) -> _Table:
    ours = [rule for rule in rules if rule.part is part]
    everywhere = [rule for rule in ours if not rule.methods]
    requested = requests(source) | requests(target)
    by_method: dict[str, _Compiled] = {}
    for method in sorted(known_anywhere()):
        row = row_of_absence(method, target)
        if row is not None:
            refuse = Rule((method,), part, ALWAYS, absent(f"{method} does not exist there")).bound(row, source, target)
            by_method[method] = _compiled([refuse])
        else:
            general = everywhere if method in requested else []
            by_method[method] = _compiled([r for r in ours if r in general or method in r.methods])
    return _Table(by_method, _compiled(everywhere))


def _compiled(rules: list[Rule]) -> _Compiled:
    return tuple((rule.member, rule.act, rule) for rule in rules)
