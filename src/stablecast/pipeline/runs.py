"""Finished runs, found by their points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stablecast.errors import StablecastError
from stablecast.pipeline.point import Point
from stablecast.pipeline.schema import DONE, Row, options_of, result_of
from stablecast.simulate.result import Result


class MissingRun(StablecastError):
    """A table, claim or figure needs a run that failed or was never made."""


@dataclass(frozen=True)
class Run:
    """One row of a table of runs."""

    row: Row

    @property
    def options(self) -> dict[str, Any]:
        """The options of its point."""
        return options_of(self.row)

    @property
    def ok(self) -> bool:
        """Whether it came to an end by itself."""
        return bool(self.row["status"] == DONE)

    @cached_property
    def result(self) -> Result:
        """What it measured."""
        result = result_of(self.row)
        if result is None:
            raise MissingRun(f"no result: {self.row['error']}; replay with: {self.row['replay']}")
        return result

    @cached_property
    def extra(self) -> dict[str, float]:
        """What its task measured beside that."""
        if not self.ok:
            raise MissingRun(f"no result: {self.row['error']}; replay with: {self.row['replay']}")
        return dict(self.row["extra"] or {})


class Runs:
    """Rows of a table of runs; ``runs[point]`` is the run of a point."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._runs = {row["key"]: Run(row) for row in rows}

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs.values())

    def __contains__(self, point: Point) -> bool:
        return point.key in self._runs

    def __getitem__(self, point: Point) -> Run:
        try:
            return self._runs[point.key]
        except KeyError:
            raise MissingRun(f"this run was not made: {point.replay}") from None

    @property
    def failed(self) -> list[Run]:
        """Runs that raised or took too long."""
        return [run for run in self if not run.ok]
