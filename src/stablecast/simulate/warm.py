"""Compile protocols' loops, so that what runs afterwards finds them in the cache.

``python -m stablecast.simulate.warm`` is part of the set-up for tests, where several processes would
otherwise compile the same code at once.  They are compiled side by side, in a process for each core: the
second loop of a process takes half the time of the first, as most kernels are in both.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from stablecast.errors import InvalidInput, StablecastError
from stablecast.protocols import protocol, protocol_names
from stablecast.protocols.contract.machine import lone_machine
from stablecast.simulate.compiled import is_compiled, loop_name
from stablecast.simulate.options import Options
from stablecast.simulate.run import simulate

MACHINES = "--machines"


def tell(line: str) -> None:
    """Say what is being done, on standard error."""
    print(f"# {line}", file=sys.stderr, flush=True)


def warm(
    names: Iterable[str] | None = None, *, machines: bool = False, say: Callable[[str], None] = tell
) -> None:
    """Compile the loops of some protocols, or of all, that are not in the cache.

    With ``machines`` also each protocol's kernels, for machines of the plain driver and elsewhere.
    """
    found = {name: protocol(name) for name in (protocol_names() if names is None else names)}
    loops = {loop_name(each): name for name, each in found.items() if machines or not is_compiled(each)}
    missing = sorted(loops.values())
    if len(missing) == 1:
        say(f"compiling {found[missing[0]].name}'s loop, once")
        compile_loop(missing[0], machines=machines)
    elif missing:
        count = min(len(missing), os.cpu_count() or 1)
        say(f"compiling {', '.join(found[name].name for name in missing)}, once, {count} at a time")
        with ThreadPoolExecutor(count) as pool:
            hands = (missing[k::count] for k in range(count))
            list(pool.map(lambda hand: compile_apart(hand, machines=machines), hands))


def compile_loop(name: str, *, machines: bool = False) -> None:
    """Run a protocol once on a tiny tree; then compile the machines of all that share its loop."""
    simulate(Options(protocol=name, topology="tree", degree=2, height=1).setup())
    for each in map(protocol, protocol_names() if machines else ()):
        if loop_name(each) == loop_name(protocol(name)):
            lone_machine(each).compile()


def compile_apart(names: Sequence[str], *, machines: bool = False) -> None:
    """Compile some loops, one after the other, in a process of their own."""
    command = [sys.executable, "-m", "stablecast.simulate.warm", *([MACHINES] if machines else []), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        why = (done.stderr.strip() or "killed").splitlines()[-1]
        refused = re.match(r"stablecast\.[\w.]+\.(?:KernelError|InvalidInput): (.+)", why)
        if refused:
            raise InvalidInput(refused[1])
        raise StablecastError(f"compiling {', '.join(names)} failed: {why}")


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != MACHINES]
    for one in given:
        compile_loop(one, machines=MACHINES in sys.argv)
    if not given:
        warm(machines=MACHINES in sys.argv)
