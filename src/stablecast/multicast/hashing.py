"""Hashes of a message and a member: a number in [0, 1) that says whether this member buffers that message.

Promise
    Every member gets the same number for the same message and member, with no state and no draw; for
    different ones the numbers should look unrelated.
Which
    ``mix``      a keyed 64-bit mix of three numbers, for kernels and everything new;
    ``blake2s``  a keyed cryptographic hash of bytes, for addresses that are no small numbers;
    ``shuffle``  the paper's: a table of 256 random numbers, one look-up a byte;
    ``crc16``    the paper's example of what not to take.
How fair they are
    `fairness.py` compares them, `docs/papers/buffering.md` has the results. In short: ``mix`` and ``blake2s``
    cannot be told from coins. ``shuffle`` is fair on average; but members whose addresses differ in the last
    byte only differ by one entry of the table, so that a table decides once and for all how often a message
    has no bufferer. ``crc16`` gives most messages none and others far too many.
Why not by the print
    The paper divides by the largest integer, which makes 1 possible; then with C = n one member would not
    buffer. Here 2^32 divides, and the number is below 1.
Paper
    Efficient Buffering in Reliable Multicast Protocols, sections 3 and 4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel

Bytes = NDArray[np.uint8]
Table = NDArray[np.uint32]

SHUFFLE_SEED: Final = 1999
"""Seed of the table that all members share."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)
_MASK: Final = (1 << 64) - 1
_CRC_ARC: Final = 0xA001
"""The polynomial x^16 + x^15 + x^2 + 1 of CRC-16/ARC, its bits in reverse."""


@kernel
def finish(z: np.uint64) -> np.uint64:
    """The finaliser of splitmix64: every bit of the result depends on every bit of `z`."""
    z = (z ^ (z >> np.uint64(30))) * _A
    z = (z ^ (z >> np.uint64(27))) * _B
    return z ^ (z >> np.uint64(31))


@kernel
def mix_message(key: int, source: int, number: int) -> np.uint64:
    """Hash the key and a message's identifier; the part that is shared by all members."""
    z = finish(np.uint64(key) + _GAMMA)
    z = finish(z ^ (np.uint64(source) * _GAMMA))
    return finish(z + np.uint64(number) * _GAMMA)


@kernel
def mix_member(message: np.uint64, address: int) -> float:
    """Hash a member's address on top of :func:`mix_message`; a number in [0, 1)."""
    z = finish(message ^ (np.uint64(address) * _GAMMA + _A))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@kernel
def mix_hash(key: int, source: int, number: int, address: int) -> float:
    """Return the number of a message and a member, none of them negative."""
    return mix_member(mix_message(key, source, number), address)


def mix_hash_plain(key: int, source: int, number: int, address: int) -> float:
    """Return what :func:`mix_hash` does, in whole numbers of Python."""
    gamma, a, b = int(_GAMMA), int(_A), int(_B)

    def mixed(z: int) -> int:
        z &= _MASK
        z = ((z ^ (z >> 30)) * a) & _MASK
        z = ((z ^ (z >> 27)) * b) & _MASK
        return z ^ (z >> 31)

    z = mixed(key + gamma)
    z = mixed(z ^ (source * gamma & _MASK))
    z = mixed(z + number * gamma)
    z = mixed(z ^ ((address * gamma + a) & _MASK))
    return (z >> 11) / (1 << 53)


def shuffle_table(seed: int = SHUFFLE_SEED) -> Table:
    """Return 256 numbers of 32 bits: the upper halves of a splitmix64 sequence, the same everywhere."""
    numbers, state = [], seed
    for _ in range(256):
        state = (state + int(_GAMMA)) & _MASK
        z = ((state ^ (state >> 30)) * int(_A)) & _MASK
        z = ((z ^ (z >> 27)) * int(_B)) & _MASK
        numbers.append((z ^ (z >> 31)) >> 32)
    return np.array(numbers, np.uint32)


@kernel
def shuffle_byte(state: int, byte: int, table: Table) -> int:
    """Take one byte into the state, as section 4 has it."""
    return state ^ int(table[byte ^ (state & 255)])


@kernel
def shuffle_word(state: int, word: int, table: Table) -> int:
    """Take in a number of 32 bits, its highest byte first."""
    for shift in range(24, -1, -8):
        state = shuffle_byte(state, (word >> shift) & 255, table)
    return state


