"""Sets of members by rank: whole numbers here, bytes in frames, one bit for each rank, the lowest first.

A group of 1,024 takes 128 bytes at most, and two sets are joined in one operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NOBODY = 0


def set_of(ranks: Iterable[int]) -> int:
    """Return the set of some ranks."""
    bits = 0
    for rank in ranks:
        bits |= 1 << rank
    return bits


def packed(bits: int) -> bytes:
    """Return a set as it is in frames."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def unpacked(data: bytes) -> int:
    """Return a set that was in a frame."""
    return int.from_bytes(data, "little")


def ranks_in(bits: int) -> Iterator[int]:
    """Yield the ranks in a set, lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def holds(bits: int, rank: int) -> bool:
    """Tell whether a rank is in a set."""
    return bool(bits >> rank & 1)
