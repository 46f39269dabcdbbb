"""Who buffers a message: decided by a hash, the same by every member that knows how many there are.

Promise
    A member with a view of `n` members buffers a message exactly if its hash times `n` is below `C`. Whoever
    has the same view knows the same bufferers without asking. Of two views of different size the larger one's
    bufferers are all among the smaller one's, as far as both know the members.
How a bufferer is found
    The view is gone through once to count bufferers and once more to take the one that a random number names.
    That is up to `2n` hashes, and only when a request has to be forwarded.
Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.errors import unknown_name
from stablecast.multicast.hashing import (
    HASHES,
    Hash,
    Table,
    crc16_word,
    mix_member,
    mix_message,
    shuffle_member,
    shuffle_message,
    shuffle_table,
)

IntArray = NDArray[np.integer[Any]]

NOBODY: Final = -1
MIX, SHUFFLE, CRC16 = 0, 1, 2
"""The hashes that kernels know."""
_TABLE: Final = shuffle_table()


@kernel
def is_below(value: float, n: int, C: float) -> bool:
    """Section 3's rule: ``H n < C``."""
    return value * n < C


def named(name: str) -> Hash:
    """Return the hash of a name."""
    if name not in HASHES:
        raise unknown_name("hash", name, HASHES)
    return HASHES[name]


def buffers(member: int, message: tuple[int, int], n: int, C: float, *, by: Hash) -> bool:
    """Tell whether a member that counts `n` members buffers a message, given as its source and number."""
    return bool(is_below(by(*message, member), n, C))


def bufferers(view: Iterable[int], message: tuple[int, int], C: float, *, by: Hash) -> tuple[int, ...]:
    """Return those of a view that buffer a message, as its owner sees it."""
    members = tuple(view)
    return tuple(one for one in members if buffers(one, message, len(members), C, by=by))


def pick(
    view: Sequence[int], message: tuple[int, int], C: float, draw: float, *, by: Hash, but: int = NOBODY
) -> int:
    """Return the bufferer that a random number in [0, 1) names, other than `but`; ``NOBODY`` if none."""
    found = [one for one in bufferers(view, message, C, by=by) if one != but]
    return found[int(draw * len(found))] if found else NOBODY


@kernel
def member_value(scheme: int, table: Table, wide: np.uint64, narrow: int, address: int) -> float:
    """Return a member's number on top of a message's, `wide` for ``MIX`` and `narrow` for ``SHUFFLE``."""
    if scheme == MIX:
        return mix_member(wide, address)
    return shuffle_member(narrow, address, table)


@kernel
def pick_member(
    scheme: int,
    key: int,
    table: Table,
    source: int,
    number: int,
    addresses: IntArray,
    n: int,
    C: float,
    draw: float,
    but: int,
) -> int:
    """Return the place in `addresses` of the bufferer that `draw` names, other than place `but`; -1 if none.

    The first `n` entries are the view. A kernel's twin of :func:`pick`.
    """
    wide, narrow = mix_message(key, source, number), shuffle_message(source, number, table)
    count = 0
    for i in range(n):
        if i != but and is_below(member_value(scheme, table, wide, narrow, addresses[i]), n, C):
            count += 1
    wanted = int(draw * count)
    for i in range(n):
        if i != but and is_below(member_value(scheme, table, wide, narrow, addresses[i]), n, C):
            if wanted == 0:
                return i
            wanted -= 1
    return NOBODY


@kernel
def message_state(scheme: int, source: int, number: int) -> np.uint64:
    """Return what a hash comes to after a message's identifier: the part that all members share."""
    if scheme == MIX:
        return mix_message(0, source, number)
    if scheme == SHUFFLE:
        return np.uint64(shuffle_message(source, number, _TABLE))
    return np.uint64(crc16_word(crc16_word(0, source), number))


@kernel
def chooses(scheme: int, state: np.uint64, address: int, n: int, C: float) -> bool:
    """Tell, in a kernel, whether a member of a view of ``n`` buffers the message of a state."""
    if scheme == MIX:
        return is_below(mix_member(state, address), n, C)
    if scheme == SHUFFLE:
        return is_below(shuffle_member(int(np.int64(state)), address, _TABLE), n, C)
    return is_below(crc16_word(int(np.int64(state)), address) / 65536.0, n, C)
