"""Delivery logs that are not in the schema: other names of columns and kinds, other times, JSON and CSV."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import duckdb

from stablecast.analysis.options import Options
from stablecast.analysis.reading.foreign import Foreign

COLUMNS = {
    "group": "topic",
    "kind": "what",
    "member": "who",
    "source": "origin",
    "seq": "number",
    "time_us": "moment",
    "bytes": "length",
}
KINDS = {"produced": "send", "consumed": "receive"}
TYPES = {name: "BIGINT" if name in ("number", "length") else "VARCHAR" for name in COLUMNS.values()}


class Log(NamedTuple):
    """A kind of log."""

    ending: str
    form: str
    """In which DuckDB writes it."""
    time: str
    """How it says a time in microseconds, in SQL."""
    microseconds: str
    """How a time in it becomes microseconds again, in SQL."""
    reader: str
    """DuckDB's function for it, with what it has to be told."""
    time_type: str
    time_unit: str

    def made_of(self, events: Path) -> Path:
        """Write the files of a trace as such a log, if that has not been done."""
        folder = events.with_name(f"{events.name}-{self.ending}")
        if not folder.exists():
            print(f"# making {folder}", file=sys.stderr)
            folder.mkdir()
            for file in sorted(events.glob("*.parquet")):
                query = f"SELECT {_renamed(self.time)} FROM read_parquet('{file}')"
                duckdb.sql(f"COPY ({query}) TO '{folder / file.stem}.{self.ending}' {self.form}")
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{folder.name}: {size / 1e6:,.0f} MB")
        return folder

    def query(self, folder: Path) -> str:
        """Return how DuckDB reads it as events of the schema."""
        types = {**TYPES, "moment": self.time_type}
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in types.items())
        back = {theirs: ours for ours, theirs in COLUMNS.items()} | {"what": "kind"}
        kinds = " ".join(f"WHEN '{theirs}' THEN '{ours}'" for theirs, ours in KINDS.items())
        values = {
            "what": f"CASE what {kinds} ELSE what END",
            "moment": self.microseconds,
            "length": "length::INTEGER",
        }
        chosen = ", ".join(f'{values.get(name, name)} AS "{ours}"' for name, ours in back.items())
        return f"SELECT {chosen} FROM {self.reader}('{folder}/*.{self.ending}', columns = {{{columns}}})"

    def options(self) -> Options:
        """Return how the analysis is told."""
        return Options(foreign=Foreign(COLUMNS, {}, KINDS, self.time_unit))


def _renamed(time: str) -> str:
    kinds = " ".join(f"WHEN '{ours}' THEN '{theirs}'" for theirs, ours in KINDS.items())
    values = {"kind": f"CASE kind {kinds} ELSE kind END", "time_us": time}
    return ", ".join(
        f"{values.get(ours, chr(34) + ours + chr(34))} AS {theirs}" for ours, theirs in COLUMNS.items()
    )


JSON = Log(
    "jsonl", "(FORMAT json)", "time_us / 1000", "round(moment * 1000)::BIGINT", "read_json", "DOUBLE", "ms"
)
CSV = Log(
    "csv",
    "(FORMAT csv, HEADER)",
    "strftime(make_timestamp(time_us), '%Y-%m-%dT%H:%M:%S.%fZ')",
    "epoch_us(moment)",
    "read_csv",
    "TIMESTAMPTZ",
    "timestamp",
)
