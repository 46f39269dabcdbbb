"""Who of many readers is the furthest behind, and how far the next one is: a tournament of readers.

Of ``n`` readers, entry ``n + k`` of ``winner`` is reader ``k``, and each entry below ``n`` is the one of two
further up that has reached less; entry 1 is the one that has reached the least of all.  Of equals the smaller
reader wins, whatever the shape of the tree.  The second is the least of those that the winner met on its way,
because everybody else lost to one of them.  A change costs about log2(n) comparisons, and so does the second.

A reader that is not in the group has reached ``ABSENT``, which is beyond every number.
"""

from __future__ import annotations

from stablecast.compiling import inlined, kernel
from stablecast.delivery.columns import Longs

ABSENT = 1 << 62


@kernel
def begin_without_readers(reached: Longs, winner: Longs, n: int) -> None:
    """Let ``n`` readers be absent, all of them."""
    for k in range(n):
        reached[k] = ABSENT
        winner[n + k] = k
    for node in range(n - 1, 0, -1):
        winner[node] = min(winner[2 * node], winner[2 * node + 1])


@kernel
def change_reached(reached: Longs, winner: Longs, n: int, k: int, number: int) -> None:
    """Say what reader ``k`` has reached from now on."""
    reached[k] = number
    node = (n + k) // 2
    while node > 0:
        one, other = winner[2 * node], winner[2 * node + 1]
        is_other = reached[other] < reached[one] or (reached[other] == reached[one] and other < one)
        won = other if is_other else one
        if won == winner[node] and won != k:
            return
        winner[node] = won
        node //= 2


@inlined
def slowest_reader(reached: Longs, winner: Longs, n: int) -> int:
    """Return the reader that has reached the least; without readers in the group, -1."""
    if n == 0 or reached[winner[1]] == ABSENT:
        return -1
    return int(winner[1])


@kernel
def second_reached(reached: Longs, winner: Longs, n: int) -> int:
    """Return what the slowest but one has reached; ``ABSENT`` if there is none."""
    least = ABSENT
    node = n + winner[1]
    while node > 1:
        least = min(least, reached[winner[node ^ 1]])
        node //= 2
    return int(least)
