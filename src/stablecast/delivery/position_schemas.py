"""The columns of the tables of positions; what they mean is in ``docs/analyze.md``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

TEXT, LONG, DECIMAL = pa.string(), pa.int64(), pa.decimal128(38, 0)


def _schema(**types: pa.DataType) -> pa.Schema:
    return pa.schema(list(types.items()))


SCHEMAS = {
    "frontiers": _schema(group=TEXT, source=TEXT, time_us=LONG, sent=LONG, stable=LONG, blocker=TEXT),
    "sources": _schema(
        group=TEXT,
        source=TEXT,
        messages=LONG,
        first_seq=LONG,
        last_seq=LONG,
        stable_seq=LONG,
        stable_us=LONG,
        waiting_for=pa.list_(TEXT),
        waiting=pa.int32(),
        oldest_us=LONG,
        heads_missing=pa.bool_(),
        retained_bytes=LONG,
    ),
    "readers": _schema(
        group=TEXT,
        source=TEXT,
        member=TEXT,
        position=LONG,
        lag=LONG,
        behind_since_us=LONG,
        alone_us=LONG,
        alone_numbers_us=DECIMAL,
        completed=LONG,
        without_seq=LONG,
        blocks=pa.bool_(),
        gone=pa.bool_(),
    ),
    "violations": _schema(group=TEXT, kind=TEXT, member=TEXT, source=TEXT, seq=LONG, time_us=LONG),
    "laggards": _schema(group=TEXT, member=TEXT, completed_last=LONG, held_us=DECIMAL, held_bytes_us=DECIMAL),
    "totals": _schema(
        group=TEXT,
        sources=LONG,
        sent=LONG,
        stable=LONG,
        retained=LONG,
        oldest_frontier_us=LONG,
        oldest_us=LONG,
        blocker=TEXT,
    ),
}
"""The columns of each table."""


def made_table(name: str, columns: dict[str, Any]) -> pa.Table:
    """Return a table with the columns of its schema."""
    return pa.table({key: columns[key] for key in SCHEMAS[name].names}, schema=SCHEMAS[name])
