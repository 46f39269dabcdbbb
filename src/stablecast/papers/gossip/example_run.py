"""Figure 1 of the paper, run by the protocol's own kernels: four members, sub-groups of two, two steps.

The figure leaves the arrays open; these are ours.  Whom each member draws follows from the seed, which is one
of those that give the figure's draws: in the first step everyone's array comes to B and C, A hears of all but
D, and D of nobody; in the second D's comes to A, and a message of B and of C to D.
"""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.frontier.sets import has
from stablecast.protocols import gsgc
from stablecast.testing.reference.channels import ChannelRun

NAMES = ("A", "B", "C", "D")
A, B, C, D = range(4)
SENDERS = (A, B, C)
ARRAYS = ((9, 4, 6), (7, 8, 5), (8, 6, 7), (6, 5, 3))
"""R of each member: of the messages of A, B and C."""
STEP, WAY = 10, 3
"""Time between two steps, which all members take at once, and of a message to its receiver."""
SUBGROUP = 2
SEED = 23_995


@dataclass(frozen=True)
class Step:
    """Everyone's state at the end of a step."""

    minimum: tuple[tuple[int, ...], ...]
    """M of each member."""
    heard: tuple[str, ...]
    """W of each member, as the names of those in it."""
    stable: tuple[tuple[int, ...], ...]
    """S of each member, zeros as long as it has none."""
    rounds: tuple[int, ...]


def figure_1(share: str, steps: int = 2) -> tuple[ChannelRun, tuple[Step, ...]]:
    """Play the figure's run; return it, and the state at the end of each step."""
    words = {"share": share, "subgroup": SUBGROUP}
    run = ChannelRun(
        "gsgc",
        members=len(NAMES),
        leaders=SENDERS,
        data_delay=lambda column, member, k: WAY,
        ack_delay=lambda source, dest, k: WAY,
        params={**gsgc.PROTOCOL.encode(words), "step": STEP},
        received=ARRAYS,
        seed=SEED,
    )
    for member in range(len(NAMES)):
        run.set_phases(member, ack_at=0)
    found = []
    for k in range(steps):
        run.run((k + 1) * STEP - 1)
        found.append(_step(run))
    return run, tuple(found)


def _step(run: ChannelRun) -> Step:
    members = [machine.me for machine in run.machines]
    return Step(
        minimum=tuple(tuple(map(int, me.M)) for me in members),
        heard=tuple("".join(name for j, name in enumerate(NAMES) if has(me.W, j)) for me in members),
        stable=tuple(tuple(map(int, me.stable)) for me in members),
        rounds=tuple(int(me.round) for me in members),
    )
