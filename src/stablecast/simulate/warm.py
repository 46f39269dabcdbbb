"""Compile protocols' loops, so that what runs afterwards finds them in the cache.

``python -m stablecast.simulate.warm`` is part of the set-up for tests, where several processes would
otherwise compile the same code at once.  The first loop brings the code that all share; the others are then
compiled side by side, a process each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from stablecast.errors import StablecastError
from stablecast.protocols import protocol, protocol_names
from stablecast.simulate.compiled import is_compiled
from stablecast.simulate.run import simulate
from stablecast.simulate.setup import Setup
from stablecast.simulate.topologies.registry import topology


def tell(line: str) -> None:
    """Say what is being done, on standard error."""
    print(f"# {line}", file=sys.stderr, flush=True)


def warm(names: Iterable[str] | None = None, *, say: Callable[[str], None] = tell) -> None:
    """Compile the loops of some protocols, or of all, that are not in the cache."""
    wanted = protocol_names() if names is None else names
    modules = {protocol(name).module: name for name in wanted if not is_compiled(protocol(name))}
    missing = sorted(modules.values())
    if missing:
        say(f"compiling {missing[0]}'s loop, once (1 of {len(missing)})")
        compile_loop(missing[0])
    if len(missing) > 1:
        say(f"compiling {', '.join(missing[1:])}, {min(len(missing) - 1, os.cpu_count() or 1)} at a time")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_apart, missing[1:]))


def compile_loop(name: str) -> None:
    """Run a protocol once on a tiny tree."""
    simulate(Setup(protocol=name, topology=topology("tree", degree=2, height=1)))


def compile_apart(name: str) -> None:
    """Do so in a process of its own."""
    command = [sys.executable, "-m", "stablecast.simulate.warm", name]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise StablecastError(
            f"compiling {name} failed: {(done.stderr.strip() or 'killed').splitlines()[-1]}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for given in sys.argv[1:]:
            compile_loop(given)
    else:
        warm()
