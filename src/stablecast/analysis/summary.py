"""The facts of an analysis in one object: what ``summary.json`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stablecast.delivery import scan as roles
from stablecast.delivery.durations import DURATIONS, SENT, TO_DETECT, TO_STABLE, Described, durations_between
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.scan import Scan
from stablecast.delivery.violations import VIOLATIONS

POSITION_VIOLATIONS = ("position_beyond_head",)


@dataclass(frozen=True)
class Counts:
    """What tables come to, added up."""

    messages: int
    stable: int
    violations: Mapping[str, int]
    durations: pa.Table = field(default_factory=DURATIONS.empty_table)
    heads_missing: int = 0
    """Sources of positions that have no head."""


def counted(tables: Mapping[str, pa.Table]) -> Counts:
    """Add up the tables of messages."""
    messages = tables["messages"]
    sent, stable, known = (
        messages[name].fill_null(NEVER).to_numpy() for name in ("sent_us", "stable_us", "detected_last_us")
    )
    return counted_durations(durations_between(sent, stable, known), _kinds(tables["violations"]))


def counted_durations(durations: pa.Table, violations: Mapping[str, int]) -> Counts:
    """Return the same from counts of durations, which have every message."""
    messages, stable = (Described(durations, what).count for what in (SENT, TO_STABLE))
    return Counts(messages, stable, violations, durations)


def counted_positions(tables: Mapping[str, pa.Table]) -> Counts:
    """Add up the tables of positions."""
    rows = tables["sources"].select(["messages", "first_seq", "stable_seq", "heads_missing"]).to_pylist()
    stable = [row["stable_seq"] - row["first_seq"] + 1 for row in rows if row["stable_seq"] is not None]
    return Counts(
        messages=sum(row["messages"] for row in rows),
        stable=sum(stable),
        violations=_kinds(tables["violations"]),
        heads_missing=sum(row["heads_missing"] for row in rows),
    )


def _kinds(violations: pa.Table) -> dict[str, int]:
    counts = violations["kind"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts}


def is_of_positions(kinds: Mapping[str, int]) -> bool:
    """Tell whether a log is one of positions."""
    return bool(kinds.keys() & {"head", "position"})


def summary_of(scan: Scan, bad_rows: Mapping[str, int], counts: Counts) -> dict[str, Any]:
    """Return what is said of a trace, but for where it is from and how long it took."""
    of_positions = is_of_positions(scan.kinds)
    known = POSITION_VIOLATIONS if of_positions else VIOLATIONS
    took = {what: Described(counts.durations, what) for what in (TO_STABLE, TO_DETECT)}
    return {
        "positions": of_positions,
        **_events(scan, bad_rows),
        "messages": counts.messages,
        "stable": counts.stable,
        "unstable": counts.messages - counts.stable,
        **({"heads_missing": counts.heads_missing} if of_positions else {}),
        **{f"{what}_us": one.facts() for what, one in took.items()},
        "histograms": {what: one.histogram() for what, one in took.items()},
        "violations": {kind: counts.violations.get(kind, 0) for kind in known},
    }


def _events(scan: Scan, bad_rows: Mapping[str, int]) -> dict[str, Any]:
    each = scan.names["roles"].to_pylist()
    groups = scan.groups
    of_positions = is_of_positions(scan.kinds)
    # A source of positions is a member only if it has positions of its own.
    source = roles.NAMED if of_positions else roles.SENT
    members = [
        role
        for role in each
        if role & roles.HAPPENED and not (of_positions and role & roles.SENT and not role & roles.READS)
    ]
    return {
        "events": scan.events,
        "kinds": dict(scan.kinds),
        "bad_rows": sum(bad_rows.values()),
        "bad_rows_by_reason": dict(sorted(bad_rows.items())),
        "groups": groups.num_rows,
        "members": len(members),
        "sources": sum(bool(role & source) for role in each),
        "first_us": min(groups["first_us"].to_pylist(), default=None),
        "last_us": max(groups["last_us"].to_pylist(), default=None),
    }
