"""Compile every protocol's loop, so that what runs afterwards finds it in the cache.

``python -m stablecast.simulate.warm`` is part of the set-up for tests, where several processes would
otherwise compile the same code at once.
"""

from __future__ import annotations

import sys

from stablecast.protocols import protocol, protocol_names
from stablecast.simulate.compiled import is_compiled
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup
from stablecast.simulate.topologies.registry import topology


def warm() -> None:
    """Run every protocol whose loop is not in the cache once on a tiny tree, telling what is being done."""
    missing = [name for name in protocol_names() if not is_compiled(protocol(name))]
    for number, name in enumerate(missing, 1):
        print(f"# compiling {name}'s loop, once ({number} of {len(missing)})", file=sys.stderr, flush=True)
        simulate(Setup(protocol=name, topology=topology("tree", degree=2, height=1)))


if __name__ == "__main__":
    warm()
