"""The critical path of a message: the chain of causes that decided when it was known to be stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stablecast.causes.chains import Chain, chain
from stablecast.causes.deliveries import Truth
from stablecast.causes.graph import Edge
from stablecast.causes.lives import way_to_last
from stablecast.causes.phases import Phase, Told, phases_of
from stablecast.causes.run import ABSENT, Ints, Mask, Run
from stablecast.causes.segments import UNTOLD, Segment, duration
from stablecast.errors import InvalidInput, unknown_name

FIRST, LAST = "first", "last"


@dataclass(frozen=True)
class CriticalPath:
    """Why a member knew a message to be stable when it did, and not before."""

    source: str
    seq: int
    member: str
    """Who knew it to be stable."""
    sent_us: int
    detected_us: int
    segments: tuple[Segment, ...]
    """From the sending on, each beginning where the one before it ends: lengths sum to ``length_us``."""
    phases: tuple[Phase, ...]
    """Three, which sum to the same."""
    edges: tuple[Edge, ...]
    """Of the segments, in the run's graph."""
    earlier: tuple[Edge, ...]
    """The chain's edges before the sending, down to a step that nothing in the trace started."""
    last_member: str | None
    """Who had the message last; None if the trace does not tell."""
    way: tuple[Segment, ...]
    """How the message came to that member, from the sending on."""
    remarks: tuple[str, ...]
    """What the trace does not tell."""

    @property
    def length_us(self) -> int:
        """Time to stable."""
        return self.detected_us - self.sent_us

    def lines(self) -> list[str]:
        """Return three to six lines that tell a person why it took so long."""
        name = f"{self.source}/{self.seq}"
        lines = [f"{self.member} knew {name} to be stable {duration(self.length_us)} after its sending."]
        lines += [f"{duration(phase.length_us)}: {phase.text}" for phase in self.phases]
        return [*lines, *self.remarks][:MOST_LINES]


MOST_LINES = 6


@dataclass(frozen=True)
class Slow:
    """A message and how long it took until it was known to be stable."""

    source: str
    seq: int
    member: str
    sent_us: int
    detected_us: int


def critical_path(run: Run, source: str, seq: int, *, at: str | None = None) -> CriticalPath:
    """Return what decided when a message was known to be stable.

    Parameters
    ----------
    run
        The run.
    source, seq
        The message.
    at
        A member's name, or ``first`` or ``last`` to know it; by default the source, if it came to know, and
        the first one otherwise.
    """
    place = run.member(source)
    sent_row = run.deliveries.send_row(place, seq)
    known_row = _known_row(run, place, seq, at)
    sent_us, detected_us = (int(run.rows.time_us[row]) for row in (sent_row, known_row))
    member = run.members[int(run.rows.member[known_row])]
    if detected_us < sent_us:
        raise InvalidInput(
            f"{member} called {source}/{seq} stable {sent_us - detected_us} µs before its sending"
            " (accepted: messages that were sent before)"
        )
    truth = run.deliveries.truth(place, seq)
    way = way_to_last(run, truth, sent_row)
    found = chain(run, known_row, sent_row) if run.has_wire else _without_wire(run, truth, way, known_row)
    execution = _counting(run, place, seq, sent_row)
    told = Told(run, truth, member, detected_us, found.segments, way, execution)
    return CriticalPath(
        source,
        seq,
        member,
        sent_us,
        detected_us,
        found.segments,
        phases_of(told),
        found.edges,
        found.earlier,
        run.members[truth.last],
        way,
        _remarks(run),
    )


def _counting(run: Run, source: int, seq: int, sent_row: int) -> int | None:
    """Return the execution by which a message was first known to be stable, if it was one."""
    rows = run.rows
    first = min(run.deliveries.knowers(source, seq).values(), key=lambda row: int(rows.time_us[row]))
    if rows.time_us[first] < rows.time_us[sent_row]:
        return None
    segments = chain(run, first, sent_row).segments
    return next((one.execution for one in reversed(segments) if one.execution is not None), None)


