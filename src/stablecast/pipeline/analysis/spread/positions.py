"""Positions on Spark: all rows of a source are in one bucket, and each bucket makes the tables of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from stablecast.analysis.options import Options
from stablecast.analysis.recast import with_kinds
from stablecast.delivery.memberships import Memberships, memberships
from stablecast.delivery.position_schemas import SCHEMAS
from stablecast.delivery.position_sums import laggards, totals
from stablecast.delivery.position_tables import source_tables
from stablecast.delivery.scan import READS, Scan
from stablecast.pipeline.analysis.spread.pack import as_bytes, events_in
from stablecast.pipeline.analysis.spread.rows import Row, by_bucket

LARGE, SMALL = ("frontiers", "violations"), ("sources", "readers")
"""Tables of changes, and tables of sources and readers, which are put together at the driver."""


@dataclass(frozen=True, eq=False)
class Following:
    """How the positions of buckets are followed."""

    members: Memberships
    options: Options

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Make the tables of each bucket."""
        for bucket, together in by_bucket(rows):
            events = with_kinds(events_in(row.data for row in together).combine_chunks())
            found = source_tables(
                events,
                self.members,
                first_seq=self.options.first_seq,
                next_offset=self.options.next_offset,
                bytes_are_numbers=self.options.numbers_are_bytes,
            )
            for name, table in found.items():
                if table.num_rows:
                    yield Row(bucket, name, as_bytes(table))


def members_of(scan: Scan) -> Memberships:
    """Find who was in which group when, from what a scan saw."""
    last = dict(zip(scan.groups["group"].to_pylist(), scan.groups["last_us"].to_pylist(), strict=True))
    rows = [
        (row["group"], "join" if row["joins"] else "leave", row["name"], row["time_us"])
        for row in scan.changes.to_pylist()
    ]
    rows += [
        (row["group"], "position", row["name"], last[row["group"]])
        for row in scan.names.to_pylist()
        if row["roles"] & READS
    ]
    # A group's time ends with its last row, whoever has it.
    rows += [(group, "head", group, time) for group, time in last.items()]
    columns = zip(*rows, strict=True)
    return memberships(pa.table(dict(zip(("group", "kind", "member", "time_us"), columns, strict=True))))


def put_together(parts: Mapping[str, list[pa.Table]], options: Options) -> dict[str, pa.Table]:
    """Return the small tables of all buckets, and the sums over them."""
    found = {name: pa.concat_tables([SCHEMAS[name].empty_table(), *parts.get(name, [])]) for name in SMALL}
    found["laggards"] = laggards(found["readers"], bytes_are_numbers=options.numbers_are_bytes)
    found["totals"] = totals(found["sources"], found["readers"])
    return found
