"""The columns of a table of runs, and how a run becomes a row and a row a run again.

The columns are derived from the fields of the options, the result and the traffic's result, so that a new
field of any of them is a new column.  ``docs/sweep.md`` lists them.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from typing import Any

import numpy as np
import pyarrow as pa

from stablecast.multicast.bimodal_result import Delivery
from stablecast.simulate.options import Options
from stablecast.simulate.result import Result, TrafficResult

SCHEMA_VERSION = "1"
VERSION_KEY = b"stablecast.runs"
DONE, FAILED, TIMEOUT = "done", "failed", "timeout"
WALL_COLUMNS = ("wall_s", "point_wall_s", "host", "finished_at")
"""What differs between two runs of the same point."""
_TYPES: dict[Any, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    str: pa.string(),
    bool: pa.bool_(),
    dict[str, int]: pa.map_(pa.string(), pa.int64()),
    dict[str, float]: pa.map_(pa.string(), pa.float64()),
}
_HEAD = {
    "key": pa.string(),
    "task": pa.string(),
    "status": pa.string(),
    "error": pa.string(),
    "replay": pa.string(),
    "options": pa.string(),
}
_TAIL = {
    "extra": pa.map_(pa.string(), pa.float64()),
    "point_wall_s": pa.float64(),
    "host": pa.string(),
    "finished_at": pa.timestamp("us", tz="UTC"),
    "version": pa.string(),
    "sources": pa.string(),
}


def _columns(kind: Any) -> dict[str, pa.DataType]:
    """Return a dataclass's fields that fit a column, with the column's type."""
    hints = typing.get_type_hints(kind)
    found = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if isinstance(hint, types.UnionType):
            hint = next(option for option in typing.get_args(hint) if option is not type(None))
        if hint in _TYPES:
            found[field.name] = _TYPES[hint]
    return found


OPTION_COLUMNS = _columns(Options)
RESULT_COLUMNS = _columns(Result)
# The traffic's number of messages would hide the option of the same name.
TRAFFIC_NAMES = {name: "data_messages" if name == "messages" else name for name in _columns(TrafficResult)}
TRAFFIC_COLUMNS = {TRAFFIC_NAMES[name]: kind for name, kind in _columns(TrafficResult).items()}
DELIVERY_COLUMNS = _columns(Delivery)
COLUMNS = _HEAD | OPTION_COLUMNS | RESULT_COLUMNS | TRAFFIC_COLUMNS | DELIVERY_COLUMNS | _TAIL
SCHEMA = pa.schema(list(COLUMNS.items()), metadata={VERSION_KEY: SCHEMA_VERSION.encode()})

Row = dict[str, Any]


def result_columns(result: Result) -> Row:
    """Return a result's columns; they win over options of the same name."""
    row = {name: getattr(result, name) for name in RESULT_COLUMNS}
    if result.traffic is not None:
        row |= {column: getattr(result.traffic, name) for name, column in TRAFFIC_NAMES.items()}
    if result.delivery is not None:
        row |= {name: getattr(result.delivery, name) for name in DELIVERY_COLUMNS}
    return row


def result_of(row: Row) -> Result | None:
    """Return the result that a row was made of, without what is there for each member."""
    if row["status"] != DONE or row["hops"] is None:
        return None
    values = {name: row[name] for name in RESULT_COLUMNS}
    for name, kind in RESULT_COLUMNS.items():
        if pa.types.is_map(kind):
            values[name] = dict(values[name])
    traffic = None
    if row["delivery_max_us"] is not None:
        traffic = TrafficResult(**{name: row[column] for name, column in TRAFFIC_NAMES.items()})
    delivery, nothing = None, np.empty(0, np.int64)
    if row["violations"] is not None:
        known = {name: row[name] for name in DELIVERY_COLUMNS}
        delivery = Delivery(**known, peaks=nothing, places=nothing)
    return Result(**values, traffic=traffic, delivery=delivery, processed=nothing)


def options_of(row: Row) -> dict[str, Any]:
    """Return the options of a row's point."""
    options: dict[str, Any] = json.loads(row["options"])
    return options


def table_of(rows: list[Row]) -> pa.Table:
    """Return rows as a table of the schema."""
    return pa.Table.from_pylist(rows, schema=SCHEMA)
