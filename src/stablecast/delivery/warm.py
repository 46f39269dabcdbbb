"""Load the kernels of the analysis, and compile them where that was never done: ``python -m`` this module."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from stablecast.delivery.kinds import HEAD, JOIN, LEAVE, POSITION, RECEIVE, RELEASE, SEND, STABLE
from stablecast.delivery.positions.tables import position_tables
from stablecast.delivery.schema import EVENTS
from stablecast.delivery.stream.fold import State, fold
from stablecast.delivery.whole import tables_of

_MESSAGES = [
    (JOIN, "a", None, None, 0),
    (JOIN, "b", None, None, 0),
    (SEND, "a", "a", 1, 1),
    (RECEIVE, "b", "a", 1, 2),
    (STABLE, "b", "a", 1, 3),
    (RELEASE, "b", "a", 1, 4),
    (LEAVE, "b", None, None, 5),
]
_POSITIONS = [(HEAD, "s", "s", 5, 1), (POSITION, "r", "s", 3, 2)]


def warm() -> None:
    """Make every table of two tiny traces."""
    messages = _events(_MESSAGES)
    tables_of(messages)
    fold(State.nothing(), messages)
    position_tables(_events(_POSITIONS))


def _events(rows: list[Any]) -> pa.Table:
    kind, member, source, seq, time = (list(column) for column in zip(*rows, strict=True))
    sizes = [None] * len(rows)
    return pa.table([["g"] * len(rows), kind, member, source, seq, time, sizes], schema=EVENTS)


if __name__ == "__main__":
    warm()
