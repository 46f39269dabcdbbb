"""Rows as they are in a log: where the values of a column are, and a row as text for people."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.analysis.reading.arrays import as_array
from stablecast.analysis.reading.heads import Column
from stablecast.analysis.reading.mapping import Part

UNREAD = "_stablecast_unread"
"""Column with the text of a line that is no row."""


def value_of(raw: pa.RecordBatch, column: Column) -> pa.Array | None:
    """Return a column of a log by its place or, with dots, by its name; None where it is absent."""
    names = raw.schema.names
    if column.place[0] not in names:
        return raw.column(column.name) if column.name in names else None
    values = raw.column(column.place[0])
    for name in column.place[1:]:
        if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
            return None
        values = as_array(pc.struct_field(values, name))
    return values


def row_text(raw: pa.RecordBatch, place: int, part: Part) -> str:
    """Return the line that is no row, or a row's values as JSON."""
    if UNREAD in raw.schema.names and raw.column(UNREAD)[place].is_valid:
        return str(raw.column(UNREAD)[place].as_py())
    found = {column.name: value_of(raw, column) for column in part.columns.values()}
    values = {name: value[place] for name, value in found.items() if value is not None}
    there = {name: _plain(value) for name, value in values.items() if value.is_valid}
    return json.dumps(there, separators=(",", ":"), ensure_ascii=False, default=str)


def _plain(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, ImportError):
        # Text that is not UTF-8, and moments that Python has no name for.
        return repr(value)
