"""The tables of an analysis, with names for numbers again."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from stablecast.delivery.claims import Known
from stablecast.delivery.columns import Ints, Longs, chosen
from stablecast.delivery.holding import Occupancy, Peaks, Totals, span_ends
from stablecast.delivery.kinds import EVER, NEVER
from stablecast.delivery.laggards import Laggards
from stablecast.delivery.line import Frontiers
from stablecast.delivery.membership import Membership
from stablecast.delivery.messages import Messages
from stablecast.delivery.violations import MISSING_SEND, VIOLATIONS, Violations

_TEXT, _LONG, _INT = pa.string(), pa.int64(), pa.int32()
_PLACE = [("group", _TEXT), ("source", _TEXT)]
SCHEMAS = {
    "messages": pa.schema(
        [
            *_PLACE,
            ("seq", _LONG),
            ("bytes", _INT),
            ("sent_us", _LONG),
            ("stable_us", _LONG),
            ("last_member", _TEXT),
            ("required", _INT),
            ("received", _INT),
            ("detected_first_us", _LONG),
            ("detected_last_us", _LONG),
            ("released_first_us", _LONG),
            ("released_last_us", _LONG),
        ]
    ),
    "frontiers": pa.schema([*_PLACE, ("time_us", _LONG), ("sent", _LONG), ("stable", _LONG)]),
    "buffers": pa.schema(
        [
            ("group", _TEXT),
            ("member", _TEXT),
            ("messages_max", _LONG),
            ("bytes_max", _LONG),
            ("message_us", _LONG),
        ]
    ),
    "laggards": pa.schema(
        [
            ("group", _TEXT),
            ("member", _TEXT),
            ("completed_last", _LONG),
            ("held_us", _LONG),
            ("held_bytes_us", pa.decimal128(38, 0)),
        ]
    ),
    "violations": pa.schema(
        [
            ("group", _TEXT),
            ("kind", _TEXT),
            ("member", _TEXT),
            ("source", _TEXT),
            ("seq", _LONG),
            ("time_us", _LONG),
        ]
    ),
    "sources": pa.schema(
        [
            *_PLACE,
            ("messages", _LONG),
            ("first_seq", _LONG),
            ("last_seq", _LONG),
            ("stable_seq", _LONG),
            ("stable_us", _LONG),
            ("waiting_for", pa.list_(_TEXT)),
            ("waiting", _INT),
        ]
    ),
    "occupancy": pa.schema(
        [("group", _TEXT), ("member", _TEXT), ("time_us", _LONG), ("messages", _LONG), ("bytes", _LONG)]
    ),
}
TABLES = tuple(SCHEMAS)


class Names:
    """Puts names in the place of numbers."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self._groups = membership.group_names
        self._names = membership.names

    def group(self, names: Ints) -> pa.Array:
        """Return the group of each name."""
        return _dictionary(self.membership.name_group[names], self._groups)

    def name(self, names: Ints) -> pa.Array:
        """Return each name; null for -1."""
        return _dictionary(names, self._names, names < 0)

    def stay(self, stays: Ints) -> pa.Array:
        """Return the name of each incarnation; null for -1."""
        return self.name(np.append(self.membership.stays.name, -1)[stays])


def _dictionary(codes: Ints, values: pa.Array, mask: Any = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=mask), values)


def _times(times: Longs) -> pa.Array:
    """Return times, null for those that have not come."""
    return pa.array(times, mask=times == NEVER)


def in_schema(schema: pa.Schema, columns: list[Any]) -> pa.Table:
    """Return columns as a table; names may be encoded."""
    cast = [pa.array(column) if isinstance(column, np.ndarray) else column for column in columns]
    return pa.table(
        [column.cast(field.type) for column, field in zip(cast, schema, strict=True)], schema=schema
    )


def messages_table(messages: Messages, known: Known | None, names: Names) -> pa.Table:
    """Return one row a message that was sent; without claims nobody knew anything."""
    nothing = pa.nulls(len(messages.seq), _LONG)
    return in_schema(
        SCHEMAS["messages"],
        [
            names.group(messages.source),
            names.name(messages.source),
            messages.seq,
            pa.array(messages.size, mask=messages.size < 0),
            messages.sent,
            _times(messages.stable),
            names.stay(messages.last),
            messages.required,
            messages.received,
            nothing if known is None else _times(known.first),
            nothing if known is None else _times(known.last),
            _times(messages.released_first),
            _times(messages.released_last),
        ],
    )


def frontiers_table(frontiers: Frontiers, sent: Longs, names: Names) -> pa.Table:
    """Return one row a change of a source's stable prefix; ``sent`` is EVER where nothing was yet.

    A message that is sent after its sender was gone is stable since before its sending.
    """
    source, sent_then = frontiers.source, pa.array(sent, mask=sent == EVER)
    return in_schema(
        SCHEMAS["frontiers"],
        [names.group(source), names.name(source), frontiers.time, sent_then, frontiers.stable],
    )


def violations_table(violations: Violations, names: Names) -> pa.Table:
    """Return what should not be; of what is told of a message that nobody sent, the earliest alone."""
    found = chosen(violations, _first_told(violations))
    return in_schema(
        SCHEMAS["violations"],
        [
            names.group(found.source),
            _dictionary(found.kind, pa.array(VIOLATIONS)),
            names.stay(found.stay),
            names.name(found.source),
            found.seq,
            found.time,
        ],
    )


def _first_told(found: Violations) -> Ints:
    """Return the places of all violations, but of messages that nobody sent only who first told of each."""
    told = np.flatnonzero(found.kind == MISSING_SEND)
    order = told[np.lexsort((found.stay[told], found.time[told], found.seq[told], found.source[told]))]
    source, seq = found.source[order], found.seq[order]
    again = np.concatenate([[False], (source[1:] == source[:-1]) & (seq[1:] == seq[:-1])])[: len(order)]
    return np.concatenate([np.flatnonzero(found.kind != MISSING_SEND), order[~again]])


def laggards_table(laggards: Laggards, names: Names) -> pa.Table:
    """Return one row for each member that was the last with anything."""
    who = np.flatnonzero(laggards.completed).astype(np.int32)
    held_bytes = pa.array([Decimal(laggards.bytes_of(name)) for name in who.tolist()], pa.decimal128(38, 0))
    columns = [names.group(who), names.name(who), laggards.completed[who], laggards.held[who], held_bytes]
    return in_schema(SCHEMAS["laggards"], columns)


def buffers_table(totals: Totals, peaks: Peaks, names: Names) -> pa.Table:
    """Return one row for each member that held anything."""
    who = np.flatnonzero(totals.holdings).astype(np.int32)
    columns = [
        names.group(who),
        names.name(who),
        peaks.messages[who],
        peaks.size[who],
        totals.message_us[who],
    ]
    return in_schema(SCHEMAS["buffers"], columns)


def occupancy_table(occupancy: Occupancy, names: Names) -> pa.Table:
    """Return what members held over time."""
    who, time = occupancy.name, span_ends(occupancy, names.membership)
    columns = [names.group(who), names.name(who), time, occupancy.messages, occupancy.size]
    return in_schema(SCHEMAS["occupancy"], columns)
