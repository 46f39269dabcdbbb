"""What would be deleted of each log, why that is safe, and what named readers would lose.

Theory
    Everything up to the frontier is had by every reader that the system knows.  A plan deletes that and no
    more.  Executing it may only delete less: whoever executes looks at the readers again, and takes the lower
    of the frontier then and the one that was planned.
Readers that are ignored
    A reader that is gone for good holds a log for ever.  It may be left out of the minimum, but only by its
    name and only if it has been idle for as long as is given.  What it would lose is told: the numbers from
    its position on that the plan deletes.  If it moves before the plan is executed, it is idle no longer, and
    is not ignored.
How long a reader is idle
    Either the system tells when it heard of the reader last, and that was so long ago.  That says nothing of
    a reader that has entries in hand: whoever took them may be at work on them, unheard, for hours.  Nor does
    the age of an entry say anything about its readers.
    Or an *earlier plan* of that age shows the reader's *mark*, all that moves when it reads, takes and
    acknowledges, as it is now.  A reader with a mark that an earlier plan shows otherwise is never ignored.
What is refused
    A log without any reader that counts: the minimum over nobody is everything, and says nothing about who
    may come.  A log of which the system deletes by itself what was acknowledged, or could not tell all.  A
    log with a reader that counts of which it is not known what it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stablecast.errors import InvalidInput
from stablecast.holdback.frontier import Frontier, without
from stablecast.holdback.model import Amount, Log, Reader, Snapshot
from stablecast.holdback.units import amount_text, duration_text


@dataclass(frozen=True, slots=True)
class Ignored:
    """A reader that the plan does not wait for."""

    reader: Reader
    idle_s: float
    loses: Amount
    """What it lacks that the plan deletes."""


@dataclass(frozen=True, slots=True)
class Step:
    """What is planned for one log."""

    snapshot: Snapshot
    log: Log
    found: Frontier
    """How the log stands without the readers that are ignored."""
    ignored: tuple[Ignored, ...]
    refused: str | None = None
    """Why nothing is planned."""

    @property
    def up_to(self) -> int:
        """The last number that goes."""
        return self.found.stable_seq

    @property
    def goes(self) -> Amount:
        """What goes."""
        return Amount(0, 0) if self.refused else self.found.deletable

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to delete."""
        return self.refused is not None or self.up_to < self.log.first_seq


@dataclass(frozen=True, slots=True)
class Plan:
    """What is planned for all logs."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one step."""

    deleted: int
    first_kept: str
    """Everything before it is gone."""
    instead_of: str | None
    """Whom the trim waited for, if it went less far than planned."""
    refused: str | None = None
    failed: str | None = None
    """What went wrong on the way."""
    nothing: bool = False
    """Whether nothing was deleted, if it went wrong; else it is not known what came of it."""


Mark = Mapping[str, str | int | bool | None]
"""All that moves when a reader reads, takes and acknowledges."""
MOVING = (
    "last-delivered-id",
    "smallest-pending-id",
    "pending",
    "entries-read",
    "ack_floor",
    "delivered",
    "deliveries",
    "num_ack_pending",
    "committed",
)


@dataclass(frozen=True, slots=True)
class Earlier:
    """The marks of an earlier plan."""

    file: str
    time_us: int
    marks: Mapping[tuple[str, str, str], Mark] = field(default_factory=dict)
    """By group, source and reader."""


def mark_of(reader: Reader) -> Mark:
    """Return what tells whether a reader has moved."""
    mark = {name: reader.details[name] for name in MOVING if name in reader.details}
    return mark or {"position": reader.position}


def plan_of(
    snapshots: Sequence[Snapshot], ignore: Mapping[str, float], earlier: Earlier | None = None
) -> Plan:
    """Return a plan; ``ignore`` has seconds by reader's name.

    A name that no log has, or a reader that has not been idle for so long, is an error: a policy that does
    not hold is not left out silently.
    """
    steps = [_step(snapshot, log, ignore, earlier) for snapshot in snapshots for log in snapshot.logs]
    known = {one.member for snapshot in snapshots for log in snapshot.logs for one in log.readers}
    for name in ignore:
        if name not in known:
            raise InvalidInput(f"--ignore-idle names '{name}', which reads none of the logs")
    problems = [line for snapshot in snapshots for line in snapshot.problems]
    return Plan(tuple(steps), tuple(problems))


