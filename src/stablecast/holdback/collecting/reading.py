"""The rows of a collection, read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.errors import InvalidInput
from stablecast.holdback.audit import Deletion, Event
from stablecast.holdback.collecting.tables import DELETIONS, POSITIONS


def read_events(folder: Path) -> list[Event]:
    """Return the rows of positions of a collection; if there are none, nothing can be said of it."""
    names = list(Event._fields)
    events = [Event(*row) for row in _rows(folder, POSITIONS, names)]
    if not events:
        raise InvalidInput(
            f"'{folder}' has no rows yet: nothing was there to judge (accepted: the DIR of a `stablecast"
            " collect` that has written files)"
        )
    return events


def read_deletions(folder: Path) -> list[Deletion]:
    """Return the rows of deletions of a collection; there may be none."""
    rows = _rows(folder, DELETIONS, list(Deletion._fields))
    return [Deletion._make((*row[:-1], tuple(row[-1] or ()))) for row in rows]


def _rows(folder: Path, table: str, names: list[str]) -> Iterator[tuple[Any, ...]]:
    if not (folder / POSITIONS).is_dir():
        raise InvalidInput(
            f"'{folder}' is no collection (accepted: the DIR of `stablecast collect --out DIR`)"
        )
    for file in sorted((folder / table).glob("*.parquet")):
        try:
            read = pq.read_table(file, columns=names)
        except (OSError, pa.ArrowInvalid, pa.ArrowKeyError) as error:
            raise InvalidInput(f"cannot read '{file}': {' '.join(str(error).split())}") from None
        yield from zip(*(read[name].to_pylist() for name in names), strict=True)
