"""``protocol="auto"``: the first member of a view decides at its end what the next one runs.

What is true
    All members of a view run the same protocol with the same step.  A group that is told ``auto`` has a table
    of choices that all its members know; two of its members that have another table, or another goal, differ
    in their protocol's identity, and are not in one view.  Which choice a view runs is in the lowest bits of
    its id: whoever puts a view together draws its id, and everyone who is in the view has agreed to that id.
    So nobody can be in a view without knowing what it runs, and there is no message more.
What is decided by
    What the member that puts the next view together has measured in the view that ends: how many parts came
    in a second, of how many sources, and how many members there were.  Of a view in which hardly anything was
    sent nothing is known, and the next one runs what it ran.
How
    ``soonest``: every member acknowledges every message (``explicit``) where that takes a sender at most
    ``SHARE`` of a processor, at ``ACK_S`` for each acknowledgement, in groups of up to ``MEMBERS_MOST``;
    otherwise the usual protocol.  ``least-bytes``: the usual protocol with a longer step.
What can go wrong
    Traffic changes, and the view does not: the choice stays, as a group's protocol does that is told one.  A
    group that grows decides by what was measured before it grew; it decides again at its next change.
"""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.errors import InvalidInput

AUTO = "auto"
SOONEST, LEAST_BYTES = "soonest", "least-bytes"
GOALS = (SOONEST, LEAST_BYTES)
WITHOUT_OPTIONS = "protocol 'auto' has no options (accepted: none, or a protocol by its name)"
BITS = 3
"""Of a view's id, that say what it runs."""
SHARE = 0.05
ACK_S = 80e-6
"""Processor time of an acknowledgement at its sender's, its datagram's included: the larger one of what was
measured on the machines that this was made on."""
MEMBERS_MOST = 16
PARTS_LEAST = 20
"""Fewer tell nothing."""


@dataclass(frozen=True)
class Row:
    """A choice: a protocol, and its step as a multiple of the one by the group's size."""

    protocol: str
    steps: float


USUAL, ACKNOWLEDGED, SPARING = range(3)
TABLE = (Row("s_coord", 1.0), Row("explicit", 4.0), Row("s_coord", 4.0))


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What was measured in a view."""

    members: int
    sources: int
    """Those that sent something."""
    parts: int
    """Parts of messages that came, own ones too."""
    seconds: float


def check_goal(goal: str) -> str:
    """Refuse what ``auto`` cannot aim at."""
    if goal not in GOALS:
        raise InvalidInput(f"goal {goal!r} is not accepted (accepted: {', '.join(GOALS)})")
    return goal


def decide(goal: str, measured: Traffic, present: int) -> int:
    """Return the row that the next view runs, after one that ran another or the same."""
    if measured.parts < PARTS_LEAST or measured.seconds <= 0:
        return present
    if goal == LEAST_BYTES:
        return SPARING
    per_s = measured.parts / measured.seconds / max(measured.sources, 1)
    busy = per_s * (measured.members - 1) * ACK_S
    return ACKNOWLEDGED if measured.members <= MEMBERS_MOST and busy <= SHARE else USUAL


def row_in(view_id: int) -> int:
    """Return the row that a view runs."""
    row = view_id & ((1 << BITS) - 1)
    return row if row < len(TABLE) else USUAL


def with_row(view_id: int, row: int) -> int:
    """Return a view's id that says what it runs; never 0, which names no view."""
    return (view_id >> BITS or 1) << BITS | row
