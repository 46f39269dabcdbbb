"""The facts of an analysis in one object: what ``summary.json`` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stablecast.delivery.durations import Bins, bins_of
from stablecast.delivery.judge import VIOLATIONS
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.scan import HAPPENED, NAMED, SENT, Scan

POSITION_VIOLATIONS = ("position_beyond_head",)


@dataclass(frozen=True)
class Counts:
    """What tables come to, added up."""

    messages: int
    stable: int
    violations: Mapping[str, int]
    to_stable: Bins = field(default_factory=Bins.nothing)
    to_detect: Bins = field(default_factory=Bins.nothing)
    heads_missing: int = 0
    """Sources of positions that have no head."""


def counted(tables: Mapping[str, pa.Table]) -> Counts:
    """Add up the tables of messages."""
    messages = tables["messages"]
    sent, stable, known = (
        messages[name].fill_null(NEVER).to_numpy() for name in ("sent_us", "stable_us", "detected_last_us")
    )
    return Counts(
        messages=messages.num_rows,
        stable=messages.num_rows - messages["stable_us"].null_count,
        violations=_kinds(tables["violations"]),
        to_stable=bins_of(sent, stable),
        to_detect=bins_of(sent, known),
    )


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
    return {
        "positions": of_positions,
        **_events(scan, bad_rows),
        "messages": counts.messages,
        "stable": counts.stable,
        "unstable": counts.messages - counts.stable,
        **({"heads_missing": counts.heads_missing} if of_positions else {}),
        "time_to_stable_us": counts.to_stable.described(),
        "time_to_detect_us": counts.to_detect.described(),
        "histograms": {
            "time_to_stable": counts.to_stable.histogram(),
            "time_to_detect": counts.to_detect.histogram(),
        },
        "violations": {kind: counts.violations.get(kind, 0) for kind in known},
    }


def _events(scan: Scan, bad_rows: Mapping[str, int]) -> dict[str, Any]:
    roles = scan.names["roles"].to_pylist()
    groups = scan.groups
    of_positions = is_of_positions(scan.kinds)
    # A source of positions is a member only if it has positions of its own.
    source = NAMED if of_positions else SENT
    members = [role for role in roles if role & HAPPENED and not (of_positions and role & SENT)]
    return {
        "events": scan.events,
        "kinds": dict(scan.kinds),
        "bad_rows": sum(bad_rows.values()),
        "bad_rows_by_reason": dict(sorted(bad_rows.items())),
        "groups": groups.num_rows,
        "members": len(members),
        "sources": sum(bool(role & source) for role in roles),
        "first_us": min(groups["first_us"].to_pylist(), default=None),
        "last_us": max(groups["last_us"].to_pylist(), default=None),
    }