@kernel
def shuffle_hash(data: Bytes, table: Table) -> float:
    """Return the paper's hash of a string of bytes, in [0, 1)."""
    state = 0
    for k in range(data.size):
        state = shuffle_byte(state, int(data[k]), table)
    return state / 4294967296.0


@kernel
def shuffle_message(source: int, number: int, table: Table) -> int:
    """Return the state after a message's identifier; the part that is shared by all members."""
    return shuffle_word(shuffle_word(0, source, table), number, table)


@kernel
def shuffle_member(message: int, address: int, table: Table) -> float:
    """Hash a member's address on top of :func:`shuffle_message`; a number in [0, 1)."""
    return shuffle_word(message, address, table) / 4294967296.0


def shuffle_hash_plain(data: bytes, table: Table) -> float:
    """Return what :func:`shuffle_hash` does, letter by letter as section 4 prints it."""
    state = 0
    for byte in data:
        state ^= int(table[byte ^ (state & 0xFF)])
    return state / (1 << 32)


@kernel
def crc16_byte(crc: int, byte: int) -> int:
    """Take one byte into a CRC-16/ARC."""
    crc ^= byte
    for _ in range(8):
        crc = (crc >> 1) ^ _CRC_ARC if crc & 1 else crc >> 1
    return crc


@kernel
def crc16_word(crc: int, word: int) -> int:
    """Take in a number of 32 bits, its highest byte first."""
    for shift in range(24, -1, -8):
        crc = crc16_byte(crc, (word >> shift) & 255)
    return crc


@kernel
def crc16(data: Bytes) -> int:
    """Return CRC-16/ARC, the usual one by that name."""
    crc = 0
    for k in range(data.size):
        crc = crc16_byte(crc, int(data[k]))
    return crc


@kernel
def crc16_hash(data: Bytes) -> float:
    """Return CRC-16 as a number in [0, 1)."""
    return crc16(data) / 65536.0


def crc16_plain(data: bytes) -> int:
    """Return what :func:`crc16` does."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ _CRC_ARC if crc & 1 else crc >> 1
    return crc


def bare_crc16_plain(data: bytes, *, polynomial: int = 0x18005) -> int:
    """Return the remainder of the data itself, without 16 zeros behind it, its bytes swapped.

    This is what gives the paper's 0, 256, 512 for the numbers 0, 1, 2, whatever the polynomial.
    """
    remainder = int.from_bytes(data)
    for shift in range(remainder.bit_length() - 17, -1, -1):
        if remainder >> (shift + 16) & 1:
            remainder ^= polynomial << shift
    return (remainder & 0xFF) << 8 | remainder >> 8


def blake2s_hash(data: bytes, key: bytes = b"") -> float:
    """Return a keyed cryptographic hash as a number in [0, 1)."""
    digest = hashlib.blake2s(data, digest_size=8, key=key).digest()
    return (int.from_bytes(digest) >> 11) / (1 << 53)


def encode(source: int, number: int, address: int) -> bytes:
    """Return a message's identifier and a member's address, 32 bits each, highest byte first."""
    return source.to_bytes(4) + number.to_bytes(4) + address.to_bytes(4)


@kernel
def write(data: Bytes, source: int, number: int, address: int) -> None:
    """Fill twelve bytes as :func:`encode` does."""
    for k in range(4):
        data[k] = (source >> (24 - 8 * k)) & 255
        data[4 + k] = (number >> (24 - 8 * k)) & 255
        data[8 + k] = (address >> (24 - 8 * k)) & 255


Hash = Callable[[int, int, int], float]
"""From a message's source and number and a member's address to a number in [0, 1)."""

_SHARED_TABLE: Final = shuffle_table()

HASHES: Final[dict[str, Hash]] = {
    "mix": lambda source, number, address: mix_hash_plain(0, source, number, address),
    "blake2s": lambda source, number, address: blake2s_hash(encode(source, number, address)),
    "shuffle": lambda source, number, address: shuffle_hash_plain(
        encode(source, number, address), _SHARED_TABLE
    ),
    "crc16": lambda source, number, address: crc16_plain(encode(source, number, address)) / (1 << 16),
}
"""Every hash by its name, in plain Python."""