def _step(snapshot: Snapshot, log: Log, ignore: Mapping[str, float], earlier: Earlier | None) -> Step:
    named = [one for one in log.readers if one.member in ignore and one.holds and _lacks(one, log)]
    idle = {one.member: _checked_idle(one, log, snapshot, ignore[one.member], earlier) for one in named}
    found = without(log, set(idle))
    refused = log.untrimmable or refusal(found.log.readers)
    if refused == NOBODY and named:
        refused = "nobody reads it but readers that are ignored"
    ignored = tuple(Ignored(one, idle[one.member], one.behind.less(_left(log, one, found))) for one in named)
    return Step(snapshot, log, found, () if refused else ignored, refused)


NOBODY = "nobody reads it"


def refusal(readers: Sequence[Reader]) -> str | None:
    """Return why nothing can be said to be had by all readers that count; None if it can."""
    counted = [one for one in readers if one.holds]
    if not counted:
        return NOBODY
    return next((f"{one.member}: {one.unsure}" for one in counted if one.unsure), None)


def _lacks(reader: Reader, log: Log) -> bool:
    """Tell whether a reader may lack anything; one that does not need not be ignored."""
    reached = log.first_seq - 1 if reader.position is None else reader.position
    return reached < log.head or reader.unsure is not None


def _checked_idle(
    reader: Reader, log: Log, snapshot: Snapshot, least_s: float, earlier: Earlier | None
) -> float:
    """Return for how long a reader is idle; an error if that is not known, or not long enough."""
    what = f"'{reader.member}' of {log.source} cannot be ignored"
    told_s = idle_seconds(reader, snapshot.time_us)
    shown_s = None
    if earlier is not None:
        if earlier.marks.get((log.group, log.source, reader.member)) != mark_of(reader):
            raise InvalidInput(f"{what}: it is not as it was in the plan '{earlier.file}'")
        shown_s = None if reader.connected else (snapshot.time_us - earlier.time_us) / 1e6
    idle_s = max((one for one in (told_s, shown_s) if one is not None), default=None)
    if told_s is None and (idle_s is None or idle_s < least_s):
        why = "it has entries in hand, and " if reader.in_hand else ""
        raise InvalidInput(
            f"{what}: {why}since when it is idle is not known (accepted: --unmoved-since with a plan that is"
            f" {duration_text(least_s)} old)"
        )
    if idle_s is None or idle_s < least_s:
        raise InvalidInput(
            f"{what}: it has been idle for {duration_text(idle_s or 0.0)}"
            f" (accepted: a reader that has been for {duration_text(least_s)})"
        )
    return idle_s


def idle_seconds(reader: Reader, now_us: int) -> float | None:
    """Return for how long nothing was heard of a reader; None if that is not known."""
    if reader.connected:
        return 0.0
    if reader.seen_us is None or reader.in_hand:
        return None
    return (now_us - reader.seen_us) / 1e6


def _left(log: Log, reader: Reader, found: Frontier) -> Amount:
    """Return what would be left above the frontier of what a reader lacks."""
    position = log.first_seq - 1 if reader.position is None else reader.position
    return reader.behind if position >= found.stable_seq else found.held


def reasons(step: Step) -> list[str]:
    """Say why a step is safe, a line for each reader."""
    up_to = step.log.numbering.up_to
    lines = list(step.log.remarks)
    lines += [
        f"{one.reader.member} has everything {up_to(step.log.head - one.lag)}"
        for one in step.found.standings
        if one.reader.holds
    ]
    for one in step.ignored:
        lines.append(
            f"{one.reader.member} is ignored, idle for {duration_text(one.idle_s)}: it loses"
            f" {amount_text(one.loses)}"
        )
    return lines
