"""The third step: with what was before each run, prefixes, detections, and what is out of line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.delivery import tables
from stablecast.delivery.claims import Later, claimed_later, early_claims, known_when
from stablecast.delivery.columns import Ints, Longs, chosen, joined
from stablecast.delivery.durations import durations_of
from stablecast.delivery.kinds import FirstSeq
from stablecast.delivery.line import (
    Before,
    Frontiers,
    Runs,
    last_runs_by,
    nothing_before,
    put_in_line,
    sent_by,
    walk,
)
from stablecast.delivery.membership import Membership
from stablecast.delivery.sources import Ends, ends_of
from stablecast.pipeline.analysis.spread.judge import JUDGED, Judged, Sums
from stablecast.pipeline.analysis.spread.pack import NOWHERE, as_bytes
from stablecast.pipeline.analysis.spread.rows import Row, by_bucket, packed, unpacked

MESSAGES, VIOLATIONS_OF, ASKED, SENDS, ENDS = "messages", "violations", "asked", "sends", "ends"


class Around(NamedTuple):
    """What is around all runs of all sources, in order."""

    runs: Runs
    before: Before
    later: Later
    bucket: Ints
    """Where each run is."""

    def of_bucket(self, bucket: int) -> tuple[Before, Later]:
        """Return what is around the runs of a bucket, in the order that they have there."""
        here = np.flatnonzero(self.bucket == bucket)
        return chosen(self.before, here), self.later._replace(
            begin=self.later.begin[here], rows=self.later.rows[here]
        )


def around(sums: Iterable[Sums], membership: Membership, first_seq: FirstSeq) -> Around:
    """Put the runs of all buckets in line."""
    every = list(sums)
    runs = joined([one.runs for one in every])
    cells = joined([one.cells for one in every])
    bucket = np.repeat([one.bucket for one in every], [len(one.runs.source) for one in every])
    order = np.lexsort((runs.number, runs.source))
    runs, bucket = chosen(runs, order), bucket[order]
    cells = chosen(cells, np.lexsort((cells.run, cells.source)))
    later = claimed_later(cells, runs, len(membership.stays.start))
    return Around(runs, put_in_line(runs, first_seq, nothing_before(membership.name_count)), later, bucket)


class Ended(NamedTuple):
    """What the driver needs of a linked bucket."""

    bucket: int
    ends: Ends
    durations: pa.Table
    violations: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Linking:
    """How buckets are linked."""

    membership: Membership
    around: Around

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Link each bucket."""
        names = tables.Names(self.membership)
        for bucket, together in by_bucket(rows):
            for row in together:
                if row.what == JUDGED:
                    yield from self._linked(bucket, unpacked(row.data), names)

    def _linked(self, bucket: int, judged: Judged, names: tables.Names) -> Iterator[Row]:
        messages, starts = judged.messages, judged.starts
        before, later = self.around.of_bucket(bucket)
        line, frontiers, out_of_line = walk(messages, starts, before, self.membership.first_stay)
        found, known = [judged.violations, out_of_line], None
        if len(self.around.later.stay) or len(judged.claims.seq):
            known = known_when(messages, starts, judged.claims, judged.claim_starts, later, self.membership)
            found.append(early_claims(judged.claims, judged.claim_starts, messages, starts, line, before))
        every = joined(found)
        wrong = tables.violations_table(every, names)
        yield Row(bucket, MESSAGES, as_bytes(tables.messages_table(messages, known, names)))
        if wrong.num_rows:
            yield Row(bucket, VIOLATIONS_OF, as_bytes(wrong))
        yield Row(bucket, SENDS, packed((messages.source, messages.seq, messages.sent)))
        yield from self._asked(frontiers)
        counts = wrong["kind"].value_counts().to_pylist()
        ended = Ended(
            bucket=bucket,
            ends=ends_of(starts, messages, line, judged.waiting),
            durations=durations_of(messages, known, slice(None)),
            violations={row["values"]: row["counts"] for row in counts},
        )
        yield Row(NOWHERE, ENDS, packed(ended))

    def _asked(self, frontiers: Frontiers) -> Iterator[Row]:
        """Yield changes of prefixes by the bucket that knows what had been sent by then."""
        runs = last_runs_by(frontiers.time, frontiers.source, self.around.runs, self.around.before)
        target = self.around.bucket[runs]
        for bucket in np.unique(target).tolist():
            yield Row(int(bucket), ASKED, packed(chosen(frontiers, np.flatnonzero(target == bucket))))


def tables_in(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tables that are in rows as bytes; for ``mapInArrow``."""
    for batch in batches:
        for data in batch.column(batch.schema.get_field_index("data")):
            with pa.ipc.open_stream(data.as_buffer()) as reader:
                yield from reader


@dataclass(frozen=True, eq=False)
class Resolving:
    """Finds what had been sent when prefixes changed, and names what is asked for."""

    membership: Membership

    def __call__(self, rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
        """Resolve the changes that each bucket was asked for."""
        names = tables.Names(self.membership)
        for _, together in by_bucket(rows):
            asked = [unpacked(row.data) for row in together if row.what == ASKED]
            sends = [unpacked(row.data) for row in together if row.what == SENDS]
            if asked:
                yield from self._resolved(asked, sends, names).to_batches()

    def _resolved(
        self, asked: list[Frontiers], sends: list[tuple[Longs, ...]], names: tables.Names
    ) -> pa.Table:
        frontiers = joined(asked)
        frontiers = chosen(frontiers, np.lexsort((frontiers.time, frontiers.source)))
        source, seq, sent = (np.concatenate(columns) for columns in zip(*sends, strict=True))
        return tables.frontiers_table(
            frontiers, sent_by(frontiers.time, frontiers.source, source, seq, sent), names
        )
