"""A sweep: points that are not in the folder yet are run on Spark, and all of them end up in one table."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from stablecast.pipeline.execute import Executor, Stop, execute
from stablecast.pipeline.point import SIMULATE, Point, protocol_files
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import DONE, Row, further_columns_of
from stablecast.pipeline.session import data_conf, is_local, spark_session
from stablecast.pipeline.store import Store
from stablecast.pipeline.swept_traces import (
    AnalysedTraces,
    analyze_traces,
    check_analysis,
    forget,
    lacking,
    trace_folder,
)
from stablecast.pipeline.tasks import Terms, sources_of
from stablecast.protocols import is_path
from stablecast.simulate.warm import warm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_EXECUTOR_S = 15.0


Further = Callable[[Runs], Sequence[Point]]


class Watcher(Protocol):
    """Told how a sweep goes."""

    def say(self, line: str) -> None:
        """Tell about a step."""

    def begin(self, total: int, kept: int) -> None:
        """Learn how many points there are, and how many were there before."""

    def update(self, done: int, failed: int, seconds_left: float) -> None:
        """Learn how many points this sweep has finished, several times a second."""

    def end(self) -> None:
        """Put the display away."""


class Silent:
    """Watches without a word."""

    def say(self, line: str) -> None:
        """Nothing."""

    def begin(self, total: int, kept: int) -> None:
        """Nothing."""

    def update(self, done: int, failed: int, seconds_left: float) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""


@dataclass(frozen=True, kw_only=True)
class Where:
    """Where Spark runs."""

    master: str | None = None
    conf: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class Again:
    """Which points are computed although the folder has a row of them."""

    force: bool = False
    """All."""
    failed: bool = False
    """Those that failed or took too long."""
    other_sources: bool = True
    """Those that another state of the simulator's sources computed."""


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What a sweep came to."""

    runs: Runs
    file: Path
    points: int
    kept: int
    """Points whose rows were in the folder before."""
    computed: int
    interrupted: bool
    wall_s: float
    analysed: AnalysedTraces | None = None
    """Of the points' traces, if that was asked for, there are any, and nothing was interrupted."""

    @property
    def missing(self) -> int:
        """Points that an interruption left undone."""
        return self.points - len(self.runs)


def sweep(
    points: Sequence[Point],
    out: Path,
    *,
    where: Where | None = None,
    again: Again | None = None,
    time_limit_s: float | None = None,
    traces: bool = False,
    analyze: bool = False,
    watcher: Watcher | None = None,
    further: Further | None = None,
) -> Swept:
    """Run points on Spark into ``out/runs.parquet``; those that are there are not run again.

    ``further`` is asked, with all runs so far, which points to add; the sweep is over when it has none.

    A point that raises or takes longer than ``time_limit_s`` is a row with its error.  An interruption
    (Ctrl-C) keeps what is finished.  With ``traces``, the events of each point are in ``out/traces``; with
    ``analyze`` these are analysed by the same Spark application into ``out/analysis``.
    """
    began = time.monotonic()
    watching = watcher or Silent()
    points = list({point.key: point for point in points}.values())
    wanted = again or Again()
    if analyze:
        check_analysis(out, points)
    columns = further_columns_of(points)
    with Store(out) as store, _Spark(where or Where(), data=analyze) as spark:
        store.expect(columns)
        kept, computed, interrupted, batch = 0, 0, False, points
        while True:
            missing = _missing(store, batch, wanted, watching, traces=traces or analyze)
            kept += len(batch) - len(missing)
            watching.begin(len(batch), len(batch) - len(missing))
            try:
                if missing:
                    forget(out, missing)
                    terms = _terms(out, missing, time_limit_s, traces or analyze)
                    count, interrupted = _compute(missing, store, spark, terms, watching)
                    computed += count
            finally:
                watching.end()
                file = store.merge(points)
            batch = [] if further is None or interrupted else _further(store, points, further)
            if not batch:
                break
            points += batch
        analysed = None
        if analyze and not interrupted:
            done = [point for point in points if store.is_done(point)]
            analysed = analyze_traces(out, done, spark.session, again=wanted.force, say=watching.say)
        return Swept(
            runs=Runs(store.rows_of(points)),
            file=file,
            points=len(points),
            kept=kept,
            computed=computed,
            interrupted=interrupted,
            wall_s=time.monotonic() - began,
            analysed=analysed,
        )


