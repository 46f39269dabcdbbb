"""What should not be in a trace: its kinds, and how a pass over arrays notes them.

Violations may be many.  A pass counts them whether or not there is room; if there was too little, it is made
again with enough (:func:`violations_by`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stablecast.compiling import inlined
from stablecast.delivery.columns import Ints, Longs, shortened

VIOLATIONS = (
    "early_stable",
    "early_release",
    "receive_after_departure",
    "duplicate",
    "receive_before_send",
    "sent_again",
    "missing_send",
    "gap",
    "send_out_of_order",
)
(
    EARLY_STABLE,
    EARLY_RELEASE,
    RECEIVE_AFTER_DEPARTURE,
    DUPLICATE,
    RECEIVE_BEFORE_SEND,
    SENT_AGAIN,
    MISSING_SEND,
    GAP,
    SEND_OUT_OF_ORDER,
) = range(len(VIOLATIONS))


class Violations(NamedTuple):
    """What should not be."""

    kind: Ints
    source: Ints
    seq: Longs
    stay: Ints
    time: Longs


def no_violations(room: int) -> Violations:
    """Return room for so many."""
    return Violations(
        np.empty(room, np.int8),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
    )


def violations_by(find: Callable[[Longs, Violations], object], room: int) -> Violations:
    """Return the violations that a pass finds, which is made again if there was too little room.

    The pass is given their count, in an array of one entry, and room for so many of them.
    """
    while True:
        count, found = np.zeros(1, np.int64), no_violations(room)
        find(count, found)
        if count[0] <= room:
            return shortened(found, int(count[0]))
        room = int(count[0])


@inlined
def accuse(
    violations: Violations, count: Longs, kind: int, source: int, seq: int, stay: int, time: int
) -> None:
    """Note a violation, if there is room; it is counted in any case."""
    v = count[0]
    count[0] += 1
    if v < violations.kind.size:
        violations.kind[v] = kind
        violations.source[v] = source
        violations.seq[v] = seq
        violations.stay[v] = stay
        violations.time[v] = time
