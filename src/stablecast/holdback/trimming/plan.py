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
    How long a reader is idle is the time since the system heard of it last.  If the system does not tell, and
    nobody is connected under its name, it is the age of the oldest number that it lacks.
What is refused
    A log without any reader that counts: the minimum over nobody is everything, and says nothing about who
    may come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """What went wrong on the way; then it is not known what came of it."""


def plan_of(snapshots: Sequence[Snapshot], ignore: Mapping[str, float]) -> Plan:
    """Return a plan; ``ignore`` has seconds by reader's name.

    A name that no log has, or a reader that has not been idle for so long, is an error: a policy that does
    not hold is not left out silently.
    """
    steps = [_step(snapshot, log, ignore) for snapshot in snapshots for log in snapshot.logs]
    known = {one.member for snapshot in snapshots for log in snapshot.logs for one in log.readers}
    for name in ignore:
        if name not in known:
            raise InvalidInput(f"--ignore-idle names '{name}', which reads none of the logs")
    problems = [line for snapshot in snapshots for line in snapshot.problems]
    return Plan(tuple(steps), tuple(problems))


def _step(snapshot: Snapshot, log: Log, ignore: Mapping[str, float]) -> Step:
    named = [one for one in log.readers if one.member in ignore and one.holds and _lacks(one, log)]
    for one in named:
        _check_idle(one, log, snapshot, ignore[one.member])
    found = without(log, {one.member for one in named})
    refused = None if any(one.holds for one in found.log.readers) else "nobody reads it"
    if refused and named:
        refused = "nobody reads it but readers that are ignored"
    ignored = tuple(_ignored(one, log, found, snapshot) for one in named)
    return Step(snapshot, log, found, () if refused else ignored, refused)


def _lacks(reader: Reader, log: Log) -> bool:
    """Tell whether a reader lacks anything; one that does not need not be ignored."""
    return (log.first_seq - 1 if reader.position is None else reader.position) < log.head


def _check_idle(reader: Reader, log: Log, snapshot: Snapshot, least_s: float) -> None:
    idle_s = idle_seconds(reader, snapshot.time_us)
    what = f"'{reader.member}' of {log.source}"
    if idle_s is None:
        raise InvalidInput(f"{what} cannot be ignored: since when it is idle is not known")
    if idle_s < least_s:
        raise InvalidInput(
            f"{what} cannot be ignored: it has been idle for {duration_text(idle_s)}"
            f" (accepted: a reader that has been for {duration_text(least_s)})"
        )


def idle_seconds(reader: Reader, now_us: int) -> float | None:
    """Return for how long nothing was heard of a reader; None if that is not known."""
    if reader.connected:
        return 0.0
    if reader.seen_us is not None:
        return (now_us - reader.seen_us) / 1e6
    if reader.connected is False and reader.behind_since_us is not None:
        return (now_us - reader.behind_since_us) / 1e6
    return None


def _ignored(reader: Reader, log: Log, found: Frontier, snapshot: Snapshot) -> Ignored:
    idle_s = idle_seconds(reader, snapshot.time_us)
    return Ignored(reader, 0.0 if idle_s is None else idle_s, reader.behind.less(_left(log, reader, found)))


def _left(log: Log, reader: Reader, found: Frontier) -> Amount:
    """Return what would be left above the frontier of what a reader lacks."""
    position = log.first_seq - 1 if reader.position is None else reader.position
    return reader.behind if position >= found.stable_seq else found.held


def reasons(step: Step) -> list[str]:
    """Say why a step is safe, a line for each reader."""
    up_to = step.log.numbering.up_to
    lines = [
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
