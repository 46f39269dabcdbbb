"""What ``stablecast analyze`` wrote: tables that are read in batches, whatever their size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

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
ACCEPTED = "accepted: a folder that 'stablecast analyze' wrote"


class Tables:
    """The tables of one analysis; opening checks that they are there with their columns."""

    def __init__(self, folder: Path) -> None:
        self.of_positions = _is_of_positions(folder)
        """Whether it is an analysis of heads and positions, not of messages."""
        needed = POSITIONS if self.of_positions else NEEDED
        _check_folder(folder, needed)
        self.folder = folder
        self.summary = _read_summary(folder / "summary.json")
        self._datasets = {name: self._open(name, columns) for name, columns in needed.items()}
        for name, columns in ({} if self.of_positions else OPTIONAL).items():
            if (folder / name).is_dir() and not _complaint(dataset := self._read_schema(name), columns):
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
        # A table that is kept current is a link to its newest version; all of it is read from that one.
        files = _data_files((self.folder / name).resolve())
        if not files:
            raise InvalidInput(f"table '{name}' of '{self.folder}' has no Parquet file ({ACCEPTED})")
        with self._reading(name):
            return ds.dataset([str(file) for file in files], format="parquet")

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


def _is_of_positions(folder: Path) -> bool:
    """Tell by the tables: only messages have one of them, only positions one of readers."""
    return (folder / "readers").is_dir() and not (folder / "messages").is_dir()


def _check_folder(folder: Path, needed: Iterable[str]) -> None:
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "is not there"
        raise InvalidInput(f"'{folder}' {what} ({ACCEPTED})")
    lacking = [name for name in needed if not (folder / name).is_dir()]
    if not lacking:
        return
    if (folder / "claims.parquet").exists():
        raise InvalidInput(
            f"'{folder}' holds the papers' evaluations, with their report '{folder / 'index.html'}'"
            f" ({ACCEPTED})"
        )
    if (folder / "runs.parquet").exists():
        raise InvalidInput(f"'{folder}' holds the runs of a sweep, not an analysis ({ACCEPTED})")
    raise InvalidInput(f"'{folder}' is not an analysis: it lacks {', '.join(lacking)} ({ACCEPTED})")


def _data_files(folder: Path) -> list[Path]:
    """Return a table's files; those whose name starts with a dot or an underscore are notes of the writer."""
    files = (file for file in folder.rglob("*.parquet") if file.is_file())
    return sorted(
        file for file in files if not any(part[0] in "._" for part in file.relative_to(folder).parts)
    )


def _read_summary(file: Path) -> dict[str, Any]:
    """Return what ``summary.json`` says; nothing if it is not there."""
    try:
        summary = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read '{file}': {error} ({ACCEPTED})") from None
    if not isinstance(summary, dict):
        raise InvalidInput(f"'{file}' is not an object of JSON ({ACCEPTED})")
    return summary
