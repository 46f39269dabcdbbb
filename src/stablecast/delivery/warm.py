"""Load the kernels of the analysis, and compile them where that was never done: ``python -m`` this module."""

from __future__ import annotations

import pyarrow as pa

from stablecast.delivery.fold import State, fold
from stablecast.delivery.kinds import JOIN, LEAVE, RECEIVE, RELEASE, SEND, STABLE
from stablecast.delivery.position_tables import position_tables
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
_POSITIONS = [("head", "s", "s", 5, 1), ("position", "r", "s", 3, 2)]


def warm() -> None:
    """Make every table of two tiny traces."""
    kind, member, source, seq, time = (list(column) for column in zip(*_MESSAGES, strict=True))
    events = pa.table(
        {
            "group": ["g"] * len(kind),
            "kind": pa.array(kind, pa.int8()),
            "member": member,
            "source": source,
            "seq": pa.array(seq, pa.int64()),
            "time_us": pa.array(time, pa.int64()),
            "bytes": pa.array([None] * len(kind), pa.int32()),
        }
    )
    tables_of(events)
    fold(State.nothing(), events)
    named = (list(column) for column in zip(*_POSITIONS, strict=True))
    columns = dict(zip(("kind", "member", "source", "seq", "time_us"), named, strict=True))
    position_tables(pa.table({"group": ["g"] * len(_POSITIONS), **columns}))


if __name__ == "__main__":
    warm()
