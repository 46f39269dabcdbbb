"""Who held messages back, and for how long: sums that do not overflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs
from stablecast.delivery.kinds import NEVER
from stablecast.delivery.membership import Membership
from stablecast.delivery.messages import Messages

LIMB_BITS = 31
LIMB = (1 << LIMB_BITS) - 1


class Laggards(NamedTuple):
    """Of each name: the messages that it was last with, and how much later it was than the one before."""

    completed: Longs
    held: Longs
    held_bytes: Longs
    """Bytes × microseconds in three limbs, the lowest first: a single product may take 92 bits."""

    def bytes_of(self, name: int) -> int:
        """Return bytes × microseconds of a name."""
        low, middle, high = self.held_bytes[name].tolist()
        return int(low + (middle << LIMB_BITS) + (high << 2 * LIMB_BITS))

    def and_those(self, other: Laggards) -> Laggards:
        """Add up two of the same names; limbs come out small again."""
        low, middle, high = (self.held_bytes + other.held_bytes).T
        middle = middle + (low >> LIMB_BITS)
        limbs = np.stack([low & LIMB, middle & LIMB, high + (middle >> LIMB_BITS)], axis=1)
        return Laggards(self.completed + other.completed, self.held + other.held, limbs)


def laggards_of(messages: Messages, membership: Membership) -> Laggards:
    """Add up over stable messages."""
    count = membership.name_count
    found = Laggards(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros((count, 3), np.int64))
    add_laggards(messages, membership.stays.name, found)
    return found


@kernel
def add_laggards(messages: Messages, name_of: Ints, found: Laggards) -> None:
    """Add up; limbs grow by less than 33 bits a message, so there is room for two thousand million."""
    for m in range(messages.seq.size):
        if messages.stable[m] == NEVER:
            continue
        name = name_of[messages.last[m]]
        held, size = messages.held[m], max(messages.size[m], 0)
        found.completed[name] += 1
        found.held[name] += held
        low, high = (held & LIMB) * size, (held >> LIMB_BITS) * size
        found.held_bytes[name, 0] += low & LIMB
        found.held_bytes[name, 1] += (low >> LIMB_BITS) + (high & LIMB)
        found.held_bytes[name, 2] += high >> LIMB_BITS
