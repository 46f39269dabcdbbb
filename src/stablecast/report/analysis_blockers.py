"""Whom frontiers waited for, over time: spans of time in the colour of a reader, a line a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stablecast.report.analysis_curves import CELLS
from stablecast.report.analysis_gather import Places, gather, integers
from stablecast.report.analysis_sources import Source, Sources, has_own_groups
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import duration, names
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.words import counted

MOST_SOURCES, MOST_NAMES = 12, 6


@dataclass(frozen=True)
class Span:
    """A time in which the frontier of a source waited for a reader."""

    place: int
    """Which source."""
    reader: str
    """By name: whoever has the same in another group has the same colour."""
    begin_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        """How long it was."""
        return self.end_us - self.begin_us


def blockers_figure(tables: Tables, trace: Trace, sources: Sources) -> Figure | None:
    """Return whom the sources that retain most waited for over time; None if nothing waited."""
    shown = [one for one in sources.held_back if one.messages][:MOST_SOURCES]
    spans = read_spans(tables, trace, shown)
    if not spans:
        return None
    omitted = sources.count - len(shown)
    rest = (
        f" Shown are the {len(shown)} sources that retain most; {counted(omitted, 'other')} left out."
        if omitted
        else ""
    )
    # The first place of an axis is at the bottom, and the worst should be at the top.
    places = names([one.pair for one in shown], groups=has_own_groups(trace, shown))[::-1]
    return Figure(
        key="blockers",
        title="Whom the frontier waited for",
        caption="Each span has the colour of the reader that the frontier of a source waited for, and ends"
        " when it moved on; of several that were equally far, the first by name. It begins where the one"
        " before ends, so it may have a while in it with nothing to wait for. A long span is a reader that"
        f" stood in the way; the last goes to the end of the log if anything is still retained.{rest}",
        panels=(
            Panel(
                title="Furthest behind",
                x=Axis(f"time [{trace.unit.name}]"),
                y=Axis("source", names=tuple(places)),
                series=_series(trace, spans, len(shown)),
            ),
        ),
    )


def read_spans(tables: Tables, trace: Trace, sources: Sequence[Source]) -> list[Span]:
    """Read whom some sources waited for; what alternates within a short cell of time is told in parts."""
    places = Places([one.pair for one in sources], "source")
    ends: dict[int, list[tuple[int, str | None]]] = {}
    found = gather(
        _in_cells(tables, trace, places), ("place", "cell", "blocker"), {"end_us": ("time_us", "max")}
    )
    if found is not None:
        order = [("place", "ascending"), ("end_us", "ascending"), ("blocker", "ascending")]
        for row in found.sort_by(order).to_pylist():
            ends.setdefault(row["place"], []).append((row["end_us"], row["blocker"]))
    return [
        span
        for place, source in enumerate(sources)
        for span in _spans(trace, place, source, ends.get(place, []))
    ]


def _in_cells(tables: Tables, trace: Trace, places: Places) -> Iterator[pa.Table]:
    for batch in tables.batches("frontiers", ("group", "source", "time_us", "blocker")):
        rows = places.add_to(batch)
        if rows.num_rows:
            cells = (integers(rows.column("time_us")) - trace.first_us) * CELLS // trace.span_us
            yield rows.append_column("cell", pa.array(np.clip(cells, 0, CELLS - 1)))


def _spans(trace: Trace, place: int, source: Source, ends: list[tuple[int, str | None]]) -> list[Span]:
    """Return the spans of one source; neighbours with the same reader are one."""
    spans: list[Span] = []
    # Before the first change is what was sent since the beginning.
    begin = trace.first_us
    for end, blocker in ends:
        _add(spans, place, blocker, begin, end)
        begin = end
    if source.left and source.waiting is not None and source.waiting.names:
        begin = max(begin, source.oldest_us or begin)
        _add(spans, place, source.waiting.names[0], begin, trace.last_us)
    return spans


def _add(spans: list[Span], place: int, blocker: str | None, begin_us: int, end_us: int) -> None:
    if blocker is None or end_us <= begin_us:
        return
    if spans and spans[-1].reader == blocker and spans[-1].end_us == begin_us:
        begin_us = spans.pop().begin_us
    spans.append(Span(place, blocker, begin_us, end_us))


def _series(trace: Trace, spans: Sequence[Span], sources: int) -> tuple[Series, ...]:
    """Return a series for each of the readers that were waited for longest, and one for all others."""
    waited: dict[str, int] = {}
    for span in spans:
        waited[span.reader] = waited.get(span.reader, 0) + span.length_us
    ranked = sorted(waited, key=lambda reader: (-waited[reader], reader))
    single = len(ranked) == MOST_NAMES + 1
    named = ranked if single else ranked[:MOST_NAMES]
    whose = {reader: k for k, reader in enumerate(named)}
    labels = names([("", reader) for reader in named], groups=False)
    if len(ranked) > len(named):
        labels.append(counted(len(ranked) - len(named), "other reader"))
    spans_of: list[list[Span]] = [[] for _ in labels]
    for span in spans:
        spans_of[whose.get(span.reader, -1)].append(span)
    return tuple(
        Series(
            name=label,
            x=tuple(trace.at(span.end_us) for span in mine),
            y=tuple(float(sources - 1 - span.place) for span in mine),
            start=tuple(trace.at(span.begin_us) for span in mine),
            hover=tuple(f"waited for {duration(span.length_us)}" for span in mine),
            style="across",
        )
        for label, mine in zip(labels, spans_of, strict=True)
    )
