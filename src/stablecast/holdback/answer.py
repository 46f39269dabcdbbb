"""The answer to "what is held back": snapshots of all systems put together, ranked, and judged by limits.

A reader is *gone* if the system says that nobody is connected under its name, or if it tells when it heard of
the reader last and that is long ago.  It still counts: the system waits for names, not for connections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stablecast.holdback.frontier import Frontier, Standing, frontier_of
from stablecast.holdback.model import Amount, Rate, Reader, Snapshot
from stablecast.holdback.rates import Full, Key, amount_sum, full, key_of, rates_of, sum_of
from stablecast.holdback.units import amount_text, duration_text

GONE_AFTER_S = 300.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be held back at most."""

    held: Amount | None = None
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One log of the answer."""

    snapshot: Snapshot
    frontier: Frontier
    rate: Rate | None
    full: Full | None

    @property
    def age_s(self) -> float | None:
        """For how long anything has been held back."""
        since = self.frontier.since_us
        return None if since is None else max(0.0, (self.snapshot.time_us - since) / 1e6)


@dataclass(frozen=True, slots=True)
class Blocker:
    """A reader that logs of one system wait for."""

    server: str
    member: str
    logs: int
    held: Amount
    frees: Amount
    """What would go free if it were removed from all of them."""
    since_us: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is held back now."""

    time_us: int
    snapshots: tuple[Snapshot, ...]
    rows: tuple[Row, ...]
    """One for each log, the one with the most held back first."""
    blockers: tuple[Blocker, ...]
    gone_after_s: float
    full: Mapping[str, Full] = field(default_factory=dict)
    """When servers are full that have one limit for all logs."""
    problems: tuple[str, ...] = ()

    def is_gone(self, row: Row, reader: Reader) -> bool:
        """Tell whether nobody reads under a name any more, as far as the system tells."""
        return is_gone(reader, row.snapshot.time_us, self.gone_after_s)


def is_gone(reader: Reader, now_us: int, after_s: float) -> bool:
    """Tell whether a reader is not connected, or was not heard of for so long."""
    if reader.connected is not None:
        return not reader.connected
    return reader.seen_us is not None and now_us - reader.seen_us > after_s * 1e6


def answer_of(
    snapshots: Sequence[Snapshot],
    *,
    before: Mapping[str, Snapshot] | None = None,
    problems: Sequence[str] = (),
    gone_after_s: float = GONE_AFTER_S,
) -> Answer:
    """Put snapshots together; ``before`` has earlier ones by scope, for rates."""
    rows: list[Row] = []
    filled = {}
    for snapshot in snapshots:
        rates = rates_of(snapshot, (before or {}).get(snapshot.scope))
        rows += _rows(snapshot, rates)
        if end := full(snapshot.room, sum_of(rates.values())):
            filled[snapshot.server] = end
    rows.sort(key=_most_held)
    said = [*problems, *(line for snapshot in snapshots for line in snapshot.problems)]
    return Answer(
        time_us=max((snapshot.time_us for snapshot in snapshots), default=0),
        snapshots=tuple(snapshots),
        rows=tuple(rows),
        blockers=tuple(_blockers(rows)),
        gone_after_s=gone_after_s,
        full=filled,
        problems=tuple(said),
    )


def _rows(snapshot: Snapshot, rates: Mapping[Key, Rate]) -> list[Row]:
    rows = []
    for log in snapshot.logs:
        rate = rates.get(key_of(snapshot, log))
        rows.append(Row(snapshot, frontier_of(log), rate, full(log.room, rate)))
    return rows


def _most_held(row: Row) -> tuple[int, int, str, str]:
    held = row.frontier.held
    return -(held.bytes or 0), -(held.items or 0), row.frontier.log.group, row.frontier.log.source


def _blockers(rows: Sequence[Row]) -> list[Blocker]:
    """Rank the readers that logs wait for, by what these hold."""
    by_name: dict[tuple[str, str], list[Standing]] = {}
    for row in rows:
        for one in row.frontier.standings:
            if not one.blocks:
                break  # they come first
            by_name.setdefault((row.snapshot.server, one.reader.member), []).append(one)
    found = [
        Blocker(
            server,
            member,
            len(some),
            amount_sum(one.reader.behind for one in some),
            amount_sum(one.frees for one in some),
            min((at for one in some if (at := one.reader.behind_since_us) is not None), default=None),
        )
        for (server, member), some in by_name.items()
    ]
    return sorted(found, key=lambda one: (-(one.held.bytes or 0), -(one.held.items or 0), one.member))


def exceeded(answer: Answer, limits: Limits) -> list[str]:
    """Return a line for each log that passes a limit, or of which it cannot be told."""
    lines = []
    for row in answer.rows:
        if not row.frontier.waiting_for:
            continue
        where = f"{row.frontier.log.source} of {row.snapshot.server}"
        by = f"({', '.join(row.frontier.waiting_for)})"
        if limits.held is not None:
            lines += _over_amount(row.frontier.held, limits.held, where, by)
        if limits.age_s is not None:
            if row.age_s is None:
                lines.append(
                    f"{where}: since when it is held back is not known, so --max-age cannot be judged"
                )
            elif row.age_s > limits.age_s:
                passed = f"{duration_text(row.age_s)}, more than {duration_text(limits.age_s)}"
                lines.append(f"{where} is held back for {passed} {by}")
    return lines


def _over_amount(held: Amount, most: Amount, where: str, by: str) -> list[str]:
    name = "bytes" if most.bytes is not None else "items"
    have, limit = getattr(held, name), getattr(most, name)
    if have is None:
        return [f"{where}: the {name} held back are not known, so --max-held cannot be judged"]
    if have <= limit:
        return []
    return [
        f"{where} has {amount_text(Amount(**{name: have}))} held back, more than {amount_text(most)} {by}"
    ]
