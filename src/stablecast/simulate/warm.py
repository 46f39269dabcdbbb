"""Compile every protocol's loop, so that what runs afterwards finds it in the cache.

``python -m stablecast.simulate.warm`` is part of the set-up for tests, where several processes would
otherwise compile the same code at once.
"""

from __future__ import annotations

import sys
import time

from stablecast.protocols import protocol_names
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup
from stablecast.simulate.topologies.registry import topology


def warm() -> None:
    """Run every protocol once on a tiny tree, telling how long each took."""
    for name in protocol_names():
        began = time.perf_counter()
        simulate(Setup(protocol=name, topology=topology("tree", degree=2, height=1)))
        print(f"compiled {name} in {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    warm()
