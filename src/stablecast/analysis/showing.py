"""An analysis as a card, for notebooks: what is stable, who is waited for, and what is wrong.

Only tables that are at hand are shown, those of sources and of who held back: no job of Spark is started by
looking at a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.showing import Card, Table
from stablecast.showing.card import MOST_ROWS
from stablecast.words import counted

SHOWN = {
    "sources": ("group", "source", "messages", "stable_seq", "last_seq", "waiting", "waiting_for"),
    "readers": ("group", "source", "member", "position", "lag", "blocks", "without_seq"),
    "laggards": ("group", "member", "completed_last", "held_us"),
    "violations": ("group", "kind", "member", "source", "seq", "time_us"),
}
"""By table, the columns that are shown."""
MOST_FIRST = {"sources": "waiting", "readers": "lag", "laggards": "held_us"}
"""By what rows are ordered, the largest first."""


def card_of_analysis(
    summary: Mapping[str, Any], tables: Mapping[str, pa.Table], elsewhere: Iterable[str] = ()
) -> Card:
    """Return an analysis's summary and its short tables; ``elsewhere`` names tables that are on Spark."""
    names = [f"{name} ({table.num_rows:,})" for name, table in tables.items()]
    stable, messages = summary.get("stable", 0), summary.get("messages", 0)
    what = "number" if summary.get("positions") else "message"
    groups = counted(summary.get("groups", 0), "group")
    return Card(
        title=f"{stable:,} of {counted(messages, what)} stable, {_wrong(summary)}",
        lead=f"{counted(summary.get('events', 0), 'event')} of {counted(summary.get('members', 0), 'member')}"
        f" in {groups}; tables: {', '.join([*names, *elsewhere])}",
        facts=_facts(summary),
        tables=[_short(name, tables[name]) for name in SHOWN if name in tables and tables[name].num_rows],
    )


def _wrong(summary: Mapping[str, Any]) -> str:
    count = sum((summary.get("violations") or {}).values())
    return counted(count, "violation") if count else "no violation"


def _facts(summary: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    words = {"time_to_stable": "time to stable", "time_to_detect": "time to its being known"}
    for name, told in words.items():
        times = summary.get(f"{name}_us") or {}
        for which in ("p50", "p99", "max"):
            if times.get(which) is not None:
                found[f"{told}, {which} (ms)"] = times[which] / 1e3
    found |= {
        f"violations: {kind}": count for kind, count in (summary.get("violations") or {}).items() if count
    }
    if summary.get("bad_rows"):
        found["bad rows left out"] = summary["bad_rows"]
    return found


def _says(table: pa.Table, column: str) -> bool:
    """Tell whether a column says anything: the group does where there are several."""
    values = table[column]
    if column == "group":
        return len(pc.unique(values)) > 1
    return bool(values.null_count < len(values))


def _short(name: str, table: pa.Table) -> Table:
    """Return the first rows of a table, those that matter most."""
    columns = [column for column in SHOWN[name] if column in table.column_names and _says(table, column)]
    by = MOST_FIRST.get(name)
    if by in columns:
        table = table.sort_by([(by, "descending")])
    rows = table.select(columns).slice(0, MOST_ROWS).to_pylist()
    return Table(
        title=name, columns=columns, rows=[tuple(row.values()) for row in rows], total=table.num_rows
    )
