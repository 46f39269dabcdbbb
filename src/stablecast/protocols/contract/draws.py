"""Random draws that depend on a seed, a stream and a counter, and on nothing else.

Two drivers that ask in a different order get the same answers, and one more draw of one member does not move
those of another.
"""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel

PROTOCOL_STREAM = 3 << 40
"""A protocol draws from this stream, plus the member's number."""

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_A = np.uint64(0xBF58476D1CE4E5B9)
_B = np.uint64(0x94D049BB133111EB)


@kernel
def _mix(z: np.uint64) -> np.uint64:
    z = (z ^ (z >> np.uint64(30))) * _A
    z = (z ^ (z >> np.uint64(27))) * _B
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(seed: int, stream: int, counter: int) -> float:
    """Return a number in [0, 1), the ``counter``-th of its stream (splitmix64's finaliser, thrice)."""
    z = _mix(np.uint64(seed) + _GAMMA)
    z = _mix(z ^ (np.uint64(stream) * _GAMMA))
    z = _mix(z + np.uint64(counter) * _GAMMA)
    return float(z >> np.uint64(11)) / 9007199254740992.0
