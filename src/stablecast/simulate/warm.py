"""Compile protocols' loops, so that what runs afterwards finds them in the cache.

``python -m stablecast.simulate.warm`` is part of the set-up for tests, where several processes would
otherwise compile the same code at once.  They are compiled side by side, a process each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from stablecast.errors import StablecastError
from stablecast.protocols import multicast_titles, protocol, protocol_names
from stablecast.simulate.compiled import is_compiled
from stablecast.simulate.options import Options
from stablecast.simulate.run import simulate


def tell(line: str) -> None:
    """Say what is being done, on standard error."""
    print(f"# {line}", file=sys.stderr, flush=True)


def warm(names: Iterable[str] | None = None, *, say: Callable[[str], None] = tell) -> None:
    """Compile the loops of some protocols, or of all, that are not in the cache."""
    wanted = [*protocol_names(), *multicast_titles()] if names is None else names
    found = (protocol(name) for name in wanted)
    loops = {each.family or each.module: each.name for each in found if not is_compiled(each)}
    missing = sorted(loops.values())
    if len(missing) == 1:
        say(f"compiling {missing[0]}'s loop, once")
        compile_loop(missing[0])
    elif missing:
        say(f"compiling {', '.join(missing)}, once, {min(len(missing), os.cpu_count() or 1)} at a time")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_apart, missing))


def compile_loop(name: str) -> None:
    """Run a protocol once on a tiny tree."""
    simulate(Options(protocol=name, topology="tree", degree=2, height=1).setup())


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
