"""The columns of the tables of positions.

frontiers
    One row for each change of a source's stable prefix: ``time_us`` when it grew, ``sent`` the head by
    then, ``stable`` the number at which it ends from then on, ``blocker`` the member that it had waited
    for until then: the one that had reached the least, of equals the smallest name; null if all that was
    sent was stable.
sources
    One row for each source that a head or a position names, at the end: how many numbers (``messages``)
    it has sent, from ``first_seq`` to ``last_seq``; ``stable_seq``, up to which all is stable,
    ``stable_us`` since when; ``waiting_for`` at most ten names of those that lack the next number,
    ``waiting`` how many do; ``oldest_us`` when that number was sent; ``heads_missing`` whether the source
    has no head of its own; ``retained_bytes`` what is sent and not stable, if numbers are bytes.
readers
    One row for each source and each member that is in the group at the end, has a position of the source,
    or has held it back.  ``position`` is the largest it has told, null if it has nothing; ``lag`` how
    many numbers it lacks and ``behind_since_us`` since when it has lacked some, both null for those that
    are gone. ``alone_us`` is the time for which it alone kept anything from being stable,
    ``alone_numbers_us`` the sum of these numbers over that time, up to the last row of the
    group.  ``completed`` is by how many numbers the prefix grew when it had waited for this
    member.  ``without_seq`` is where the prefix would end now without it.  ``blocks`` says whether the
    source waits for it now.
laggards
    One row for each member of a group that has any of ``completed_last`` (``completed``) and ``held_us``
    (``alone_numbers_us``), both added up over sources.
totals
    One row for each group: its sources; numbers sent, stable, and retained; of the sources that retain
    anything the earliest ``stable_us`` (``oldest_frontier_us``) and the earliest ``oldest_us``; and the
    member that the most sources wait for.
violations
    ``position_beyond_head``: the first position of a reader, member or not, that is above the head at its
    time. Sources without heads have none.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from stablecast.delivery.tables import in_schema

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
    """Return a table with the columns of its schema; names may be encoded."""
    schema = SCHEMAS[name]
    return in_schema(schema, [columns[key] for key in schema.names])
