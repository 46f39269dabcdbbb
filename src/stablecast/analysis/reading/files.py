"""Files in pieces that can be read apart, anywhere: row groups of Parquet, ranges of lines.

A piece is small; it says what to open, which part of it to read, and which columns are needed.  It can be
pickled if Arrow opens it.  All pieces together give every row once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.analysis.reading.addresses import Systems, arrow_system, looked_into, opened, size_of
from stablecast.analysis.reading.csv_lines import CsvReader
from stablecast.analysis.reading.foreign import NUMBERS, Foreign
from stablecast.analysis.reading.heads import CSV, PARQUET, absolute, told_in_one_line, unfinished_line
from stablecast.analysis.reading.inputs import THREADS, Input, Inputs, compression_of
from stablecast.analysis.reading.json_lines import JsonReader
from stablecast.analysis.reading.line_blocks import BLOCK_BYTES, Block, line_blocks
from stablecast.analysis.reading.mapping import Part, plan_parts
from stablecast.errors import InvalidInput

BATCH_ROWS = 1 << 18
PIECE_ROWS = 1 << 21
PIECE_BYTES = 64 << 20
"""Of text that is not compressed."""
LINE_BYTES = 128
"""About how long a line of text is."""


@dataclass(frozen=True)
class Piece:
    """What one worker reads at a time."""

    path: str
    """A path of this machine from the root, or an address."""
    name: str
    """As the user knows the file."""
    part: Part
    """Its format and columns."""
    time_unit: str
    start: int = 0
    """The first row group, or the byte from which on lines begin."""
    end: int | None = None
    """The row group after the last, or the byte before which lines begin; None for all that follow."""
    compression: str | None = None
    rows: int | None = None
    """How many rows it has, where that is known."""
    size: int = 0
    """About how many bytes it has in its file."""
    systems: Systems = arrow_system
    """How it is opened."""


def pieces(
    inputs: Inputs,
    foreign: Foreign,
    *,
    rows: int = PIECE_ROWS,
    text_bytes: int = PIECE_BYTES,
    systems: Systems = arrow_system,
) -> list[Piece]:
    """Say what is to be read, having refused files that lack columns.

    Parameters
    ----------
    inputs
        What to read.
    foreign
        How it says what the schema says.
    rows, text_bytes
        About how much a piece of Parquet, or of text that is not compressed, holds at most.
    systems
        How addresses are opened.
    """
    seen = looked_into(inputs, systems)
    parts = {path: replace(part, paths=()) for part in plan_parts(seen, foreign) for path in part.paths}
    files = [file for file in seen.files if file.path in parts]

    def cut(file: Input) -> list[Piece]:
        # Spark takes the path of a local file for a pattern, so its name is what can be opened.
        path = file.path if file.path == file.name else absolute(Path(file.name))
        part = replace(parts[file.path], name=file.name)
        piece = Piece(path, file.name, part, foreign.time_unit, systems=systems)
        with _reading(piece):
            if part.format == PARQUET:
                return _row_groups(piece, rows)
            return _ranges(replace(piece, compression=compression_of(file.name)), text_bytes)

    with ThreadPoolExecutor(THREADS) as pool:
        return [piece for found in pool.map(cut, files) for piece in found]


def raw_batches(piece: Piece, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece as they are in the log, with the columns that are needed.

    Lines that are no rows have their text in the column :data:`~stablecast.analysis.reading.raw.UNREAD`.
    """
    read = _parquet_batches(piece, batch_rows) if piece.part.format == PARQUET else _text_batches(piece)
    with _reading(piece):
        for batch in read:
            if batch.num_rows:
                yield batch


def first_rows(piece: Piece, rows: int) -> pa.RecordBatch | None:
    """Return the first rows of a piece without reading all of it; None if it has none."""
    if piece.part.format == PARQUET:
        read = _parquet_batches(piece, rows)
    else:
        read = _text_batches(piece, block_bytes=rows * LINE_BYTES)
    with _reading(piece):
        found = next((batch for batch in read if batch.num_rows), None)
    return None if found is None else found.slice(0, rows)


@contextmanager
def _reading(piece: Piece) -> Iterator[None]:
    """Turn what reading raises into one line about the file."""
    try:
        with told_in_one_line(piece.name):
            yield
    except InvalidInput as error:
        cause = error.__context__
        if isinstance(cause, FileNotFoundError):
            raise InvalidInput(
                f"'{piece.name}' is gone: it was there at the start, and was removed since"
            ) from None
        if isinstance(cause, OSError) and cause.errno is None:
            raise InvalidInput(f"{error} (it is damaged or cut short)") from None
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise InvalidInput(f"cannot read '{piece.name}': {why} (it is damaged or cut short)") from None


def _row_groups(piece: Piece, rows: int) -> list[Piece]:
    with opened(piece.path, piece.systems) as file:
        metadata = pq.read_metadata(file)
    found: list[Piece] = []
    start = taken = size = 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        if taken and taken + group.num_rows > rows:
            found.append(replace(piece, start=start, end=place, rows=taken, size=size))
            start, taken, size = place, 0, 0
        taken += group.num_rows
        size += group.total_byte_size
    if taken:
        found.append(replace(piece, start=start, end=metadata.num_row_groups, rows=taken, size=size))
    return found


def _ranges(piece: Piece, text_bytes: int) -> list[Piece]:
    size = size_of(piece.path, piece.systems)
    if piece.compression is not None or size <= text_bytes:
        return [replace(piece, size=size)]
    starts = list(range(0, size, text_bytes))
    ends: Sequence[int | None] = [*starts[1:], None]
    return [
        replace(piece, start=start, end=end, size=(end or size) - start)
        for start, end in zip(starts, ends, strict=True)
    ]


def _parquet_batches(piece: Piece, batch_rows: int) -> Iterator[pa.RecordBatch]:
    columns = {name: column for name, column in piece.part.columns.items() if column.type != "void"}
    paths = sorted({".".join(column.place) for column in columns.values()})
    names = [
        ".".join(column.place)
        for name, column in columns.items()
        if name not in NUMBERS and column.type == "string"
    ]
    with (
        opened(piece.path, piece.systems) as source,
        pq.ParquetFile(source, read_dictionary=names, coerce_int96_timestamp_unit="us") as file,
    ):
        end = file.num_row_groups if piece.end is None else piece.end
        groups = list(range(piece.start, end))
        yield from file.iter_batches(batch_rows, row_groups=groups, columns=paths, use_threads=False)


def _text_batches(piece: Piece, block_bytes: int = BLOCK_BYTES) -> Iterator[pa.RecordBatch]:
    part = piece.part
    is_csv = part.format == CSV
    csv = CsvReader(part.columns, part.width, part.separator, piece.time_unit) if is_csv else None
    lines = None if is_csv else JsonReader(part.columns, piece.time_unit)
    for block in _blocks(piece, block_bytes):
        if csv is not None:
            yield from csv.batches(block.data, header=block.first)
        elif lines is not None:
            is_open = block.last and not piece.compression
            yield from lines.batches(_finished(block.data) if is_open else block.data)


def _blocks(piece: Piece, block_bytes: int) -> Iterator[Block]:
    with opened(piece.path, piece.systems) as file:
        if piece.compression is None:
            yield from line_blocks(file, piece.start, piece.end, size=block_bytes)
        elif file.size():
            with pa.CompressedInputStream(file, piece.compression) as stream:
                yield from line_blocks(stream, size=block_bytes)


def _finished(lines: bytes) -> bytes:
    """Return the lines without a last one that its writer did not finish."""
    cut = unfinished_line(lines, begins=True)
    return lines[: len(lines) - len(cut)]
