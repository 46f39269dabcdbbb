"""How fair a hash is: numbers of bufferers against the binomial, load over members, related identifiers.

Everything is a function of a matrix of decisions, one row a message and one column a member. A chi-square
is given as ``z``: how many standard deviations it is above its mean, by the cube-root approximation of
Wilson and Hilferty; beyond 4 chance is no explanation. As any difference shows with enough messages, sizes
of effects are given too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.multicast.bufferers import MIX, SHUFFLE, member_value
from stablecast.multicast.hashing import (
    Bytes,
    Table,
    crc16_hash,
    mix_message,
    shuffle_message,
    shuffle_table,
    write,
)
from stablecast.theory.buffering import binomial

Decisions = NDArray[np.bool_]
Floats = NDArray[np.float64]
CRC = 2
SCHEMES = {"mix": MIX, "shuffle": SHUFFLE, "crc16": CRC}


@dataclass(frozen=True)
class Fairness:
    """What a matrix of decisions says about a hash."""

    mean: float
    """Bufferers of a message on average; C if fair."""
    variance_ratio: float
    """Variance of the number of bufferers over the binomial's."""
    nobody: float
    """Share of messages without a bufferer."""
    nobody_expected: float
    counts_z: float
    """Chi-square of the number of bufferers against the binomial."""
    members_z: float
    """Chi-square of the messages that each member buffers against equal shares."""
    uneven: float
    """Standard deviation of members' loads beyond that of coins, as a share of the mean; 0 if fair."""


@kernel
def fill(
    values: Floats,
    scheme: int,
    key: int,
    table: Table,
    sources: NDArray[np.int64],
    numbers: NDArray[np.int64],
    addresses: NDArray[np.int64],
    scratch: Bytes,
) -> None:
    """Hash every message with every member."""
    for m in range(numbers.size):
        wide = mix_message(key, sources[m], numbers[m])
        narrow = shuffle_message(sources[m], numbers[m], table)
        for a in range(addresses.size):
            if scheme == CRC:
                write(scratch, sources[m], numbers[m], addresses[a])
                values[m, a] = crc16_hash(scratch)
            else:
                values[m, a] = member_value(scheme, table, wide, narrow, addresses[a])


def hash_all(
    name: str,
    sources: NDArray[np.int64],
    numbers: NDArray[np.int64],
    addresses: NDArray[np.int64],
    *,
    table: Table | None = None,
    key: int = 0,
) -> Floats:
    """Return a matrix of hashes, by a kernel."""
    values = np.empty((numbers.size, addresses.size))
    used = shuffle_table() if table is None else table
    fill(values, SCHEMES[name], key, used, sources, numbers, addresses, np.zeros(12, np.uint8))
    return values


def z_of_chi_square(value: float, degrees: int) -> float:
    """Return how many standard deviations a chi-square is above what chance gives."""
    spread = 2 / (9 * degrees)
    return float(((value / degrees) ** (1 / 3) - (1 - spread)) / np.sqrt(spread))


def fairness(decisions: Decisions, C: float) -> Fairness:
    """Compare decisions with coins that fall ``C / n``."""
    messages, n = decisions.shape
    q = C / n
    counts, loads = decisions.sum(axis=1), decisions.sum(axis=0)
    expected = binomial(n, q)
    members = float((((loads - messages * q) ** 2) / (messages * q * (1 - q))).sum())
    beyond = max(0.0, loads.var() - messages * q * (1 - q))
    return Fairness(
        mean=float(counts.mean()),
        variance_ratio=float(counts.var() / (n * q * (1 - q))),
        nobody=float((counts == 0).mean()),
        nobody_expected=float(expected[0]),
        counts_z=z_of_chi_square(*_chi_square(np.bincount(counts, minlength=n + 1), messages * expected)),
        members_z=z_of_chi_square(members, n),
        uneven=float(np.sqrt(beyond) / (messages * q)),
    )


def related(one: Decisions, other: Decisions) -> float:
    """Return the correlation of decisions on two lists of messages, as standard deviations from none."""
    a, b = one.astype(float).ravel(), other.astype(float).ravel()
    return float(np.corrcoef(a, b)[0, 1] * np.sqrt(a.size))


def _chi_square(observed: NDArray[np.int64], expected: Floats) -> tuple[float, int]:
    """Return chi-square and degrees of freedom, pooling the ends where fewer than 5 are expected."""
    likely = np.flatnonzero(expected >= 5)
    low, high = likely[0], likely[-1]
    seen = np.concatenate([[observed[:low].sum()], observed[low : high + 1], [observed[high + 1 :].sum()]])
    hoped = np.concatenate([[expected[:low].sum()], expected[low : high + 1], [expected[high + 1 :].sum()]])
    kept = hoped > 0.5
    square = (seen[kept] - hoped[kept]) ** 2 / hoped[kept]
    return float(square.sum()), int(kept.sum()) - 1
