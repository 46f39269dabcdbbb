"""Run one point, wherever it is: the row of a point is the same in a Spark task and on the command line."""

from __future__ import annotations

import importlib
import json
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from stablecast import __version__
from stablecast.errors import InvalidInput
from stablecast.pipeline.live_task import engine_digest, run_live
from stablecast.pipeline.point import OF_PROTOCOLS, SIMULATE, SIMULATE_LIVE, Point
from stablecast.pipeline.schema import (
    COLUMNS,
    DONE,
    FAILED,
    OPTION_COLUMNS,
    TIMEOUT,
    Row,
    option_columns,
    result_columns,
)
from stablecast.protocols import is_path, naming_lines, provide, source_digest
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import Role
from stablecast.simulate.options import Options
from stablecast.simulate.result import Result
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup

ERROR_CHARACTERS = 1000


@dataclass(frozen=True)
class Outcome:
    """What a task measured: a simulation's result, further numbers, or both."""

    result: Result | None = None
    extra: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Values of columns that a result of a simulation has too."""


Task = Callable[..., Outcome]
"""Called with a point's options by name."""


class TimeLimitExceeded(Exception):
    """A point took longer than it may."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What holds for every point of a sweep and changes no result."""

    time_limit_s: float | None = None
    """Wall-clock time that a point may take."""
    traces: str | None = None
    """Folder, seen from every executor, for the events of each point's data traffic."""
    sources: str = ""
    """Digest of the simulator's sources that the driver runs."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files that define protocols, by the paths that points name them by."""


def run_point(point: Point, terms: Terms) -> Row:
    """Run a point; an error or too long a time becomes part of the row."""
    began = time.perf_counter()
    row = _row_before(point, terms)
    try:
        with _time_limit(terms.time_limit_s), naming_lines(_file_of(point)):
            outcome = _outcome(point, terms)
        row |= result_columns(outcome.result) if outcome.result is not None else {}
        row |= outcome.columns
        row |= {"extra": dict(outcome.extra) or None, "status": DONE}
    except TimeLimitExceeded:
        row |= {"status": TIMEOUT, "error": f"took longer than {terms.time_limit_s:g} s"}
    except Exception as error:
        row |= {"status": FAILED, "error": describe(error)}
    row["point_wall_s"] = time.perf_counter() - began
    row["finished_at"] = datetime.now(UTC)
    return row


def failed_row(point: Point, terms: Terms, error: str) -> Row:
    """Return the row of a point whose worker did not live to write it."""
    return _row_before(point, terms) | {
        "status": FAILED,
        "error": error[:ERROR_CHARACTERS],
        "finished_at": datetime.now(UTC),
    }


def run_batch(batches: Iterable[tuple[Terms, list[Point]]]) -> Iterator[Row]:
    """Run what Spark hands to one task."""
    for terms, points in batches:
        provide(terms.files)
        compile_files(terms.files)
        for point in points:
            yield run_point(point, terms)


@cache
def _compile_once(path: str, digest: str) -> None:
    """Compile a protocol's loop, one process of a machine after the other, so that the next ones find it."""
    from stablecast.pipeline.daemon import preload

    preload([path])


def compile_files(files: Iterable[str]) -> None:
    """Compile the loops of protocols from files, which this machine may never have seen."""
    for path in files:
        _compile_once(path, source_digest(path))


def _row_before(point: Point, terms: Terms) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    row |= {"key": point.key, "task": point.task, "replay": point.replay, "host": socket.gethostname()}
    row["options"] = json.dumps(dict(point.options), sort_keys=True)
    if point.task == SIMULATE:
        row |= option_columns(Options.of(point.options))
    else:
        row |= {name: point.options.get(name) for name in OPTION_COLUMNS}
    return row | {"version": __version__, "sources": sources_of(point.task, terms.sources)}


def sources_of(task: str, sources: str) -> str:
    """Return what tells rows of other sources: those of the simulator, of live groups also the engine's."""
    return f"{sources} {engine_digest()}" if task == SIMULATE_LIVE else sources


def _file_of(point: Point) -> str:
    """Return the file of a point's protocol, whose lines errors name; empty if there is none."""
    name = str(point.options.get("protocol", ""))
    return name if point.task in OF_PROTOCOLS and is_path(name) else ""


def _outcome(point: Point, terms: Terms) -> Outcome:
    if point.task == SIMULATE_LIVE:
        columns, extra = run_live(point.options)
        return Outcome(columns=columns, extra=extra)
    if point.task != SIMULATE:
        return find_task(point.task)(**point.options)
    setup = Options.of(point.options).setup()
    if terms.traces is not None and writes_trace(point):
        return Outcome(_simulate_with_trace(setup, Path(terms.traces) / f"{point.key}.parquet", point.key))
    return Outcome(simulate(setup))


def writes_trace(point: Point) -> bool:
    """Tell whether a point has events to trace: data for every member, and members that stay.

    Told by the options alone, since a sweep asks for many points and a set-up builds the network.
    """
    if point.task != SIMULATE:
        return False
    options = Options.of(point.options)
    protocol = find_protocol(options.protocol)
    messages = 0 if protocol.runs.delivers else options.messages or protocol.runs.data_messages
    failing = options.faults.strip() or options.fail_neighbours or options.fail_random
    silence = options.by_role(Role.SILENCE)
    return messages > 0 and not failing and not silence and options.receivers is None


def _simulate_with_trace(setup: Setup, file: Path, group: str) -> Result:
    from stablecast.simulate.tracing import simulate_with_trace

    file.parent.mkdir(parents=True, exist_ok=True)
    return simulate_with_trace(setup, file, group=group)


def find_task(name: str) -> Task:
    """Return the function that ``package.module:function`` names."""
    module, _, function = name.partition(":")
    try:
        task: Task = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise InvalidInput(f"no task '{name}' (accepted: simulate, or package.module:function)") from None
    return task


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise in the main thread when the time is over; compiled loops come back often enough to notice."""
    if seconds is None:
        yield
        return

    def over(number: int, frame: Any) -> None:
        raise TimeLimitExceeded

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def describe(error: BaseException) -> str:
    """Return an error's kind and message on one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text[:ERROR_CHARACTERS]
