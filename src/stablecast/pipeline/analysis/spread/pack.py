"""The first step: rows of a log become events, put together by bucket, and a scan of them."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from stablecast.analysis.reading.bad_rows import BadRows
from stablecast.analysis.reading.classify import Classified, classify
from stablecast.analysis.reading.events import classified_piece
from stablecast.analysis.reading.files import Piece
from stablecast.analysis.reading.foreign import Foreign
from stablecast.analysis.reading.mapping import Part
from stablecast.analysis.recast import as_positions
from stablecast.delivery.coded import Coded, looked_up
from stablecast.delivery.columns import Ints
from stablecast.delivery.kinds import HEAD, RELEASE, RUN_BITS
from stablecast.delivery.scan import Scan, merged, scan_of
from stablecast.delivery.schema import EVENTS
from stablecast.errors import InvalidInput
from stablecast.pipeline.analysis.spread.rows import Row, batches_of, packed

SEEN, EVENTS_OF = "seen", "events"
NOWHERE = -1
"""The bucket of what is for the driver."""
FLUSH_ROWS = 1 << 20
_MIX = np.uint64(0x9E3779B97F4A7C15)
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True)
class Seen:
    """What a worker has seen: the scan of good rows, and what is wrong with the others."""

    scan: Scan = field(default_factory=lambda: merged(()))
    bad: BadRows = field(default_factory=BadRows)
    columns: frozenset[str] = frozenset()
    """Columns of JSON that were found in any row, of those that the first rows lack."""
    refused: str = ""
    """One line about a file that cannot be read."""

    @classmethod
    def all_of(cls, parts: Iterable[Seen]) -> Seen:
        """Put together what several workers saw."""
        every, bad = list(parts), BadRows()
        for one in every:
            bad.include(one.bad)
        return cls(
            scan=merged(one.scan for one in every),
            bad=bad,
            columns=frozenset().union(*(one.columns for one in every)),
            refused=next((one.refused for one in every if one.refused), ""),
        )


@dataclass(frozen=True)
class Packing:
    """How rows become events, and events rows of buckets."""

    foreign: Foreign
    first_seq: int | str
    buckets: int
    cumulative: bool = False
    """Whether sends are heads and receipts are positions."""

    def pieces(self, every: Sequence[Piece], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the pieces of files whose numbers are the rows of batches; for ``mapInArrow``."""
        return batches_of(self._rows(self._of_pieces(every, batches)))

    def raw(self, part: Part, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows as they are in a log; for ``mapInArrow``."""
        found = (classify(batch, part, self.foreign, self.first_seq) for batch in batches if batch.num_rows)
        return batches_of(self._rows(found))

    def _of_pieces(self, every: Sequence[Piece], batches: Iterable[pa.RecordBatch]) -> Iterator[Classified]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from classified_piece(every[number], self.foreign, self.first_seq)

    def _rows(self, read: Iterator[Classified]) -> Iterator[Row]:
        """Yield events by bucket, and at the end what was seen of all of them."""
        seen, scans, waiting, count = Seen(), list[Scan](), list[pa.Table](), 0
        try:
            for found in read:
                seen.bad.add(found)
                seen = replace(seen, columns=seen.columns | found.seen)
                waiting.append(as_positions(found.events) if self.cumulative else found.events)
                count += found.events.num_rows
                if count >= FLUSH_ROWS:
                    scans.append((yield from self._flushed(waiting)))
                    waiting, count = [], 0
        except InvalidInput as error:
            # Spark would try again, and then bury the line in a traceback.
            yield Row(NOWHERE, SEEN, packed(replace(seen, refused=str(error))))
            return
        scans.append((yield from self._flushed(waiting)))
        yield Row(NOWHERE, SEEN, packed(replace(seen, scan=merged(scans))))

    def _flushed(self, tables: list[pa.Table]) -> Generator[Row, None, Scan]:
        """Yield events by bucket; return the scan of them."""
        events = pa.concat_tables([EVENTS.empty_table(), *tables]).unify_dictionaries().combine_chunks()
        yield from split(events, self.buckets)
        return scan_of(events)


def split(events: pa.Table, buckets: int) -> Iterator[Row]:
    """Put events of messages and positions together by bucket; changes of the membership are in the scan."""
    kind = events["kind"].to_numpy()
    told = np.flatnonzero((kind <= RELEASE) | (kind >= HEAD))
    if not len(told):
        return
    bucket = buckets_of(events, told, buckets)
    order = np.argsort(bucket, kind="stable")
    bounds = np.searchsorted(bucket[order], np.arange(buckets + 1))
    rows = told[order]
    columns = {name: _Column(events[name], rows) for name in EVENTS.names}
    for number in np.flatnonzero(np.diff(bounds)).tolist():
        begin, end = bounds[number], bounds[number + 1]
        table = pa.table([columns[name].part(begin, end) for name in EVENTS.names], schema=EVENTS)
        yield Row(number, EVENTS_OF, as_bytes(table))


class _Column:
    """A column in another order, of which parts are taken; a part has only the names that are in it."""

    def __init__(self, column: pa.ChunkedArray, rows: Ints) -> None:
        self._names = pa.types.is_dictionary(column.type)
        if self._names:
            self._coded = Coded.of(column)
            self._codes = self._coded.codes[rows]
        else:
            self._array = column.combine_chunks().take(pa.array(rows))

    def part(self, begin: int, end: int) -> pa.Array:
        """Return some of it."""
        if not self._names:
            return self._array.slice(begin, end - begin)
        codes = self._codes[begin:end]
        needed = np.flatnonzero(np.bincount(codes, minlength=1))
        place = np.empty(len(self._coded.values), np.int32)
        place[needed] = np.arange(len(needed), dtype=np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(place[codes]), self._coded.names(needed))


def as_bytes(table: pa.Table) -> bytes:
    """Return a table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def events_in(parts: Iterable[bytes]) -> pa.Table:
    """Return the events of several rows of a bucket."""
    tables = [pa.ipc.open_stream(data).read_all() for data in parts]
    return pa.concat_tables([EVENTS.empty_table(), *tables]).unify_dictionaries()


def buckets_of(events: pa.Table, rows: Ints, buckets: int) -> Ints:
    """Return the bucket of each row: by source and run of numbers, for positions by source alone."""
    hashed = looked_up(Coded.of(events["group"]), Coded.of(events["source"]), rows, _hashes)
    kind, seq = events["kind"].to_numpy()[rows], events["seq"].fill_null(0).to_numpy()[rows]
    run = np.where(kind <= RELEASE, seq >> RUN_BITS, 0)
    mixed = (hashed + run.astype(np.uint64)) * _MIX
    found: Ints = ((mixed >> np.uint64(33)) % np.uint64(buckets)).astype(np.uint16)
    return found


def _hashes(groups: list[str], sources: list[str]) -> Ints:
    """Return a number for each group and source that is the same in all processes."""
    words = [f"{group}\0{source}".encode() for group, source in zip(groups, sources, strict=True)]
    return np.array([zlib.crc32(word) | zlib.adler32(word) << 32 for word in words], np.uint64)
