"""The traces of a sweep's points: which are there, which are lacking, and their analysis, all in one job.

A point's trace is ``traces/KEY.parquet``, and KEY is its group's name.  The analysis is in ``analysis``,
with a note of the files that it was made of; as long as these are the same, it is not made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablecast.errors import InvalidInput
from stablecast.pipeline.point import Point
from stablecast.pipeline.tasks import writes_trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stablecast.pipeline.analysis.analyze import Analysis

TRACES, ANALYSIS = "traces", "analysis"
NOTE = "traces.json"
"""In the analysis: size and time of each trace that it was made of."""


@dataclass(frozen=True)
class AnalysedTraces:
    """The analysis of a sweep's traces."""

    analysis: Analysis
    traces: int
    computed: bool
    """Whether it was made now, and not found as it was."""


def trace_folder(out: Path) -> Path:
    """Return where the traces of a sweep are."""
    return out / TRACES


def _files(out: Path, points: Iterable[Point]) -> list[Path]:
    """Return the traces that are there for some points, in the points' order."""
    there = {file.name: file for file in trace_folder(out).glob("*.parquet")}
    names = [f"{point.key}.parquet" for point in points] if there else []
    return [there[name] for name in names if name in there]


def lacking(out: Path, points: Sequence[Point]) -> list[Point]:
    """Return the points that have events to trace, and no trace."""
    there = {file.stem for file in _files(out, points)}
    return [point for point in points if point.key not in there and writes_trace(point)]


def forget(out: Path, points: Iterable[Point]) -> None:
    """Remove traces of runs that are made again: a trace belongs to its row."""
    for file in _files(out, points):
        file.unlink(missing_ok=True)


def check_analysis(out: Path, points: Sequence[Point]) -> None:
    """Refuse what cannot be analysed or written, before anything is computed."""
    from stablecast.analysis.output import check_free

    if not any(writes_trace(point) for point in points):
        raise InvalidInput(
            "nothing to analyse: no point has data traffic whose events are traced"
            " (accepted: messages above 0, without faults and without receivers)"
        )
    check_free(out / ANALYSIS, replace=True)


def analyze_traces(
    out: Path,
    points: Sequence[Point],
    session: Callable[[], SparkSession],
    *,
    again: bool = False,
    say: Callable[[str], None],
) -> AnalysedTraces | None:
    """Analyse the traces of points into ``out/analysis``, unless that was done with the same files before.

    Parameters
    ----------
    out
        The folder of the sweep.
    points
        Those whose traces count; None is returned if they have none.
    session
        Gives a session; not called if there is nothing to do.
    again
        Whether the analysis is made again in any case.
    say
        Told about each step.
    """
    from stablecast.pipeline.analysis.analyze import Analysis, analyze

    files = _files(out, points)
    if not files:
        say("no trace to analyse")
        return None
    folder, note = out / ANALYSIS, _note(files)
    summary = None if again else _read(folder / "summary.json")
    if summary is not None and _read(folder / NOTE) == note:
        return AnalysedTraces(Analysis(folder, summary), len(files), computed=False)
    say(f"analysing {len(files):,} traces")
    every = len(files) == len(list(trace_folder(out).glob("*.parquet")))
    inputs: list[str | Path] = [trace_folder(out)] if every else [*files]
    found = analyze(inputs, folder, spark=session(), replace=True, say=say)
    (folder / NOTE).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    return AnalysedTraces(found, len(files), computed=True)


def _note(files: Iterable[Path]) -> dict[str, list[int]]:
    """Return what tells whether traces are the same files as before."""
    facts = {file.stem: file.stat() for file in files}
    return {key: [fact.st_size, fact.st_mtime_ns] for key, fact in sorted(facts.items())}


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
