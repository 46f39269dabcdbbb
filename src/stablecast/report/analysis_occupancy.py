"""How much each member held over time, read into a grid of members and cells of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stablecast.report.analysis_gather import Integers, Places, integers
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import Trace
from stablecast.report.analysis_units import Pair

CELLS = 512
BLOCK = 4096
"""Members in memory at a time: 3 numbers of 8 bytes for each cell of each."""
MOST_MEMBERS = 16 * BLOCK
"""Each block is another pass over the table; of more members there is no total."""
COLUMNS = ("group", "member", "time_us", "messages", "bytes")
NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Held:
    """Messages and bytes at the end of each cell of time."""

    messages: Integers
    bytes: Integers


@dataclass(frozen=True)
class Occupancy:
    """What was held over time."""

    times_us: list[int]
    """Ends of the cells; the first is the beginning of the trace."""
    members: dict[Pair, Held]
    """Of those asked for."""
    total: Held | None
    """Of all members together; None if there are too many to add up."""


def read_occupancy(
    tables: Tables, trace: Trace, shown: Sequence[Pair], everybody: Sequence[Pair]
) -> Occupancy:
    """Read the curves of some members, and the sum of everybody's.

    Parameters
    ----------
    tables
        With a table ``occupancy``.
    trace
        Its beginning and end.
    shown
        Members whose curves are wanted.
    everybody
        All members of the table; empty if they are too many to be added up.
    """
    ends = [trace.first_us + k * trace.span_us // CELLS for k in range(CELLS + 1)]
    total = Held(_zeros(CELLS + 1), _zeros(CELLS + 1))
    others = list(dict.fromkeys(everybody).keys() - set(shown))
    order = [*shown, *sorted(others)]
    members: dict[Pair, Held] = {}
    for first in range(0, max(1, len(order)), BLOCK):
        block = order[first : first + BLOCK]
        messages, sizes = _read_block(tables, trace, block)
        total.messages[:] += messages.sum(axis=0)
        total.bytes[:] += sizes.sum(axis=0)
        for k, pair in enumerate(block):
            if first + k < len(shown):
                members[pair] = Held(messages[k].copy(), sizes[k].copy())
    return Occupancy(ends, members, total if everybody else None)


def _read_block(tables: Tables, trace: Trace, block: Sequence[Pair]) -> tuple[Integers, Integers]:
    """Return what each of some members held at the end of each cell."""
    places = Places(block, "member")
    shape = (len(block), CELLS + 1)
    last = np.full(shape, NEVER, dtype=np.int64)
    messages, sizes = _zeros(shape), _zeros(shape)
    for batch in tables.batches("occupancy", COLUMNS):
        rows = places.add_to(batch).sort_by("time_us")
        times = integers(rows.column("time_us"))
        # The cell at whose end it counts first: a row at the very end of a cell counts for this cell.
        cell = np.clip(-((trace.first_us - times) * CELLS // trace.span_us), 0, CELLS)
        at = (integers(rows.column("place")), cell)
        # Rows come in no order from one batch to the next; within one, the last of a cell is written last.
        newer = times >= last[at]
        at = (at[0][newer], at[1][newer])
        last[at] = times[newer]
        messages[at] = integers(rows.column("messages"))[newer]
        sizes[at] = integers(rows.column("bytes"))[newer]
    since = np.maximum.accumulate(np.where(last > NEVER, np.arange(CELLS + 1), 0), axis=1)
    return np.take_along_axis(messages, since, axis=1), np.take_along_axis(sizes, since, axis=1)


def _zeros(shape: int | tuple[int, int]) -> Integers:
    return np.zeros(shape, dtype=np.int64)
