"""Where pairs of numbers are among pairs in order: messages by source and number, and the like."""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs


def places_of(first: Ints, second: Longs, asked: Ints, asked_second: Longs) -> Ints:
    """Return where pairs are among pairs in order; -1 for those that are not."""
    found = np.empty(len(asked), np.int64)
    find_places(first, second, asked, asked_second, found)
    return found


@kernel
def find_places(first: Ints, second: Longs, asked: Ints, asked_second: Longs, found: Longs) -> None:
    """Halve the places for each pair; the place of the pair before is tried first."""
    place = 0
    for k in range(asked.size):
        one, two = asked[k], asked_second[k]
        if place >= first.size or first[place] != one or second[place] != two:
            low, high = 0, first.size
            while low < high:
                middle = (low + high) >> 1
                if first[middle] < one or (first[middle] == one and second[middle] < two):
                    low = middle + 1
                else:
                    high = middle
            place = low
        there = place < first.size and first[place] == one and second[place] == two
        found[k] = place if there else -1
