"""Run points on Spark and hand their rows over as they come in.

Each batch is a job of its own, submitted from a thread, with a few more under way than there are cores.  So
the driver decides what runs next until the end: rows arrive batch by batch, an interruption waits for what
is running and starts nothing more, and a batch whose worker dies takes no other with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stablecast.pipeline.point import Point
from stablecast.pipeline.schedule import Schedule
from stablecast.pipeline.schema import Row
from stablecast.pipeline.session import SparkFailure, first_line
from stablecast.pipeline.tasks import Terms, failed_row, run_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS_MAX = 64
"""Jobs under way at once; a larger cluster gets several batches in a job."""
POLL_S = 0.25
GROUP = "stablecast"


@dataclass(frozen=True)
class _Job:
    group: str
    batches: list[list[Point]]
    began: float

    @property
    def points(self) -> list[Point]:
        return [point for batch in self.batches for point in batch]


class Stop:
    """Asks a running sweep to finish what is under way and start nothing more."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """Ask; asking twice changes nothing."""
        self._asked.set()

    @property
    def asked(self) -> bool:
        """Whether it was asked."""
        return self._asked.is_set()


def execute(
    session: SparkSession,
    points: Sequence[Point],
    terms: Terms,
    *,
    stop: Stop | None = None,
    idle: Callable[[Executor], None] | None = None,
) -> Iterator[list[Row]]:
    """Yield rows of points, in the order in which they finish.

    ``idle`` is called several times a second with what is going on.
    """
    executor = Executor(session, points, terms, stop or Stop())
    try:
        while executor.busy:
            rows = executor.step()
            if rows:
                yield rows
            if idle is not None:
                idle(executor)
    finally:
        executor.close()


class Executor:
    """The jobs of one sweep that are under way."""

    def __init__(self, session: SparkSession, points: Sequence[Point], terms: Terms, stop: Stop) -> None:
        self._context: Any = session.sparkContext
        self._terms = terms
        self._stop = stop
        self._schedule = Schedule(points)
        self._jobs: dict[Future[list[Row]], _Job] = {}
        self._threads = ThreadPoolExecutor(JOBS_MAX + 1, thread_name_prefix=GROUP)
        self._numbers = 0

    @property
    def busy(self) -> bool:
        """Whether anything is running or will be."""
        return bool(self._jobs) or (len(self._schedule) > 0 and not self._stop.asked)

    @property
    def running(self) -> int:
        """Points handed to Spark that have not come back."""
        return sum(len(job.points) for job in self._jobs.values())

    @property
    def slots(self) -> int:
        """Cores that Spark has for tasks now."""
        return max(int(self._context.defaultParallelism), 1)

    @property
    def has_executors(self) -> bool:
        """Whether any machine has come up to run tasks; one machine alone is its own."""
        jvm_context = self._context._jsc.sc()
        return bool(jvm_context.isLocal()) or jvm_context.getExecutorMemoryStatus().size() > 1

    @property
    def seconds_left(self) -> float:
        """Estimate of the time until the end."""
        return self._schedule.seconds_left / self.slots

    def step(self) -> list[Row]:
        """Submit what there is room for, wait a moment, and return the rows that have come in."""
        if not self._stop.asked:
            self._submit()
        done, _ = wait(self._jobs, timeout=POLL_S, return_when=FIRST_COMPLETED)
        rows: list[Row] = []
        for future in done:
            rows += self._take(future)
        return rows

    def close(self) -> None:
        """Give up what is still running."""
        if self._jobs:
            self._context.cancelAllJobs()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _submit(self) -> None:
        slots = self.slots
        each = -(-slots // JOBS_MAX)
        while len(self._schedule) and len(self._jobs) < self._room(slots):
            batches = [batch for _ in range(each) if (batch := self._schedule.next_batch(slots))]
            self._numbers += 1
            job = _Job(f"{GROUP}-{id(self)}-{self._numbers}", batches, time.monotonic())
            self._jobs[self._threads.submit(self._run, job)] = job

    def _room(self, slots: int) -> int:
        """Return how many jobs may be under way.

        Short ones queue behind those that run, so that no core waits for the driver; a long one does not,
        so that an interruption waits for running ones only.
        """
        spare = max(slots // 2, 1) if self._schedule.next_is_short else 0
        return min(slots + spare, JOBS_MAX)

    def _run(self, job: _Job) -> list[Row]:
        """Run in a thread: one job of Spark, from its start to its rows."""
        self._context.setJobGroup(job.group, f"{len(job.points)} points", interruptOnCancel=True)
        work = [(self._terms, batch) for batch in job.batches]
        rows: list[Row] = self._context.parallelize(work, len(work)).mapPartitions(run_batch).collect()
        return rows

    def _take(self, future: Future[list[Row]]) -> list[Row]:
        job = self._jobs.pop(future)
        error = future.exception()
        if error is None:
            rows = future.result()
            self._schedule.learn(job.points, sum(row["point_wall_s"] or 0 for row in rows))
            return rows
        return self._lost(job, error)

    def _lost(self, job: _Job, error: BaseException) -> list[Row]:
        """Spark gave a job up: its points are tried again one by one, and the one that fails so is told."""
        if self._stop.asked:
            return []
        if self._context._jsc is None or self._context._jsc.sc().isStopped():
            raise SparkFailure(f"Spark stopped before the sweep was done: {first_line(error)}") from error
        if not isinstance(error, Exception):
            raise error
        explain_missing_package(error)
        if len(job.points) > 1:
            self._schedule.put_back(job.points)
            return []
        return [failed_row(job.points[0], self._terms, f"its worker failed: {first_line(error)}")]


def explain_missing_package(error: BaseException) -> None:
    """Say what is wrong when executors cannot import this package."""
    if "No module named 'stablecast" in str(error) or "No module named stablecast" in str(error):
        raise SparkFailure(
            "the executors cannot import stablecast: install it in the Python that PYSPARK_PYTHON names on"
            " every node, or ship an environment with --conf spark.archives (see docs/cluster.md)"
        ) from error
