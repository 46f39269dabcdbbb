"""Clocks that members stamp messages with: physical, logical, and hybrid of the two.

All stamps are whole numbers that compare as numbers.  A member keeps one number, its last stamp or the
largest that it has heard (0 at first), and calls

    last = stamp(kind, last, reading)        # the stamp of a message to send
    last = merge(kind, last, received)       # a stamp has come in

with ``reading`` from :func:`read`, in picoseconds.  Whatever the kind, a member's stamps rise strictly, so a
receiver can tell messages of one sender apart, and 0 is below all stamps.

========  ========================  ======================  =====================================
kind      a stamp is                receiving               promise
========  ========================  ======================  =====================================
physical  the reading               changes nothing         stamps of two members at one instant
                                                            differ by no more than the skew
logical   one more than the last    takes over the larger   a stamp is above all that its sender
                                                            had received: causality
hybrid    the reading, in           takes over the larger   causality, and no stamp is further
          microseconds, and a                               ahead of its sender's clock than
          counter                                           :func:`most_ahead_ps`
========  ========================  ======================  =====================================

Where a member stamps faster than its clock advances, physical stamps run ahead of it, by one picosecond each.

The *skew* of a group is the largest difference between two members' readings at one instant, at any instant
up to a horizon.  :func:`draw_clocks` draws offsets and drifts for a given skew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.errors import InvalidInput
from stablecast.protocols.contract.draws import uniform

PHYSICAL, LOGICAL, HYBRID = 0, 1, 2
"""Kinds of clock."""

CLOCK_STREAM = 6 << 40
"""Offsets (counter 0) and drifts (counter 1) are drawn from this stream, plus the member's number."""

COUNTER_BITS = 14
"""Bits of a hybrid stamp that count; the rest are microseconds, enough for 17 years."""
TICK_PS = 1_000_000
"""A hybrid stamp's unit of time, in picoseconds."""

DAY_PS = 86_400 * 10**12
HORIZON_MAX_PS = 90 * DAY_PS
"""Longest horizon; 64 bits of picoseconds end after 106 days."""
SKEW_MAX_PS = 10 * DAY_PS
"""Largest skew, so that no reading overflows up to the longest horizon."""
DRIFT_MAX_PPM = 10_000
"""Largest drift: one part in a hundred."""
PPB_OF_PPM = 1_000
BILLION = 1_000_000_000


@kernel
def read(true_ps: int, offset_ps: int, drift_ppb: int) -> int:
    """Return what a clock shows at a true time: offset + time × (1 + drift), rounded down.

    It never goes back as the time goes on.  The drift is in parts per billion; the time is split, since the
    product would not fit into 64 bits.
    """
    whole, rest = true_ps // BILLION, true_ps % BILLION
    return true_ps + offset_ps + whole * drift_ppb + rest * drift_ppb // BILLION


@kernel
def physical_stamp(last: int, reading_ps: int) -> int:
    """Return the reading, or one more than the last stamp where the clock has not moved on since."""
    return max(reading_ps, last + 1)


@kernel
def physical_merge(last: int, received: int) -> int:
    """Return the last stamp: what others' clocks show does not concern a physical clock."""
    return last


@kernel
def logical_stamp(last: int, reading_ps: int) -> int:
    """Count a message to send."""
    return last + 1


@kernel
def logical_merge(last: int, received: int) -> int:
    """Take over a larger number, so that the next stamp is above it; the receipt itself is not counted."""
    return max(last, received)


