"""What ``analyze`` or ``watch`` wrote: tables that are read in batches, whatever their size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from stablecast.analysis.stored import ACCEPTED, Stored, stored
from stablecast.errors import InvalidInput

NEEDED: Mapping[str, tuple[str, ...]] = {
    "messages": (
        *("group", "source", "seq", "bytes", "sent_us", "stable_us", "last_member", "required", "received"),
        *("detected_first_us", "detected_last_us", "released_first_us", "released_last_us"),
    ),
    "frontiers": ("group", "source", "time_us", "sent", "stable"),
    "buffers": ("group", "member", "messages_max", "bytes_max", "message_us"),
    "laggards": ("group", "member", "completed_last", "held_us", "held_bytes_us"),
    "violations": ("group", "kind", "member", "source", "seq", "time_us"),
}
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "occupancy": ("group", "member", "time_us", "messages", "bytes"),
    "sources": (
        *("group", "source", "messages", "first_seq", "last_seq"),
        *("stable_seq", "stable_us", "waiting_for", "waiting"),
    ),
}
POSITIONS: Mapping[str, tuple[str, ...]] = {
    "frontiers": (*NEEDED["frontiers"], "blocker"),
    "sources": (*OPTIONAL["sources"], "oldest_us", "heads_missing", "retained_bytes"),
    "readers": (
        *("group", "source", "member", "position", "lag", "behind_since_us", "alone_us"),
        *("alone_numbers_us", "completed", "without_seq", "blocks", "gone"),
    ),
    "laggards": NEEDED["laggards"],
    "totals": (
        *("group", "sources", "sent", "stable", "retained", "oldest_frontier_us", "oldest_us", "blocker"),
    ),
    "violations": NEEDED["violations"],
}
"""What is needed of an analysis of positions."""
NAMES = frozenset({"group", "source", "member", "kind", "last_member", "blocker"})
LISTS = frozenset({"waiting_for"})
FLAGS = frozenset({"heads_missing", "blocks", "gone"})
BATCH_ROWS = 131_072


class Tables:
    """The tables of one analysis; opening checks that they are there with their columns."""

    def __init__(self, folder: Path | str) -> None:
        self._stored = stored(folder)
        self.of_positions = _is_of_positions(self._stored)
        """Whether it is an analysis of heads and positions, not of messages."""
        needed = POSITIONS if self.of_positions else NEEDED
        _check_there(self._stored, needed)
        self.folder = folder
        self.summary = dict(self._stored.summary)
        self._datasets = {name: self._open(name, columns) for name, columns in needed.items()}
        for name, columns in ({} if self.of_positions else OPTIONAL).items():
            if name in self._stored.names and not _complaint(dataset := self._read_schema(name), columns):
                self._datasets[name] = dataset

    def has(self, name: str) -> bool:
        """Whether a table is there."""
        return name in self._datasets

    def rows(self, name: str) -> int:
        """Return how many rows a table has."""
        with self._reading(name):
            return int(self._datasets[name].count_rows())

    def batches(self, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of a table, a batch of rows at a time, in no order."""
        with self._reading(name):
            scanner = self._datasets[name].scanner(
                columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=4, fragment_readahead=1
            )
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])

    def _open(self, name: str, columns: Sequence[str]) -> ds.Dataset:
        dataset = self._read_schema(name)
        complaint = _complaint(dataset, columns)
        if complaint:
            raise InvalidInput(f"table '{name}' of '{self.folder}' {complaint} ({ACCEPTED})")
        return dataset

    def _read_schema(self, name: str) -> ds.Dataset:
        with self._reading(name):
            if not self._stored.files(name):
                raise InvalidInput(f"table '{name}' of '{self.folder}' has no Parquet file ({ACCEPTED})")
            return self._stored.dataset(name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInput(f"cannot read table '{name}' of '{self.folder}': {reason}") from None


def _complaint(dataset: ds.Dataset, columns: Sequence[str]) -> str:
    """Return what is wrong with a table's columns; nothing if they are as they should be."""
    lacking = [column for column in columns if column not in dataset.schema.names]
    if lacking:
        return f"lacks the column{'s' if lacking[1:] else ''} {', '.join(lacking)}"
    for column in columns:
        kind = dataset.schema.field(column).type
        if column in LISTS:
            continue
        if column in NAMES and not pa.types.is_string(kind):
            return f"has {kind} in the column {column}, where a name belongs"
        if column in FLAGS and not pa.types.is_boolean(kind):
            return f"has {kind} in the column {column}, where yes or no belongs"
        if column not in NAMES | FLAGS and not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
            return f"has {kind} in the column {column}, where a number belongs"
    return ""


def _is_of_positions(there: Stored) -> bool:
    """Tell by the tables: only messages have one of them, only positions one of readers."""
    return "readers" in there.names and "messages" not in there.names


def _check_there(there: Stored, needed: Iterable[str]) -> None:
    lacking = [name for name in needed if name not in there.names]
    if not lacking:
        return
    if there.has("claims.parquet"):
        raise InvalidInput(
            f"'{there.name}' holds the papers' evaluations, with their report '{there.name}/index.html'"
            f" ({ACCEPTED})"
        )
    if there.has("runs.parquet"):
        raise InvalidInput(f"'{there.name}' holds the runs of a sweep, not an analysis ({ACCEPTED})")
    raise InvalidInput(f"'{there.name}' is not an analysis: it lacks {', '.join(lacking)} ({ACCEPTED})")
