"""How long one connection, or its end, holds up what becomes stable: a run with it and one without it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.tasks import Outcome
from stablecast.simulate.options import Options
from stablecast.simulate.run import simulate
from stablecast.simulate.senders import sender_members
from stablecast.simulate.setup import Setup
from stablecast.simulate.trace_rows import SEND_EVENT, STABLE_EVENT

TASK = f"{__name__}:measure"
PS_PER_MS = 1e9
GROUP: dict[str, Any] = {
    "topology": "balanced",
    "nodes": 16,
    "members": 16,
    "senders": 6,
    "receivers": 4,
    "costs": "links-only",
    "propagation_us": 10_000.0,
    "messages": 120,
    "rate_per_s": 60.0,
    "ack_to": "senders",
    "ack_every_ms": 20.0,
    "until_ms": 20_000.0,
}
AT_MS = 800.0
EARLIER_MS, WITHIN_MS = 200.0, 600.0
"""Messages are looked at that were sent from so long before the change to so long after it."""
NOTICED_MS = 1.0
CRASH_TOLD_MS, LEFT_TOLD_MS = 500.0, 400.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """What happens once in a run."""

    step: str
    """With the receiver, the sender and the time to be filled in."""
    protocol: str = "timestamp"
    told_ms: float = 0.0
    before: str = ""
    """What happens before, with the change and without it."""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def connects(self) -> bool:
        """Whether a receiver connects that was none."""
        return self.step.startswith("connect")


CONNECTS, DISCONNECTS = (
    "connect {receiver} to {sender} at {at}",
    "disconnect {receiver} from {sender} at {at}",
)
CHANGES = {
    "timestamp: connects": Change(step=CONNECTS),
    "timestamp: connects, clocks up to 250 ms apart": Change(step=CONNECTS, options={"skew_us": 250_000.0}),
    f"timestamp: connects to a crashed sender, told after {CRASH_TOLD_MS:g} ms": Change(
        step=CONNECTS, before="crash {sender} at {before}", told_ms=CRASH_TOLD_MS
    ),
    "vector: connects": Change(step=CONNECTS, protocol="vector"),
    "timestamp: disconnects, sender told at once": Change(step=DISCONNECTS),
    "timestamp: disconnects, sender told after 200 ms": Change(step=DISCONNECTS, told_ms=200.0),
    "timestamp: disconnects, sender told after 400 ms": Change(step=DISCONNECTS, told_ms=LEFT_TOLD_MS),
    "vector: disconnects, sender told after 400 ms": Change(
        step=DISCONNECTS, protocol="vector", told_ms=LEFT_TOLD_MS
    ),
}
JOINS, _, JOINS_CRASHED, JOINS_VECTOR, *LEFT, LEAVES_VECTOR = CHANGES
LEAVES, LEAVES_LATE = LEFT[0], LEFT[-1]


def hold_up(change: str, seed: int) -> Point:
    """Return the comparison of a run with a change and the run without it."""
    return task_point(TASK, change=change, seed=seed)


def measure(change: str, seed: int) -> Outcome:
    """Compare when each message is known to be stable, with the change and without it."""
    made = CHANGES[change]
    setup = _setup(made, seed, "")
    column, receiver = _pair(setup, seed, connects=made.connects)
    sender = int(sender_members(setup)[column])
    at = AT_MS + 37 * seed % 100 / 5
    words = {"receiver": receiver, "sender": sender, "at": at, "before": at - 1}
    before = made.before.format(**words)
    without, _ = _times(_setup(made, seed, before))
    step = made.step.format(**words)
    with_it, let_in_ms = _times(_setup(made, seed, f"{before}; {step}"))
    looked_at = np.abs(without[:, 1] / PS_PER_MS - at - (WITHIN_MS - EARLIER_MS) / 2)
    looked_at = looked_at <= (WITHIN_MS + EARLIER_MS) / 2
    known = (without[:, 2] > 0) & (with_it[:, 2] > 0) & looked_at
    later_ms = (with_it[:, 2] - without[:, 2]) / PS_PER_MS
    others, own = (later_ms[known & (mine == (without[:, 0] == column))] for mine in (False, True))
    return Outcome(
        extra={
            "let in": let_in_ms,
            "others, longest": float(others.max(initial=0.0)),
            "others, messages": float((others >= NOTICED_MS).sum()),
            "own, longest": float(own.max(initial=0.0)),
            "looked at": float(others.size),
        }
    )


def _setup(change: Change, seed: int, faults: str) -> Setup:
    given = GROUP | change.options
    return Options(
        protocol=change.protocol, seed=seed, faults=faults.strip("; "), detect_ms=change.told_ms, **given
    ).setup()


def _pair(setup: Setup, seed: int, *, connects: bool) -> tuple[int, int]:
    """Choose a sender's column, and a member that receives from other senders and from this one or not."""
    rng = np.random.default_rng([seed, 0x70616972])
    leaders = sender_members(setup).tolist()
    fitting = [
        (column, member)
        for column, audience in enumerate(setup.audiences)
        for member in range(setup.topology.member_count)
        if member != leaders[column]
        and (member in audience) != connects
        and sum(member in other for other in setup.audiences) >= 2
    ]
    column, member = fitting[int(rng.integers(len(fitting)))]
    return column, member


def _times(setup: Setup) -> tuple[NDArray[np.float64], float]:
    """Return for each message its column, when it was sent and when it was known to be stable, 0 for never.

    And how long the receiver took that was let in, in milliseconds; 0 if none was.
    """
    messages = setup.traffic.messages
    found = np.zeros((setup.column_count, messages, 3))
    found[:, :, 0] = np.arange(setup.column_count)[:, None]
    reached = np.zeros(setup.column_count, np.int64)

    def take(block: NDArray[np.int64]) -> None:
        for code, at, _, column, number, _ in block.tolist():
            if code == SEND_EVENT:
                found[column, number - 1, 1] = at
            elif code == STABLE_EVENT:
                found[column, reached[column] : number, 2] = at
                reached[column] = number

    result = simulate(setup, trace=take)
    return found.reshape(-1, 3), (result.connect_max_us or 0.0) / 1000
