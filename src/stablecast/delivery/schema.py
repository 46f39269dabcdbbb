"""Events as an Arrow table: what reading makes, what a stream keeps, and what every analysis takes."""

from __future__ import annotations

import pyarrow as pa

from stablecast.delivery.coded import Coded

NAME = pa.dictionary(pa.int32(), pa.string())
"""The type of names: each name once, and its place for each row."""
EVENTS = pa.schema(
    [
        ("group", NAME),
        ("kind", pa.int8()),
        ("member", NAME),
        ("source", NAME),
        ("seq", pa.int64()),
        ("time_us", pa.int64()),
        ("bytes", pa.int32()),
    ]
)
"""``kind`` is a number of :mod:`.kinds`.  Joins and departures have no source and no number."""


def encoded(events: pa.Table) -> pa.Table:
    """Return events in the schema, names encoded; sizes may be absent."""
    columns = []
    for field in EVENTS:
        if field.type == NAME:
            columns.append(Coded.of(events[field.name]).array())
        elif field.name in events.column_names:
            columns.append(events[field.name].cast(field.type))
        else:
            columns.append(pa.nulls(events.num_rows, field.type))
    return pa.table(columns, schema=EVENTS)
