"""Judge what live members did by their events alone: whether all was delivered, in order, once and safely.

This knows the event schema and nothing of the code that wrote the events.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stablecast.trace.checks import CHECKS, Violation
from stablecast.trace.columns import Columns, Event, Ints, columns_of, read_columns
from stablecast.trace.group_trace import NEVER, GroupTrace

SHOWN = 20
SAFETY = ("early_stable", "early_release", "receive_after_departure")


@dataclass(frozen=True)
class Times:
    """How long something took, over messages; all are None if there was none."""

    count: int
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    max_ms: float | None


@dataclass(frozen=True)
class Peak:
    """The most that a member held at a time: what it sent or received, and had not released."""

    messages: int
    bytes: int


@dataclass(frozen=True)
class Verdict:
    """What the events say."""

    messages: int
    deliveries: int
    """First receipts at members other than the sender."""
    members: tuple[str, ...]
    departed: tuple[str, ...]
    """Members that left or failed."""
    counts: dict[str, int]
    """Violations of each kind."""
    undetected: int
    """Messages of members that stayed, which their senders never knew to be everywhere."""
    time_to_stable: Times
    """From sending to when the sender knew."""
    time_to_truth: Times
    """From sending to when it was so."""
    peaks: dict[str, Peak]
    violations: tuple[Violation, ...]
    """The earliest ones."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not any(self.counts.values())

    @property
    def delivered(self) -> bool:
        """Whether every message of members that stayed came to all that it was for, and stayed."""
        return self.counts["undelivered"] == 0

    @property
    def safe(self) -> bool:
        """Whether nothing was called stable, or released, too early."""
        return not any(self.counts[kind] for kind in SAFETY)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        told = {"ok": self.ok, "delivered": self.delivered, "safe": self.safe}
        return told | dataclasses.asdict(self)


def judge(events: Iterable[Event]) -> Verdict:
    """Judge events; those of one member come in the order in which they happened."""
    return judge_columns(columns_of(events))


def judge_files(files: Sequence[Path]) -> Verdict:
    """Judge the events in files of JSON lines or Parquet, a member's all in one of them."""
    return judge_columns(read_columns(files))


def judge_columns(columns: Columns) -> Verdict:
    """Judge events that were read before."""
    traces = [
        GroupTrace(name, columns.where(columns.group == place)) for place, name in enumerate(columns.groups)
    ]
    found = [check(trace) for trace in traces for check in CHECKS.values()]
    counts = {kind: sum(len(one) for one in found if one.kind == kind) for kind in CHECKS}
    shown = sorted((v for one in found for v in one.first(SHOWN)), key=lambda v: v.time_us)[:SHOWN]
    taken = [_time_to_stable(trace) for trace in traces]
    return Verdict(
        messages=sum(trace.messages.seq.size for trace in traces),
        deliveries=sum(_deliveries(trace) for trace in traces),
        members=_names(columns, [trace.present for trace in traces]),
        departed=_names(columns, [trace.present & ~trace.survives for trace in traces]),
        counts=counts,
        undetected=sum(undetected for _, undetected in taken),
        time_to_stable=_times([times for times, _ in taken]),
        time_to_truth=_times([_time_to_truth(trace) for trace in traces]),
        peaks=_all_peaks(traces),
        violations=tuple(shown),
    )


def _names(columns: Columns, chosen: list[Any]) -> tuple[str, ...]:
    places = {int(place) for mask in chosen for place in np.flatnonzero(mask)}
    return tuple(columns.members[place] for place in sorted(places))


def _deliveries(trace: GroupTrace) -> int:
    return int((trace.is_first & (trace.receives.member != trace.receives.source)).sum())


def _time_to_truth(trace: GroupTrace) -> Ints:
    known = (trace.truth < NEVER) & ~trace.messages.untold
    return trace.truth[known] - trace.messages.sent[known]


def _time_to_stable(trace: GroupTrace) -> tuple[Ints, int]:
    """Return how long senders took to know, and how many messages of members that stayed they never knew."""
    claims = trace.events.of_kind("stable")
    claims = claims.where(claims.member == claims.source)
    taken, undetected = [], 0
    for source in np.unique(trace.messages.source[~trace.messages.untold]).tolist():
        own = (trace.messages.source == source) & ~trace.messages.untold
        of_source = claims.where(claims.source == source)
        reached = np.maximum.accumulate(of_source.seq)
        places = np.searchsorted(reached, trace.messages.seq[own])
        known = places < reached.size
        taken.append(of_source.time_us[places[known]] - trace.messages.sent[own][known])
        undetected += int((~known).sum()) if trace.survives[source] else 0
    return np.concatenate([np.zeros(0, np.int64), *taken]), undetected


def _times(parts: list[Ints]) -> Times:
    every = np.concatenate([np.zeros(0, np.int64), *parts])
    if not every.size:
        return Times(0, None, None, None, None)
    p50, p90, p99, most = np.percentile(every, [50, 90, 99, 100]) / 1000
    return Times(int(every.size), float(p50), float(p90), float(p99), float(most))


def _all_peaks(traces: list[GroupTrace]) -> dict[str, Peak]:
    peaks: dict[str, Peak] = {}
    for trace in traces:
        for name, peak in _peaks(trace).items():
            other = peaks.get(name, Peak(0, 0))
            peaks[name] = Peak(max(peak.messages, other.messages), max(peak.bytes, other.bytes))
    return dict(sorted(peaks.items()))


def _peaks(trace: GroupTrace) -> dict[str, Peak]:
    """Return the most that each member held, by going through what it took and released in turn."""
    events = trace.events.of_kind("send", "receive", "release")
    rows = trace.messages.rows(events)
    events, rows = events.where(rows >= 0), rows[rows >= 0]
    released = np.isin(events.kind, trace.events.of_kind("release").kind[:1])
    # Of what a member took more than once, as its own message that comes back to it, only the first counts.
    pair = (rows * trace.count + events.member) * 2 + released
    first = np.zeros(rows.size, np.bool_)
    first[np.unique(pair, return_index=True)[1]] = True
    step = np.where(released, -1, 1) * first
    peaks = {}
    for member in np.flatnonzero(trace.present).tolist():
        own = events.member == member
        held, size = np.cumsum(step[own]), np.cumsum(step[own] * trace.messages.size[rows[own]])
        peaks[trace.events.members[member]] = Peak(int(held.max(initial=0)), int(size.max(initial=0)))
    return peaks
