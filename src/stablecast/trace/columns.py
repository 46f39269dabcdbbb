"""Events as columns of numbers, from files of JSON lines, from Parquet, or one by one.

Events of one member are expected in the order in which they happened; between members times decide.  Of wire
traces the rows about transmissions, arrivals and timers are left out, and so are the columns for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.trace.schema import KINDS, WIRE_COLUMNS, WIRE_KINDS, arrow_schema

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

ABSENT = -1
"""In place of a name, a number or a size that an event does not have."""
JSON_BLOCK_BYTES = 8 << 20


class Event(NamedTuple):
    """One event of the schema."""

    group: str
    kind: str
    member: str
    source: str | None
    seq: int | None
    time_us: int
    bytes: int | None = None


@dataclass(frozen=True)
class Columns:
    """Events, a row each; names are places in lists."""

    groups: list[str]
    members: list[str]
    """Members and sources, smallest name first."""
    group: Ints
    kind: Ints
    """Places in ``KINDS``."""
    member: Ints
    source: Ints
    seq: Ints
    time_us: Ints
    size: Ints

    def __len__(self) -> int:
        return int(self.kind.size)

    def where(self, chosen: Mask) -> Columns:
        """Return the chosen rows."""
        taken = [column[chosen] for column in self._rows()]
        return Columns(self.groups, self.members, *taken)

    def of_kind(self, *kinds: str) -> Columns:
        """Return the events of these kinds."""
        return self.where(np.isin(self.kind, [KINDS.index(kind) for kind in kinds]))

    def _rows(self) -> tuple[Ints, ...]:
        return (self.group, self.kind, self.member, self.source, self.seq, self.time_us, self.size)


def columns_of(events: Iterable[Event]) -> Columns:
    """Return events, given one by one, as columns."""
    rows = list(events)
    names = arrow_schema().names
    columns = [pa.array([row[k] for row in rows], field.type) for k, field in enumerate(arrow_schema())]
    return _columns([_coded(pa.record_batch(columns, names=names))])


def read_columns(files: Sequence[Path]) -> Columns:
    """Read events from files: Parquet by its name's ending, JSON lines otherwise.

    A last line without an end was being written when its member was killed, and is left out.
    """
    parts = [_coded(batch) for file in files for batch in _batches(file)]
    return _columns(parts or [_coded(pa.RecordBatch.from_pylist([], arrow_schema()))])


@dataclass(frozen=True)
class _Coded:
    """A batch with its names as places in lists of its own."""

    names: dict[str, list[str]]
    numbers: dict[str, Ints]


def _batches(file: Path) -> Iterator[Any]:
    try:
        if file.suffix == ".parquet":
            yield from pq.ParquetFile(file).iter_batches()
        else:
            yield from _json_batches(file)
    except OSError as error:
        raise InvalidInput(f"cannot read the trace '{file}': {error.strerror or error}") from None
    except pa.ArrowException as error:
        raise InvalidInput(f"the trace '{file}' is not in the event schema: {error}") from None


def _json_batches(file: Path) -> Iterator[Any]:
    whole = _whole_lines(file)
    if not whole:
        return
    options = pj.ParseOptions(explicit_schema=arrow_schema(wire=True), unexpected_field_behavior="error")
    source = pa.BufferReader(pa.py_buffer(whole))
    table = pj.read_json(source, pj.ReadOptions(block_size=JSON_BLOCK_BYTES), options)
    yield from table.to_batches()


def _whole_lines(file: Path) -> bytes:
    content = file.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def _coded(batch: Any) -> _Coded:
    names, numbers = {}, {}
    if WIRE_COLUMNS[0] in batch.schema.names and "kind" in batch.schema.names:
        batch = batch.filter(pc.invert(pc.is_in(batch.column("kind"), pa.array(WIRE_KINDS))))
    for field in arrow_schema():
        if field.name not in batch.schema.names:
            accepted = ", ".join(arrow_schema().names)
            raise InvalidInput(f"an event has no '{field.name}' (accepted: {accepted})")
        column = batch.column(field.name)
        if not field.nullable and column.null_count:
            raise InvalidInput(f"an event has no '{field.name}', which every event has")
        if pa.types.is_string(field.type):
            coded = pc.dictionary_encode(column)
            names[field.name] = coded.dictionary.to_pylist()
            column = coded.indices
        numbers[field.name] = pc.fill_null(column.cast(pa.int64()), ABSENT).to_numpy(zero_copy_only=False)
    return _Coded(names, numbers)


def _columns(parts: list[_Coded]) -> Columns:
    groups = sorted({name for part in parts for name in part.names["group"]})
    both = ("member", "source")
    members = sorted({name for part in parts for column in both for name in part.names[column]})
    unknown = {name for part in parts for name in part.names["kind"]} - set(KINDS)
    if unknown:
        raise InvalidInput(f"an event of kind '{min(unknown)}' (accepted: {', '.join(KINDS)})")

    def joined(column: str, known: Sequence[str]) -> Ints:
        places = {name: place for place, name in enumerate(known)}
        return np.concatenate([_placed(part, column, places) for part in parts])

    def numbers(column: str) -> Ints:
        return np.concatenate([part.numbers[column] for part in parts])

    columns = Columns(
        groups,
        members,
        joined("group", groups),
        joined("kind", KINDS),
        joined("member", members),
        joined("source", members),
        numbers("seq"),
        numbers("time_us"),
        numbers("bytes"),
    )
    _check_messages(columns)
    return columns


def _check_messages(columns: Columns) -> None:
    messages = columns.of_kind("send", "receive", "stable", "release")
    if (messages.source == ABSENT).any() or (messages.seq < 0).any():
        raise InvalidInput(
            "an event of a message has no source or no seq (accepted: a name, and a number from 0)"
        )


def _placed(part: _Coded, column: str, places: dict[str, int]) -> Ints:
    """Return a column of names as places in the list that all parts share."""
    own = np.array([places[name] for name in part.names[column]] + [ABSENT], np.int64)
    placed: Ints = own[part.numbers[column]]  # ABSENT is the last one
    return placed
