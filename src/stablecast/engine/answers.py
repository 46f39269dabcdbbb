"""How many strangers are answered: each address has a small budget of its own, which time refills.

A HELLO that was recorded authenticates, so strangers can have it answered once, and whoever has recorded many
can send many.  A budget for all together would be used up by them, and newcomers would not be answered any
more.  Here each address has its own, so a flood from some addresses takes nothing from another one, and an
address that has not been heard of for a while is always answered.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from stablecast.membership.view import Address

AT_ONCE: Final = 20
"""Answers that an address can have without waiting."""

PER_S: Final = 10.0
"""Answers a second that it can have after that: as often as a process that joins asks."""

ADDRESSES_MAX: Final = 16_384
"""How many addresses are remembered; those that were heard of longest ago go first."""


class Answers:
    """Counts answers to strangers, by their addresses."""

    def __init__(self) -> None:
        self._left: OrderedDict[Address, tuple[float, float]] = OrderedDict()
        """For each address how many it could have, and when that was."""

    def may_answer(self, address: Address, now: float) -> bool:
        """Tell whether an address may be answered, and count the answer."""
        left, since = self._left.pop(address, (float(AT_ONCE), now))
        left = min(left + max(now - since, 0.0) * PER_S, AT_ONCE)
        may = left >= 1.0
        self._left[address] = (left - may, now)
        if len(self._left) > ADDRESSES_MAX:
            self._left.popitem(last=False)
        return may
