"""The output of a stream: one version after another, each whole, and a state to go on from.

Under ``.watch`` are ``versions/N`` with the tables after part N of the stream, ``state/N`` with the state
that is kept between parts, and ``final/TABLE`` with files of rows that will not change, which versions link
to. The output's own names are links through ``.watch/current``, so that one rename shows all tables of a
version at once. A part counts from the moment that ``state/N/state.json`` is there; what a killed run left of
a part is removed when the part is done again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stablecast.analysis.output import COMPRESSION, SUMMARY, write_table

HIDDEN, STATE = ".watch", "state.json"
GROWING = ("messages", "frontiers", "violations")
"""Tables of which a part is final."""
MOST_FILES = 40
"""Final files of a table; if there are more, small ones are merged."""


@dataclass(frozen=True)
class State:
    """What there is after a part of the stream."""

    part: int
    inputs: tuple[str, ...] = ()
    """Everything that was read so far, in order."""
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The final files of each growing table."""
    delay_us: int = 0
    linger_us: int = 0
    bad_rows: Mapping[str, int] = field(default_factory=dict)
    rebuilt: int = 0
    """How often everything was computed anew."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the stream was begun with, and has to go on with."""


class Versions:
    """The versions and states of one output folder."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.hidden = out / HIDDEN

    @property
    def checkpoint(self) -> Path:
        """Where Spark notes what it has read."""
        return self.hidden / "checkpoint"

    def latest(self, below: int | None = None) -> State | None:
        """Return the newest state, or the newest before a part."""
        parts = sorted(int(file.parent.name) for file in (self.hidden / "state").glob(f"*/{STATE}"))
        fitting = [part for part in parts if below is None or part < below]
        if not fitting:
            return None
        told = json.loads((self._state(fitting[-1]) / STATE).read_text(encoding="utf-8"))
        return State(**{**told, "inputs": tuple(told["inputs"])})

    def summary(self) -> dict[str, Any]:
        """Return what was last said of the tables that are shown."""
        told: dict[str, Any] = json.loads((self.hidden / "current" / SUMMARY).read_text(encoding="utf-8"))
        return told

    def kept(self, state: State | None) -> dict[str, pa.Table]:
        """Return the tables that are kept between parts, as they were after a part."""
        if state is None:
            return {}
        files = self._state(state.part).glob("*.parquet")
        return {file.stem: pq.read_table(file) for file in files}

    def begin(self, part: int) -> None:
        """Remove what is left of an earlier try at a part."""
        for leftover in (self._state(part), self._version(part)):
            shutil.rmtree(leftover, ignore_errors=True)
        for table in GROWING:
            for file in (self.hidden / "final" / table).glob(f"{part:09d}-*"):
                file.unlink()

    def add_final(self, part: int, table: str, rows: pa.Table, names: Sequence[str]) -> list[str]:
        """Write the final rows of a table, and return the names of all files with such rows."""
        if not rows.num_rows:
            return list(names)
        place = self.hidden / "final" / table
        place.mkdir(parents=True, exist_ok=True)
        name = f"{part:09d}-000.parquet"
        pq.write_table(rows, place / name, compression=COMPRESSION)
        return self.merge(part, table, [*names, name])

    def merge(self, part: int, table: str, names: Sequence[str]) -> list[str]:
        """Return final files with many small ones made one."""
        if len(names) <= MOST_FILES:
            return list(names)
        place = self.hidden / "final" / table
        by_size = sorted(names, key=lambda name: (place / name).stat().st_size)
        small = set(by_size[: MOST_FILES * 3 // 4])
        merged = f"{part:09d}-merged.parquet"
        schema = pq.read_schema(place / by_size[0])
        with pq.ParquetWriter(place / merged, schema, compression="zstd") as writer:
            for name in names:
                if name in small:
                    for batch in pq.ParquetFile(place / name).iter_batches():
                        writer.write_batch(batch)
        return [merged, *(name for name in names if name not in small)]

    def publish(
        self,
        state: State,
        tables: Mapping[str, pa.Table],
        kept: Mapping[str, pa.Table],
        summary: Mapping[str, Any],
    ) -> None:
        """Show a new version, and keep the state; of growing tables the rows that are not final are given."""
        version = self._version(state.part)
        version.mkdir(parents=True)
        for name, table in tables.items():
            write_table(version, name, table)
            for file in state.files.get(name, ()):
                os.link(self.hidden / "final" / name / file, version / name / file)
        (version / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        folder = self._state(state.part)
        folder.mkdir(parents=True)
        for name, table in kept.items():
            pq.write_table(table, folder / f"{name}.parquet", compression="lz4")
        beside = folder / f".{STATE}"
        beside.write_text(json.dumps(asdict(state)), encoding="utf-8")
        beside.rename(folder / STATE)  # from here on the part counts
        self.show(state)

    def show(self, state: State) -> None:
        """Let the output's names lead to a version, and remove what no longer matters."""
        _link(self.hidden / "current", f"versions/{state.part:09d}")
        for shown in sorted(self._version(state.part).iterdir()):
            _link(self.out / shown.name, f"{HIDDEN}/current/{shown.name}")
        for folder in (self.hidden / "state", self.hidden / "versions"):
            for old in folder.iterdir():
                if int(old.name) < state.part - 1:
                    shutil.rmtree(old, ignore_errors=True)
        for table, names in state.files.items():
            for file in (self.hidden / "final" / table).glob("*"):
                # A part that is done again may still need files of the one before.
                if file.name not in names and _part_of(file.name) < state.part - 1:
                    file.unlink()

    def _state(self, part: int) -> Path:
        return self.hidden / "state" / f"{part:09d}"

    def _version(self, part: int) -> Path:
        return self.hidden / "versions" / f"{part:09d}"


def _part_of(name: str) -> int:
    found = re.match(r"\d+", name)
    return int(found[0]) if found else 0


def _link(link: Path, target: str) -> None:
    """Let a link lead somewhere, in one step."""
    if link.is_symlink() and os.readlink(link) == target:  # noqa: PTH115
        return
    beside = link.with_name(f".{link.name}.new")
    beside.unlink(missing_ok=True)
    beside.symlink_to(target)
    beside.replace(link)
