"""Schedules of large groups with churn: what happens to a small group, in a crowd that comes and goes.

Every second one in a hundred members ends, by crashing, leaving or restarting, and as many join.  Whatever
else a seed's schedule has happens meanwhile, once all members have started.
"""

from __future__ import annotations

import random
from dataclasses import replace

from tests.soak.faults import BEGIN_S, Fault
from tests.soak.link_model import draw_links
from tests.soak.schedules import LARGE, START_EVERY_S, Schedule, make_schedule

CHURN_PER_S = 0.01
"""The share of members that are replaced in a second."""
CHURN_LEAST_S = 5.0
"""For how long they are at least."""
LARGEST_SIZE = max(LARGE)
LEAST_DATAGRAM = 1_400
DEGREE = 8
"""Of the trees in which members of a crowd pass on what goes to all."""


def crowd(seed: int, members: int) -> Schedule:
    """Return the schedule of a seed for so many members, with churn."""
    rng, plain = random.Random(f"crowd {seed} {members}"), make_schedule(seed)
    begins_s = BEGIN_S + (0.0 if plain.is_together else START_EVERY_S * members)
    moved = [replace(fault, at_s=fault.at_s - BEGIN_S + begins_s) for fault in plain.faults]
    lasts_s = max([CHURN_LEAST_S, *(fault.ends_at_s - begins_s for fault in moved)])
    churn = draw_churn(rng, members, plain.fail_after_s, begins_s, lasts_s)
    messages, sizes = rng.randint(1, 5), tuple(size for size in plain.sizes if size <= LARGEST_SIZE)
    return replace(
        plain,
        members=members,
        messages=messages,
        senders=rng.choice((0.1, 0.3)),
        gap_s=rng.choice((0.1, lasts_s / messages)),
        sizes=sizes,
        largest=tuple(sorted({max(LEAST_DATAGRAM, size) for size in plain.largest})),
        step_s=rng.choice((0.02, 0.1)),
        fan_out=DEGREE,
        links=draw_links(seed, members, messages * sum(sizes) / len(sizes)),
        faults=tuple(sorted((*moved, *churn), key=lambda fault: fault.at_s)),
    )


def draw_churn(
    rng: random.Random, members: int, fail_after_s: float, begins_s: float, lasts_s: float
) -> list[Fault]:
    """Draw who ends, and when as many join."""
    faults = []
    for _ in range(round(CHURN_PER_S * members * lasts_s)):
        kind = rng.choice(("crash", "leave", "restart"))
        at_s, who = begins_s + lasts_s * rng.random(), rng.getrandbits(32)
        if kind == "restart":
            how = rng.choice(("in-place", "elsewhere"))
            faults.append(Fault(at_s, kind, who, for_s=fail_after_s * rng.random(), how=how))
        else:
            faults.append(Fault(at_s, kind, who))
            faults.append(Fault(begins_s + lasts_s * rng.random(), "join", rng.getrandbits(32)))
    return faults
