"""The columns of a table of runs, and how a run becomes a row and a row a run again.

The columns are derived from the declared options, and from the fields of the result and the traffic's result,
so that a new one is a new column.  A protocol from outside the package may have options that none of the
package has; a table with its runs has a column for each of them, behind all others.  ``docs/sweep.md`` lists
them.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stablecast.errors import InvalidInput
from stablecast.multicast.bimodal_result import Delivery
from stablecast.pipeline.point import Point
from stablecast.protocols import declared_at
from stablecast.protocols import protocol as find_protocol
from stablecast.simulate.options import Options, all_options, protocol_options
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


PROTOCOL = {"protocol": pa.string()}
OPTION_COLUMNS = PROTOCOL | {name: _TYPES[option.type] for name, option in all_options().items()}
"""The options of a run and of the protocols of this package; those of other protocols come behind."""
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


def option_columns(options: Options) -> Row:
    """Return the columns of a simulation's options; those that its protocol does not have are None."""
    row = {name: options.value(name) for name in OPTION_COLUMNS}
    row["protocol"] = find_protocol(options.protocol).name
    for name, option in protocol_options(options.protocol).items():
        if name not in OPTION_COLUMNS:
            value = options.value(name)
            row[name] = None if value is None else option.type(value)
    return row


def further_columns_of(points: Iterable[Point]) -> dict[str, pa.DataType]:
    """Return the columns that only protocols from outside the package have, and refuse those that do not fit.

    A parameter may share its column with one of the package's protocols if it has the same type, and not with
    a column of the result.
    """
    found: dict[str, pa.DataType] = {}
    for name in dict.fromkeys(str(point.options["protocol"]) for point in points if point.source):
        protocol = find_protocol(name)
        for option, kind in parameter_columns(name).items():
            where = declared_at(protocol, protocol.options[option].name)
            if option in COLUMNS and (option not in OPTION_COLUMNS or COLUMNS[option] != kind):
                raise InvalidInput(f"{where}{option} is a column of results already (accepted: another name)")
            if found.setdefault(option, kind) != kind:
                raise InvalidInput(
                    f"{where}{option} is of type {kind}, and of type {found[option]} in another protocol of"
                    " this sweep (accepted: another name)"
                )
    return {name: kind for name, kind in found.items() if name not in COLUMNS}


def parameter_columns(protocol: str) -> dict[str, pa.DataType]:
    """Return the columns of a protocol's parameters with their types."""
    return {name: _TYPES[option.type] for name, option in protocol_options(protocol).items()}


def table_of(rows: list[Row], known: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Return rows as a table of the schema, with the columns of protocols from outside the package.

    ``known`` has types of such columns, for those that have no value here.
    """
    schema = SCHEMA
    for name in dict.fromkeys(name for row in rows for name in row if name not in COLUMNS):
        found = {type(row[name]) for row in rows if row.get(name) is not None}
        kind = (known or {}).get(name) or (_TYPES[found.pop()] if found else pa.null())
        schema = schema.append(pa.field(name, kind))
    return pa.Table.from_pylist(rows, schema=schema)


def further_columns(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the columns of a table that only protocols from outside the package have."""
    kinds = zip(schema.names, schema.types, strict=True)
    return {name: kind for name, kind in kinds if name not in COLUMNS and kind != pa.null()}


def has_layout(schema: pa.Schema) -> bool:
    """Tell whether a table has every column of a table of runs, in any order, and perhaps others."""
    kinds = dict(zip(schema.names, schema.types, strict=True))
    return all(kinds.get(name) == kind for name, kind in COLUMNS.items())
