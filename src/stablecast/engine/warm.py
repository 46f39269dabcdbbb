"""Have a protocol's kernels compiled, or loaded, before a member joins: one that compiles is silent."""

from __future__ import annotations

from stablecast.engine.choice import Choice
from stablecast.engine.pace import Pace, PaceOptions
from stablecast.engine.tracker import Tracker
from stablecast.engine.wire import Stability
from stablecast.multicast.bufferers import buffers, named

MEMBERS = 3
STEPS = 40


_WARM: set[str] = set()
"""Identities of protocols whose kernels are there."""


def warm(choice: Choice | None) -> None:
    """Have the kernels of a protocol compiled, unless they are, and the choice of who keeps a copy."""
    buffers(0, (0, 0), 1, 1.0, by=named("mix"))
    if choice is not None and choice.identity not in _WARM:
        _run_three(choice)
        _WARM.add(choice.identity)


def _run_three(choice: Choice) -> None:
    """Let three members without a network find a message to be everywhere, so that every kernel is called."""
    waiting: list[tuple[Stability, int, int]] = []

    def sender(rank: int) -> Tracker:
        def send(frame: Stability, dest: int) -> None:
            others = [other for other in range(MEMBERS) if other != rank]
            waiting.extend((frame, rank, other) for other in (others if dest < 0 else [dest]))

        pace = Pace(PaceOptions(step_s=0.001), MEMBERS)
        return Tracker(choice, view=2, rank=rank, bases=[0] * MEMBERS, pace=pace, send=send, now=0.0)

    trackers = [sender(rank) for rank in range(MEMBERS)]
    attached = trackers[0].attach(1, 0.0) if trackers[0].attaches else []
    for rank, tracker in enumerate(trackers):
        if attached and rank:
            tracker.put_attached(0, 1, attached)
        tracker.has_received(0, 1, 0.0)
    for step in range(1, STEPS):
        for tracker in trackers:
            tracker.handle_timer(step * 0.001)
        taken, waiting[:] = list(waiting), []
        for frame, rank, dest in taken:
            trackers[dest].receive(frame, rank, step * 0.001)
