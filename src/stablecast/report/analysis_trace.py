"""What every part of the report asks of the trace: when it began, how long it was, how many groups it has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from stablecast.report.analysis_messages import Messages
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_units import Pair, Unit, clock, duration, short, time_unit, utc
from stablecast.report.view import Cell


@dataclass(frozen=True)
class Trace:
    """The trace as a whole; times are in microseconds."""

    first_us: int
    last_us: int
    groups: int
    members: int | None
    """None if the analysis does not tell."""
    sources: int

    @property
    def span_us(self) -> int:
        """From the first event to the last, and at least one microsecond."""
        return max(1, self.last_us - self.first_us)

    @property
    def unit(self) -> Unit:
        """Of the axes of time."""
        return time_unit(self.span_us)

    @property
    def grouped(self) -> bool:
        """Whether names need their group beside them."""
        return self.groups > 1

    def at(self, us: int) -> float:
        """Return a moment on the axis of time."""
        return self.unit.of(us - self.first_us)

    def named(self, pair: Pair) -> str:
        """Return the name of a member or source in a sentence, with its group if there are several."""
        group, name = pair
        return f"{short(name)} of {short(group)}" if self.grouped else short(name)

    def moment(self, us: int) -> Cell:
        """Return a moment for a table; pointing at it shows it as the trace has it."""
        date = utc(us)
        return Cell(
            clock(us - self.first_us),
            title=f"time_us {us}" + (f", {date}" if date else ""),
            number=True,
        )

    def until_end(self, us: int) -> Cell:
        """Return for how long something has been so at the end; pointing at it shows since when."""
        return replace(
            self.moment(us), text=duration(self.last_us - us), title=f"since {self.dated(us)} (time_us {us})"
        )

    def dated(self, us: int) -> str:
        """Return a moment in a sentence: its date if times are those of a clock, else how far in it is."""
        if us == self.first_us:
            return utc(us) or "the first row"
        return utc(us) or f"{duration(us - self.first_us)} after the first row"

    @property
    def beginning(self) -> str:
        """A sentence on where times are counted from."""
        date = utc(self.first_us)
        when = f", which was {date}" if date else ""
        return f"Times count from the trace's first event{when} (time_us {self.first_us})."


def read_trace(tables: Tables, messages: Messages) -> Trace:
    """Take from the summary what it tells, and the rest from the messages."""
    summary = tables.summary
    first = whole(summary.get("first_us"))
    last = whole(summary.get("last_us"))
    by_source = messages.by_source
    sources = 0 if by_source is None else by_source.num_rows
    groups = 0 if by_source is None else _distinct(by_source.column("group"))
    return Trace(
        first_us=(messages.first_us or 0) if first is None else first,
        last_us=(messages.last_us or 0) if last is None else last,
        groups=max(groups, whole(summary.get("groups")) or 0),
        members=whole(summary.get("members")),
        sources=sources,
    )


def read_position_trace(tables: Tables) -> Trace:
    """Take from the summary of positions what it tells, and the rest from the tables."""
    summary = tables.summary
    first, last = whole(summary.get("first_us")), whole(summary.get("last_us"))
    if first is None or last is None:
        frontiers, sources = (("frontiers", ("time_us",)), ("sources", ("stable_us", "oldest_us")))
        times = [time for one in (frontiers, sources) for time in _ends(tables, *one)] or [0]
        first, last = min(times), max(times)
    return Trace(
        first_us=first,
        last_us=last,
        groups=tables.rows("totals"),
        members=whole(summary.get("members")),
        sources=tables.rows("sources"),
    )


def _ends(tables: Tables, name: str, columns: tuple[str, ...]) -> list[int]:
    """Return the first and the last of some columns of times, of each batch."""
    batches = tables.batches(name, columns)
    ends = [pc.min_max(batch.column(column)).as_py() for batch in batches for column in columns]
    return [time for pair in ends for time in pair.values() if time is not None]


def whole(value: Any) -> int | None:
    """Return a whole number of the summary; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _distinct(column: pa.ChunkedArray) -> int:
    return len(pc.unique(column))