def _without_wire(run: Run, truth: Truth, way: tuple[Segment, ...], known_row: int) -> Chain:
    """Return what a trace without transmissions tells: the message's way, and that it was known later."""
    detected_us, member = int(run.rows.time_us[known_row]), run.members[int(run.rows.member[known_row])]
    had_us = way[-1].end_us if way else truth.sent_us
    if had_us > detected_us:
        way, had_us = (), truth.sent_us
    if had_us == detected_us:
        return Chain(way, ())
    origin = run.members[truth.last] if way else run.members[int(run.rows.source[known_row])]
    text = f"until {member} knew, which the trace does not explain"
    return Chain((*way, Segment(UNTOLD, text, origin, member, had_us, detected_us)), ())


def _remarks(run: Run) -> tuple[str, ...]:
    if run.has_wire:
        return run.remarks
    return (*run.remarks, "The trace has no transmissions (they are written with --wire).")


def _known_row(run: Run, source: int, seq: int, at: str | None) -> int:
    """Return the row in which the chosen member first knew a message to be stable."""
    if at not in (None, FIRST, LAST) and at not in run.members:
        raise unknown_name("member", str(at), (*run.members, FIRST, LAST))
    knowers = run.deliveries.knowers(source, seq)
    name = f"{run.members[source]}/{seq}"
    if not knowers:
        raise InvalidInput(f"nobody knew {name} to be stable in this trace (accepted: a message that was)")
    if at is not None and at in run.members:
        if run.member(at) not in knowers:
            who = ", ".join(run.members[member] for member in list(knowers)[:5])
            raise InvalidInput(f"{at} never knew {name} to be stable (accepted: {who}, first, last)")
        return knowers[run.member(at)]
    if at is None and source in knowers:
        return knowers[source]
    in_time = sorted(knowers.items(), key=lambda one: (int(run.rows.time_us[one[1]]), one[0]))
    return in_time[-1 if at == LAST else 0][1]


def slowest(run: Run, count: int = 10, *, at: str | None = None) -> tuple[Slow, ...]:
    """Return the messages that took longest, the slowest one first; ``at`` is as for ``critical_path``."""
    if at not in (None, FIRST, LAST):
        run.member(str(at))
    source, seq, sent_row = run.deliveries.messages()
    known_row = np.full(source.size, ABSENT)
    for one in np.unique(source).tolist():
        chosen = np.flatnonzero(source == one)
        known_row[chosen] = _known_rows(run, one, seq[chosen], at)
    sent_us, known_us = run.rows.time_us[sent_row], run.rows.time_us[known_row]
    known = np.flatnonzero((known_row != ABSENT) & (known_us >= sent_us))
    order = known[np.argsort(sent_us[known] - known_us[known], kind="stable")][:count]
    return tuple(
        Slow(
            run.members[int(source[k])],
            int(seq[k]),
            run.members[int(run.rows.member[known_row[k]])],
            int(sent_us[k]),
            int(known_us[k]),
        )
        for k in order.tolist()
    )


def _known_rows(run: Run, source: int, seq: Ints, at: str | None) -> Ints:
    """Return for numbers of one source the row that ``critical_path`` would take, -1 without one."""
    claims = run.deliveries.claims
    if at not in (None, FIRST, LAST):
        return claims.rows(run.member(str(at)), source, seq)
    found = claims.rows(source, source, seq) if at is None else np.full(seq.size, ABSENT)
    own = found != ABSENT
    for member in claims.members_by_source.get(source, ()):
        rows = claims.rows(member, source, seq)
        better = (rows != ABSENT) & ~own & ((found == ABSENT) | _is_better(run, rows, found, at))
        found = np.where(better, rows, found)
    return found


def _is_better(run: Run, rows: Ints, than: Ints, at: str | None) -> Mask:
    time_us = run.rows.time_us
    better: Mask = time_us[rows] >= time_us[than] if at == LAST else time_us[rows] < time_us[than]
    return better
