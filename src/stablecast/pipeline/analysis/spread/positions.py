"""Positions on Spark: all rows of a source are in one bucket, and each bucket makes the tables of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from stablecast.analysis.options import Options
from stablecast.delivery.membership import Membership
from stablecast.delivery.positions.schemas import SCHEMAS
from stablecast.delivery.positions.sums import laggards, totals
from stablecast.delivery.positions.tables import source_tables
from stablecast.pipeline.analysis.spread.pack import as_bytes, events_in
from stablecast.pipeline.analysis.spread.rows import Row, by_bucket

LARGE, SMALL = ("frontiers", "violations"), ("sources", "readers")
"""Tables of changes, and tables of sources and readers, which are put together at the driver."""


@dataclass(frozen=True, eq=False)
class Following:
    """How the positions of buckets are followed."""

    membership: Membership
    options: Options

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Make the tables of each bucket."""
        for bucket, together in by_bucket(rows):
            found = source_tables(
                events_in(row.data for row in together),
                self.membership,
                first_seq=self.options.first_seq,
                next_offset=self.options.next_offset,
                bytes_are_numbers=self.options.numbers_are_bytes,
            )
            for name, table in found.items():
                if table.num_rows:
                    yield Row(bucket, name, as_bytes(table))


def put_together(parts: Mapping[str, list[pa.Table]], options: Options) -> dict[str, pa.Table]:
    """Return the small tables of all buckets, and the sums over them."""
    found = {name: pa.concat_tables([SCHEMAS[name].empty_table(), *parts.get(name, [])]) for name in SMALL}
    found["laggards"] = laggards(found["readers"], bytes_are_numbers=options.numbers_are_bytes)
    found["totals"] = totals(found["sources"], found["readers"])
    return found
