"""Finished runs, found by their points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stablecast.errors import StablecastError
from stablecast.pipeline.point import Point
from stablecast.pipeline.schema import DONE, Row, options_of, result_of, table_of
from stablecast.showing import plot
from stablecast.simulate.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


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


Translate = Callable[[Point], Point]


class Runs:
    """Rows of a table of runs; ``runs[point]`` is the run of a point."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._runs = {row["key"]: Run(row) for row in rows}
        self._translate: Translate | None = None

    def seen_as(self, translate: Translate) -> Runs:
        """Return the same rows, in which a point stands for the run of another point."""
        seen = Runs(())
        seen._runs, seen._translate = self._runs, translate
        return seen

    def _key(self, point: Point) -> str:
        return (point if self._translate is None else self._translate(point)).key

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs.values())

    def __contains__(self, point: Point) -> bool:
        return self._key(point) in self._runs

    def __getitem__(self, point: Point) -> Run:
        try:
            return self._runs[self._key(point)]
        except KeyError:
            asked = point if self._translate is None else self._translate(point)
            raise MissingRun(f"this run was not made: {asked.replay}") from None

    @property
    def failed(self) -> list[Run]:
        """Runs that raised or took too long."""
        return [run for run in self if not run.ok]

    def to_pandas(self) -> DataFrame:
        """Return all columns of all runs (``docs/sweep.md``); those of a message's type are dictionaries."""
        return table_of([run.row for run in self]).to_pandas(maps_as_pydicts="strict")

    def plot(self, axes: Axes | None = None, *, y: str | None = None, x: str | None = None) -> Axes:
        """Draw a measurement beside an option, a line for each protocol; needs matplotlib.

        Without names, ``y`` is the time to stable if the runs have one and otherwise the time until the last
        member knows, and ``x`` the first option of numbers in which they differ.
        """
        return plot(self, axes, x=x, y=y)

    def _repr_html_(self) -> str:
        from stablecast.pipeline.showing import card_of_runs

        return card_of_runs([run.row for run in self]).html()
