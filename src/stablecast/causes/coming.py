"""How a member came to have a message: its own, a first copy, or data that was transmitted again.

The receipt's own step usually tells: what started it carries the message.  Where messages are handed over in
order, a message may have come earlier than it was handed over, and was held back by a gap; then the first
arrival of it tells.  A trace without transmissions does not tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.causes.run import ABSENT, Ints, Run
from stablecast.causes.segments import ANSWERING, ASKING

SENT, COPY, REPAIRED, UNKNOWN = "sent", "copy", "repaired", "unknown"
"""Its own; a first copy; data that was sent again; not told."""


class Coming(NamedTuple):
    """How a message came to a member."""

    how: str
    origin: str | None
    """Who transmitted what it received."""
    arrival_us: int | None = None
    """When it came, which may be earlier than it was handed over."""


def coming(run: Run, received_row: int) -> Coming:
    """Tell how the message of a receipt, or of a sending, came to the row's member."""
    rows = run.rows
    if run.kind_of(received_row) == "send":
        return Coming(SENT, None, int(rows.time_us[received_row]))
    source, seq = int(rows.source[received_row]), int(rows.seq[received_row])
    step = run.graph.rows_of(run.graph.step_of(received_row))
    arrivals = _carrying(run, np.arange(step.start, step.stop), source, seq)
    if not arrivals.size:
        earlier = run.deliveries.arrivals(int(rows.member[received_row]), source)
        arrivals = _carrying(run, earlier[earlier < received_row], source, seq)
    if not arrivals.size:
        return Coming(UNKNOWN, None)
    row = int(arrivals[0])
    how = REPAIRED if run.message_of(row) in ANSWERING else COPY
    peer = int(rows.peer[row])
    return Coming(how, None if peer == ABSENT else run.members[peer], int(rows.time_us[row]))


def _carrying(run: Run, among: Ints, source: int, seq: int) -> Ints:
    """Return the arrivals that bring a message, the earliest first."""
    rows = run.rows
    first = rows.first_seq[among]  # a heartbeat has none: it tells of a message, and brings none
    holds = (rows.source[among] == source) & (first != ABSENT) & (first <= seq) & (seq <= rows.seq[among])
    holds &= rows.kind[among] == run.kinds.index("arrive")
    asking = [run.messages.index(name) for name in ASKING if name in run.messages]
    found: Ints = among[holds & ~np.isin(rows.message[among], asking)]
    return found
