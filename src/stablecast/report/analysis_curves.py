"""How far sources had come over time: read in batches, and kept as a few hundred points each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stablecast.report.analysis_gather import Integers, Places, gather, integers
from stablecast.report.analysis_sources import Source
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace

CELLS = 300
"""Of time; of each the first and the last point are kept."""


@dataclass(frozen=True)
class Curve:
    """A number that grows in steps."""

    times: Integers
    """Microseconds, ascending."""
    numbers: Integers

    def at(self, times: Integers) -> Integers:
        """Return the number at some times; before the first, the first."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.numbers[np.maximum(place, 0)]


@dataclass(frozen=True)
class Curves:
    """One source over time, from its first sending to the end of the trace."""

    source: Source
    sent: Curve
    """The largest number that it had sent."""
    stable: Curve
    """The end of its stable prefix."""

    def kept(self, times: Integers) -> Integers:
        """Return how many numbers were sent and not in the stable prefix."""
        return np.where(times < self.sent.times[0], 0, self.sent.at(times) - self.stable.at(times))


def read_curves(tables: Tables, trace: Trace, sources: Sequence[Source]) -> list[Curves]:
    """Read how what some sources sent grew, and what of it was stable."""
    places = Places([source.pair for source in sources], "source")
    messages = tables.batches("messages", ("group", "source", "sent_us", "seq"))
    frontiers = tables.batches("frontiers", ("group", "source", "time_us", "stable"))
    sent = _points(messages, places, trace, "sent_us", "seq")
    stable = _points(frontiers, places, trace, "time_us", "stable")
    return [
        _curves(trace, source, sent[place], stable.get(place, [])) for place, source in enumerate(sources)
    ]


def read_head_curves(tables: Tables, trace: Trace, sources: Sequence[Source]) -> list[Curves]:
    """Read how the heads of some sources grew, and their frontiers.

    Heads are known when frontiers moved, when the first number was sent that is not stable, and at the end.
    """
    places = Places([source.pair for source in sources], "source")

    def points(number: str) -> dict[int, list[tuple[int, int]]]:
        frontiers = tables.batches("frontiers", ("group", "source", "time_us", number))
        return _points(frontiers, places, trace, "time_us", number)

    sent, stable = points("sent"), points("stable")
    return [
        _curves(trace, source, [*sent.get(place, []), *_last_heads(trace, source)], stable.get(place, []))
        for place, source in enumerate(sources)
    ]


def _last_heads(trace: Trace, source: Source) -> list[tuple[int, int]]:
    """Return what is known of a head after the last change of the frontier."""
    before = source.first_seq - 1 if source.stable_seq is None else source.stable_seq
    began = source.stable_us is None or (source.oldest_us or 0) > source.stable_us
    first = [(source.oldest_us, before)] if source.oldest_us is not None and began else []
    return [*first, (trace.last_us, source.last_seq)]


def _points(
    batches: Iterator[pa.Table], places: Places, trace: Trace, time: str, number: str
) -> dict[int, list[tuple[int, int]]]:
    """Return for each source, in each cell of time, the smallest and the largest: the first and the last."""

    def in_cells() -> Iterator[pa.Table]:
        for batch in batches:
            rows = places.add_to(batch)
            if rows.num_rows:
                cells = (integers(rows.column(time)) - trace.first_us) * CELLS // trace.span_us
                yield rows.append_column("cell", pa.array(np.clip(cells, 0, CELLS - 1)))

    found = gather(
        in_cells(),
        ("place", "cell"),
        {"begin": (time, "min"), "end": (time, "max"), "low": (number, "min"), "high": (number, "max")},
    )
    points: dict[int, list[tuple[int, int]]] = {}
    if found is not None:
        for row in found.sort_by([("place", "ascending"), ("cell", "ascending")]).to_pylist():
            both = ((row["begin"], row["low"]), (row["end"], row["high"]))
            points.setdefault(row["place"], []).extend(dict.fromkeys(both))
    return points


def _curves(
    trace: Trace, source: Source, sent: list[tuple[int, int]], stable: list[tuple[int, int]]
) -> Curves:
    # When it began to send, nothing was stable: the prefix ended before its first number.
    empty = min([source.first_seq, *(number for _, number in stable)]) - 1
    begin = min(time for time, _ in (*sent[:1], *stable[:1]))
    return Curves(source, _curve(trace, sent), _curve(trace, [(begin, empty), *stable]))


def _curve(trace: Trace, points: list[tuple[int, int]]) -> Curve:
    """Return a curve that ends with the trace; numbers sent out of order do not make it go back."""
    times = np.array([time for time, _ in points], dtype=np.int64)
    numbers = np.maximum.accumulate(np.array([number for _, number in points], dtype=np.int64))
    if times[-1] < trace.last_us:
        times, numbers = np.append(times, trace.last_us), np.append(numbers, numbers[-1])
    return Curve(times, numbers)
