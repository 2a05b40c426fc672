"""The words in which the differences between two neighbouring revisions are written down.

A `Step` describes one revision by what sets it apart from its predecessor: methods that came or went, and one `Row`
for each difference. A row says what class the difference has for each pair of faces, and it holds the rules for those
differences that show in a payload:

* `falling` rules act on what travels from a newer revision to an older one,
* `rising` rules act on what travels from an older revision to a newer one.

Most rows have no rule. Every object of every revision is open, so a member that the other side does not know stays
where it is; and whatever concerns ids, tokens, handshakes and transports is done by the machines (`by=Doer.HOP`).
A rule is one member to look for and one act. It runs only when the member is there, changes the opened level in place,
and writes nothing anew that it did not change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from dragoman.revisions import Revision, Trait
from dragoman.wire.members import Members


class Part(Enum):
    """The two payloads of a request; the params of a notification are params too."""

    PARAMS = "params"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user allows to be lost.

    `allow_downgrade` permits exactly the losses for which the specification names a fallback (class F).
    `allow_reencode` permits two changes of shape that keep the data and that no specification describes (T12).
    `strict` removes from results what the older revision does not know; `keep_structure` passes a `structuredContent`
    of any type to revisions that want an object (T3).
    """

    allow_downgrade: bool = False
    allow_reencode: bool = False
    strict: bool = False
    keep_structure: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """One rule that fired. `kind` is its class: L, F, R or B; `place` is a path from the root of the payload."""

    row: str
    kind: str
    place: str
    detail: str


class Why(Enum):
    """The three reasons for a refusal (LOSSY-08)."""

    LACKS_FEATURE = "the revision lacks the feature"
    POLICY = "the policy does not allow this loss"
    WRONG_TYPE = "the value does not fit the type"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The payload cannot travel; `detail` is a sentence for a person and holds nothing of the payload."""

    row: str
    why: Why
    place: str
    detail: str
    source: str
    target: str


ALWAYS = ""

Report = list[Loss]
Act = Callable[["Rule", Members, Policy, Report], Refusal | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One act on one payload.

    `methods` are the methods it is for; empty means the result or params of every request of a client. The act runs
    when `member` is present, and on every payload when that is `ALWAYS`. `only` limits the rule to targets
    with a trait. Row, source and target are filled in when a plan is made.
    """

    methods: tuple[str, ...]
    part: Part
    member: str
    act: Act
    only: Trait | None = None
    row: str = ""
    source: str = ""
    target: str = ""

    def bound(self, row: str, source: Revision, target: Revision) -> "Rule":
        return replace(self, row=row, source=source.name, target=target.name)

    def bound_to(self, row: str) -> "Rule":
        """The same rule in the name of another row."""
        return replace(self, row=row)

    def note(self, report: Report, kind: str, place: str, detail: str) -> None:
        report.append(Loss(self.row, kind, place, detail))

    def refusal(self, why: Why, place: str, detail: str) -> Refusal:
        return Refusal(self.row, why, place, detail, self.source, self.target)


def params(*methods: str, member: str, act: Act, only: Trait | None = None) -> Rule:
    return Rule(methods, Part.PARAMS, member, act, only)


def result(*methods: str, member: str, act: Act, only: Trait | None = None) -> Rule:
    return Rule(methods, Part.RESULT, member, act, only)


class Doer(Enum):
    """Who keeps a row."""

    PLAN = "a rule on the payload, or leaving it alone"
    HOP = "the machine or the transport of a face"
    TABLES = "the tables of methods, capabilities or errors"


@dataclass(frozen=True, slots=True)
class Row:
    """One difference, and its classes.

    `older_client` is for an older client before a newer server, `newer_client` for the reverse; each is a text of the
    letters L (lossless), F (a fallback that the specification names), R (refused) and B (made up by us). Empty means
    that the row is no change of anything (limits, timeouts).
    """

    id: str
    subject: str
    older_client: str
    newer_client: str
    by: Doer = Doer.PLAN
    falling: tuple[Rule, ...] = ()
    rising: tuple[Rule, ...] = ()

    def kind(self, source: Revision, target: Revision) -> str:
        """The classes for what a server of `source` sends to a client of `target`."""
        return self.older_client if source.place > target.place else self.newer_client


class Kind(Enum):
    REQUEST = "request"
    NOTICE = "notification"


class Sender(Enum):
    CLIENT = "client"
    SERVER = "server"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Method:
    """A method, who sends it, and the row that brought it (none for what the first revision has)."""

    name: str
    kind: Kind
    sender: Sender
    row: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One revision, told as its difference from the one before.

    `gains` are methods that are new, or that are sent by another side than before; `drops` maps a method that is gone
    to the row that says so. `claims` maps rows (their ids, divided by spaces) to the changes of the official schema
    that they cover, written as `+Type`, `-Type`, `~Type`, `+Type.member` and so on; changes under `RENAMED` have no
    effect on the wire.
    """

    revision: str
    rows: tuple[Row, ...]
    gains: tuple[Method, ...] = ()
    drops: Mapping[str, str] = field(default_factory=dict[str, str])
    claims: Mapping[str, str] = field(default_factory=dict[str, str])


RENAMED = ""


def requests(sender: Sender, *names: str, row: str = "") -> tuple[Method, ...]:
    return tuple(Method(name, Kind.REQUEST, sender, row) for name in names)


def notices(sender: Sender, *names: str, row: str = "") -> tuple[Method, ...]:
    return tuple(Method(name, Kind.NOTICE, sender, row) for name in names)
