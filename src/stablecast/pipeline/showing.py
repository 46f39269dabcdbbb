"""A table of runs as a card, for notebooks: what differs between the runs, and what they measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stablecast.pipeline.schema import DONE, OPTION_COLUMNS, Row
from stablecast.showing import Card, Table
from stablecast.showing.card import MOST_ROWS
from stablecast.words import counted

MEASURED = {
    "rounds": "rounds",
    "messages_sent": "messages sent",
    "rtt_first_us": "first knows (ms)",
    "rtt_last_us": "last knows (ms)",
    "tts_p50_us": "to stable, p50 (ms)",
    "tts_p99_us": "to stable, p99 (ms)",
}
"""Columns that are shown where some run has them."""


def card_of_runs(rows: Sequence[Row]) -> Card:
    """Return the first runs, and what went wrong."""
    failed = [row for row in rows if row["status"] != DONE]
    told = [name for name in MEASURED if any(row.get(name) is not None for row in rows)]
    options = varied(rows)
    shown = [
        [row.get(name) for name in options] + [_measured(row, name) for name in told]
        for row in rows[:MOST_ROWS]
    ]
    tables = [Table(columns=[*options, *(MEASURED[name] for name in told)], rows=shown, total=len(rows))]
    if failed:
        errors = [(row["status"], row["error"], row["replay"]) for row in failed[:MOST_ROWS]]
        columns = ("status", "error", "replay")
        tables.append(Table(title="without a result", columns=columns, rows=errors, total=len(failed)))
    same = [f"{name} {rows[0][name]}" for name in ("protocol", "members") if rows and name not in options]
    return Card(
        title=f"{counted(len(rows), 'run')}, {len(rows) - len(failed):,} done",
        lead=f"{', '.join(same)}; all columns: runs.to_pandas()" if same else "all columns: runs.to_pandas()",
        tables=tables,
    )


def varied(rows: Sequence[Row]) -> list[str]:
    """Return the options in which runs differ; without any, protocol and members."""
    names = ["protocol", "members", *(name for name in OPTION_COLUMNS if name not in ("protocol", "members"))]
    found = [name for name in names if len({row.get(name) for row in rows}) > 1]
    return found or ["protocol", "members"]


def _measured(row: Row, name: str) -> Any:
    value = row.get(name)
    return value / 1e3 if value is not None and name.endswith("_us") else value
