"""A plan that keeps a record of what it did: which rules acted, in order, the silent ones too."""

from dragoman.revisions import Revision
from dragoman.revisions.plan import Loss, Part, Plan, Policy, Refusal, Rule
from dragoman.revisions.rows import ROWS
from dragoman.wire.members import Members


class Traced(Plan):
    """`plan`, with `fired` for every rule that changed something and `refusal` for the one that refused.

    It does what `plan` does, rule by rule. A rule that has nothing to lose reports nothing to its plan; here it counts
    with the class that its row has on this way.
    """

    __slots__ = ("fired", "refusal")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.source, plan.target, plan._params, plan._results)
        self.fired: list[Loss] = []
        self.refusal: Refusal | None = None

    def apply(self, method: str, part: Part, members: Members, policy: Policy, report: list[Loss]) -> Members | Refusal:
        for rule in self.rules(method, part):
            if rule.member and rule.member not in members:
                continue
            before, told = dict(members), len(report)
            refusal = rule.act(rule, members, policy, report)
            if refusal is not None:
                self.refusal = refusal
                return refusal
            self.fired += report[told:] or _silent(rule, before, members, self.source, self.target)
        return members


def _silent(rule: Rule, before: Members, after: Members, source: Revision, target: Revision) -> list[Loss]:
    changed: list[Loss] = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is now or (was is not None and now is not None and bytes(was) == bytes(now)):
            continue
        what = "taken out" if now is None else "added" if was is None else "changed"
        changed.append(Loss(rule.row, ROWS[rule.row].kind(source, target), name, what))
    return changed
