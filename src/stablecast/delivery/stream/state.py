"""What a stream of events carries from one part to the next: small Arrow tables, all by names.

Numbers of names change from part to part, because they follow the order of names; so nothing here is by
number, and the tables can be written anywhere and read again.

- ``names``, ``changes``, ``groups``, ``counts``: what :mod:`stablecast.delivery.scan` found in all parts
- ``events``: what was told of messages that have not left, and claims that still matter, as they came
- ``line``: one row a source, for the messages that its line begins with and that have left
- ``thin``: number, sending and truth of messages that left before an earlier one of their source
- ``unsent``: numbers of messages that have left and that nobody sent, as ranges
- ``claimers``, ``releasers``: who ever claimed or released anything of a source, how far, first and last when
- ``laggards``, ``held``, ``kept``, ``durations``, ``violations``: sums over messages that left
- ``course``: what members held at the end of spans of time before the watermark
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from stablecast.delivery import scan as scanning
from stablecast.delivery.durations import DURATIONS
from stablecast.delivery.scan import Scan
from stablecast.delivery.schema import EVENTS, encoded
from stablecast.delivery.tables import SCHEMAS as TABLE_SCHEMAS
from stablecast.errors import InvalidInput

_TEXT, _LONG, _INT = pa.string(), pa.int64(), pa.int32()
_SOURCE = [("group", _TEXT), ("source", _TEXT)]
_MEMBER = [("group", _TEXT), ("member", _TEXT)]
_TELLERS = pa.schema(
    [*_SOURCE, ("member", _TEXT), ("covered", _LONG), ("first_us", _LONG), ("last_us", _LONG)]
)
SCHEMAS: Mapping[str, pa.Schema] = {
    "names": scanning.NAMES,
    "changes": scanning.CHANGES,
    "groups": scanning.GROUPS,
    "counts": scanning.COUNTS,
    "events": EVENTS,
    "line": pa.schema(
        [
            *_SOURCE,
            *(
                (name, _LONG)
                for name in (
                    "messages",
                    "first_seq",
                    "last_seq",
                    "last_sent",
                    "most_sent",
                    "latest",
                    "stable_seq",
                    "stable_us",
                )
            ),
        ]
    ),
    "thin": pa.schema([*_SOURCE, ("seq", _LONG), ("sent", _LONG), ("stable", _LONG)]),
    "unsent": pa.schema([*_SOURCE, ("first_seq", _LONG), ("last_seq", _LONG)]),
    "claimers": _TELLERS,
    "releasers": _TELLERS,
    "laggards": TABLE_SCHEMAS["laggards"],
    "held": pa.schema(
        [
            *_MEMBER,
            *(
                (name, _LONG)
                for name in (
                    "messages",
                    "size",
                    "messages_max",
                    "size_max",
                    "message_us",
                    "holdings",
                    "checksum",
                )
            ),
        ]
    ),
    "kept": pa.schema([*_MEMBER, ("place", _INT), ("messages", _LONG), ("size", _LONG), ("since", _LONG)]),
    "course": pa.schema([*_MEMBER, ("bits", _LONG), ("span", _LONG), ("messages", _LONG), ("size", _LONG)]),
    "durations": DURATIONS,
    "violations": pa.schema([("kind", _TEXT), ("count", _LONG)]),
}


@dataclass(frozen=True, eq=False)
class State:
    """The tables that a part leaves to the next one."""

    tables: Mapping[str, pa.Table]

    @classmethod
    def nothing(cls) -> State:
        """Return what there is before the first part."""
        return cls({name: schema.empty_table() for name, schema in SCHEMAS.items()})

    @classmethod
    def of_tables(cls, tables: Mapping[str, pa.Table]) -> State:
        """Return the state that :meth:`to_tables` gave."""
        missing = sorted(SCHEMAS.keys() - tables.keys())
        if missing:
            raise InvalidInput(f"the state lacks {', '.join(missing)} (accepted: all tables of a state)")
        return cls({name: _read(tables[name], schema) for name, schema in SCHEMAS.items()})

    def to_tables(self) -> Mapping[str, pa.Table]:
        """Return the tables by name, to be written."""
        return dict(self.tables)

    @property
    def scan(self) -> Scan:
        """What is in all events so far."""
        return Scan(*(self.tables[name] for name in ("names", "changes", "groups", "counts")))

    @property
    def carried_rows(self) -> int:
        """How many events are carried on: the part of the state that grows with what is open."""
        return int(self.tables["events"].num_rows)

    @property
    def rows(self) -> int:
        """How many rows all tables have."""
        return sum(table.num_rows for table in self.tables.values())


def _read(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table as it was before it was written; encoded names may have become plain ones."""
    if schema is EVENTS:
        return encoded(table)
    return table.select(schema.names).cast(schema)