@kernel
def hybrid_stamp(last: int, reading_ps: int, ahead_us: int = 0) -> int:
    """Return the reading with counter 0, or one more than the last where that is not above it.

    A counter that is full carries into the microseconds, so stamps rise whatever the rate.  ``ahead_us`` is
    added to the reading: the picoseconds of a time of day would not fit.
    """
    return max(reading_ps // TICK_PS + ahead_us << COUNTER_BITS, last + 1)


@kernel
def hybrid_merge(last: int, received: int) -> int:
    """Take over a larger stamp, so that the next is above it."""
    return max(last, received)


@kernel
def hybrid_time_ps(stamp: int) -> int:
    """Return the time that a hybrid stamp tells: its microseconds, in picoseconds."""
    return (stamp >> COUNTER_BITS) * TICK_PS


@kernel
def stamp(kind: int, last: int, reading_ps: int, ahead_us: int = 0) -> int:
    """Return the stamp of a message to send, which is the member's last from then on.

    A hybrid clock is ahead of the reading by ``ahead_us``.
    """
    if kind == LOGICAL:
        return logical_stamp(last, reading_ps)
    if kind == HYBRID:
        return hybrid_stamp(last, reading_ps, ahead_us)
    return physical_stamp(last, reading_ps)


@kernel
def merge(kind: int, last: int, received: int) -> int:
    """Return a member's last stamp after it has received one."""
    if kind == LOGICAL:
        return logical_merge(last, received)
    if kind == HYBRID:
        return hybrid_merge(last, received)
    return physical_merge(last, received)


@kernel
def draw_offset_ps(seed: int, member: int, most_ps: int) -> int:
    """Draw a member's offset, from 0 to ``most_ps``: only differences matter, and no reading is negative."""
    return min(int(uniform(seed, CLOCK_STREAM + member, 0) * (most_ps + 1)), most_ps)


@kernel
def draw_drift_ppb(seed: int, member: int, most_ppb: int) -> int:
    """Draw a member's drift in parts per billion, from ``-most_ppb`` to ``most_ppb``."""
    return min(int(uniform(seed, CLOCK_STREAM + member, 1) * (2 * most_ppb + 1)), 2 * most_ppb) - most_ppb


class GroupClocks(NamedTuple):
    """The clocks of a group, an entry for each member."""

    offset_ps: NDArray[np.int64]
    drift_ppb: NDArray[np.int64]


def check_clocks(skew_ps: int, drift_ppm: float, horizon_ps: int) -> None:
    """Refuse bounds that are negative, that contradict each other, or with which a reading could overflow."""
    for name, value, most in (
        ("skew", skew_ps, SKEW_MAX_PS),
        ("drift", drift_ppm, DRIFT_MAX_PPM),
        ("horizon", horizon_ps, HORIZON_MAX_PS),
    ):
        if not 0 <= value <= most:
            unit = "ppm" if name == "drift" else "ps"
            raise InvalidInput(f"{name} of {value} {unit}: accepted are 0 to {most} {unit}")
    apart_ps = drifted_apart_ps(drift_ppm, horizon_ps)
    if apart_ps > skew_ps:
        raise InvalidInput(
            f"skew of {skew_ps} ps: clocks that drift by {drift_ppm} ppm are up to {apart_ps} ps apart after "
            f"{horizon_ps} ps; allow that much, or a smaller drift or horizon"
        )


def drifted_apart_ps(drift_ppm: float, horizon_ps: int) -> int:
    """Return how far two clocks can drift apart: one is fast and one slow, all the time; rounded up."""
    return -(-2 * _whole_ppb(drift_ppm) * horizon_ps // BILLION)


def draw_clocks(
    seed: int, members: int, *, skew_ps: int, drift_ppm: float = 0.0, horizon_ps: int = HORIZON_MAX_PS
) -> GroupClocks:
    """Draw offsets and drifts with which no two readings differ by more than a skew, up to a horizon.

    Drifts are within ``drift_ppm``, parts per million, of true time.  What they make of the horizon is taken
    off the skew, and the rest is for the offsets.
    """
    if members < 1:
        raise InvalidInput(f"{members} clocks: a group has at least one member")
    check_clocks(skew_ps, drift_ppm, horizon_ps)
    offset_max_ps = skew_ps - drifted_apart_ps(drift_ppm, horizon_ps)
    drift_max_ppb = _whole_ppb(drift_ppm)
    offsets = [draw_offset_ps(seed, member, offset_max_ps) for member in range(members)]
    drifts = [draw_drift_ppb(seed, member, drift_max_ppb) for member in range(members)]
    return GroupClocks(np.array(offsets, np.int64), np.array(drifts, np.int64))


def most_ahead_ps(skew_ps: int, stamps: int) -> int:
    """Return how far a hybrid stamp's time can be ahead of its sender's clock.

    A stamp is at most the largest reading of the group so far, plus one for each of the group's ``stamps``
    since the clocks last overtook all of them (since the beginning at most).  While the group makes fewer
    than 2^14 stamps in each microsecond of its fastest clock, that is the skew alone.
    """
    return skew_ps + (stamps >> COUNTER_BITS) * TICK_PS


def _whole_ppb(drift_ppm: float) -> int:
    return int(drift_ppm * PPB_OF_PPM)
