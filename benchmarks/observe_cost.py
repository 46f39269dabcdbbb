"""What it costs a member to tell of its group: time and bytes, in groups of any size.

    python -m benchmarks.observe_cost [--members 1024] [--sources 0 16 256 1024]

One engine is in a view of so many members, so many of which have sent something that is not stable.  Printed
are the milliseconds of one answer, the least of several, and its bytes.
"""

from __future__ import annotations

import argparse
import random
import time

import msgspec

from stablecast.engine.engine import Engine
from stablecast.engine.observe import observe
from stablecast.engine.options import Options
from stablecast.membership.next_view import view_together
from stablecast.membership.view import MemberInfo
from stablecast.multicast.frames import Data

RUNS = 50
REPEATS = 20


def member_of(members: int, sources: int) -> Engine:
    """Return an engine to which some sources have sent runs of messages that nobody is known to have."""
    options = Options(group="orders", member="m0")
    engine = Engine(options, address=("10.0.0.1", 7000), largest=1400, rng=random.Random(1), now=0.0)
    others = [MemberInfo(k, f"m{k}", 1, "10.0.0.2", 7000 + k) for k in range(1, members)]
    engine.begin_in(view_together(5, 1, [engine.agreement.me, *others], group="orders"), [], 0.0)
    here = engine.in_view
    assert here is not None
    for source in range(1, min(sources + 1, members)):
        for k in range(RUNS):
            run = Data(here.view.id, source, 10 * k + 1, 10 * k + 1, [bytes(100)] * 10)
            here.data.take(run, 0.01 * k)
    return engine


def cost_of(engine: Engine) -> tuple[float, int]:
    """Return the milliseconds and the bytes of an answer."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        told = msgspec.json.encode(observe(engine, 5.0, time_us=1))
        times.append(time.perf_counter() - began)
    return 1e3 * min(times), len(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--members", type=int, default=1024)
    parser.add_argument("--sources", type=int, nargs="*", default=[0, 16, 256, 1024])
    given = parser.parse_args()
    for sources in given.sources:
        ms, size = cost_of(member_of(given.members, sources))
        print(f"{given.members:,} members, {sources:,} sources busy: {ms:.2f} ms, {size:,} bytes")


if __name__ == "__main__":
    main()