def _further(store: Store, points: list[Point], further: Further) -> list[Point]:
    """Return the points that are asked for and are not among those so far."""
    known = {point.key for point in points}
    asked = {point.key: point for point in further(Runs(store.rows_of(points)))}
    return [point for key, point in asked.items() if key not in known]


class _Spark:
    """A context manager: a session is opened when one is first needed, and serves until the end."""

    def __init__(self, where: Where, *, data: bool) -> None:
        self.where = where
        self._conf = data_conf(where.conf or {}) if data else where.conf
        self._open = ExitStack()
        self._session: SparkSession | None = None

    def __enter__(self) -> _Spark:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._open.close()

    def session(self, protocols: Sequence[str] = ()) -> SparkSession:
        """Return the session; the first one to ask says which protocols its workers need."""
        if self._session is None:
            opening = spark_session(master=self.where.master, conf=self._conf, protocols=protocols)
            self._session = self._open.enter_context(opening)
        return self._session


def _terms(out: Path, points: list[Point], time_limit_s: float | None, traces: bool) -> Terms:
    folder = str(trace_folder(out).resolve()) if traces else None
    files = protocol_files(points)
    return Terms(time_limit_s=time_limit_s, traces=folder, sources=_sources(), files=files)


def _missing(
    store: Store, points: list[Point], again: Again, watcher: Watcher, *, traces: bool
) -> list[Point]:
    """Return the points to compute; their old rows are forgotten."""
    rows = {row["key"]: row for row in store.rows_of(points)}
    stale = {point.key: point for point in points if point.key in rows and _is_stale(rows[point.key], again)}
    if traces:
        finished = [point for point in points if store.is_done(point)]
        stale |= {point.key: point for point in lacking(store.folder, finished)}
    if stale:
        watcher.say(f"computing {len(stale)} points again that the folder has rows of")
        store.forget(stale.values())
    return [point for point in points if point.key not in rows or point.key in stale]


@cache
def _sources() -> str:
    from stablecast.compiling import sources_digest

    return sources_digest()


def _is_stale(row: Row, again: Again) -> bool:
    if again.force or (again.failed and row["status"] != DONE):
        return True
    return again.other_sources and row["sources"] != sources_of(row["task"], _sources())


def _compute(
    points: list[Point], store: Store, spark: _Spark, terms: Terms, watcher: Watcher
) -> tuple[int, bool]:
    """Run points on Spark and keep their rows; return how many were run, and whether it was interrupted."""
    protocols = sorted({str(point.options["protocol"]) for point in points if point.task == SIMULATE})
    master = spark.where.master
    if master is None or is_local(master):
        # Before the workers would do so side by side.
        warm(protocols, say=watcher.say)
    done = failed = 0
    watcher.say(f"starting Spark on {master or 'every core of this machine'}")
    # Files are shipped with the points: executors of a cluster need not have them.
    session = spark.session([name for name in protocols if not is_path(name)])
    watcher.say(f"{len(points):,} points to run on {session.sparkContext.defaultParallelism} cores")

    patience = _Patience(watcher)

    def idle(executor: Executor) -> None:
        watcher.update(done, failed, executor.seconds_left)
        patience.look(executor)

    with stopped_by_interrupt(watcher.say) as stop:
        for rows in execute(session, points, terms, stop=stop, idle=idle):
            store.add(rows)
            done += len(rows)
            failed += sum(row["status"] != DONE for row in rows)
        watcher.update(done, failed, 0.0)
    return done, stop.asked and done < len(points)


class _Patience:
    """Says, once, that nothing can run because the cluster has given no executor."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._until: float | None = time.monotonic() + NO_EXECUTOR_S

    def look(self, executor: Executor) -> None:
        if self._until is None or time.monotonic() < self._until:
            return
        self._until = None
        if not executor.has_executors:
            self._watcher.say(
                f"no executor after {NO_EXECUTOR_S:.0f} s: has the cluster free cores and memory, and can it"
                " reach this machine (--conf spark.driver.host=...)? Still waiting"
            )


@contextmanager
def stopped_by_interrupt(say: Callable[[str], None]) -> Iterator[Stop]:
    """Turn the first Ctrl-C into a request to stop; the second one is an exception as ever."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before: Any = signal.getsignal(signal.SIGINT)

    def interrupted(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stop.ask()
        say("interrupted: waiting for the points that are running (again to give them up)")

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
