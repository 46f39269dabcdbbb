"""How long a stream waits, and the watermarks that follow from that.

What is before the watermark of its group is taken to be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stablecast.delivery.columns import Longs
from stablecast.delivery.kinds import EVER
from stablecast.delivery.membership import Membership
from stablecast.delivery.scan import Scan
from stablecast.errors import InvalidInput


@dataclass(frozen=True)
class Patience:
    """How long a stream waits, in microseconds of the events' own time."""

    delay_us: int = 60_000_000
    """How much older than the newest event of its group an event may be."""
    linger_us: int = 600_000_000
    """How long after a message was stable its claims and releases are waited for, and its sending after all
    that is told of a message that nobody sent."""

    def __post_init__(self) -> None:
        if self.delay_us < 0 or self.linger_us < 0:
            raise InvalidInput(f"{self} is no time to wait (accepted: microseconds, at least 0)")

    def doubled(self) -> Patience:
        """Return twice the patience."""
        return Patience(max(self.delay_us * 2, 1), max(self.linger_us * 2, 1))


class Marks(NamedTuple):
    """The watermark of each group: its newest event's time less the delay."""

    before: Longs
    """After the parts before; EVER if the group is new."""
    now: Longs


def marks_of(before: Scan, membership: Membership, patience: Patience) -> Marks:
    """Return the watermarks of all groups."""
    old = watermarks(before, patience)
    was = np.array([old.get(group, EVER) for group in membership.group_names.to_pylist()], np.int64)
    return Marks(was, membership.groups.last_us - patience.delay_us)


def watermarks(scan: Scan, patience: Patience) -> dict[str, int]:
    """Return the watermark of each group by its name."""
    groups, last = scan.groups["group"].to_pylist(), scan.groups["last_us"].to_pylist()
    return {group: time - patience.delay_us for group, time in zip(groups, last, strict=True)}
