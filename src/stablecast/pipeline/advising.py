"""Runs of the advisor on Spark: each is a task of its own, and comes back as what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from stablecast.advisor.measuring import Measured, Run, measure
from stablecast.pipeline.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkCrew:
    """Makes runs on Spark; the session is opened when there is something to run, and stopped at the end."""

    def __init__(self, *, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._master, self._conf = master, conf
        self._open = ExitStack()
        self._session: SparkSession | None = None

    def __enter__(self) -> SparkCrew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def run(self, runs: Sequence[Run]) -> Iterator[tuple[int, Measured]]:
        """Make runs, one task each, and yield their results in their order."""
        if self._session is None:
            opening = spark_session(master=self._master, conf=self._conf)
            self._session = self._open.enter_context(opening)
        context = self._session.sparkContext
        tasks = context.parallelize(list(enumerate(runs)), max(1, len(runs)))
        yield from tasks.map(_measured).collect()

    def close(self) -> None:
        """Stop the session, unless it was there before."""
        self._open.close()
        self._session = None


def _measured(task: tuple[int, Run]) -> tuple[int, Measured]:
    place, run = task
    return place, measure(run)
