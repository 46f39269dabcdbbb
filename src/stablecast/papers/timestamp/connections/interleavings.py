"""Every state that a few senders and receivers can get into, whatever the order of events.

    explored = explore(CASES["two senders"])

visits them all and raises :class:`Violation` where a check refuses one, with the shortest way to it.  What
can happen is in ``worlds.py`` beside this file, what must hold in ``checks.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from stablecast.papers.timestamp.connections.checks import broken_promise, broken_rule, not_live, went_back
from stablecast.papers.timestamp.connections.worlds import Case, Violation, World, forget_steps

__all__ = ["Case", "Explored", "Violation", "explore"]

Origins: TypeAlias = dict[World, tuple[World, str] | None]
"""For each state that was seen, the one before it and the step between; None for the first."""


class Explored(NamedTuple):
    """What was seen."""

    states: int
    steps: int
    quiet: int
    """States in which nothing is under way, from which liveness was checked."""
    joined: int
    """States in which a sender counts a receiver."""
    stable: int
    """States in which a sender calls something stable."""
    refused: int
    """States and steps that a check refuses; without ``go_on`` there is none."""


def explore(case: Case, *, promise_only: bool = False, go_on: bool = False) -> Explored:
    """Visit every state, breadth first; raise :class:`Violation` at the first that a check refuses.

    With ``promise_only`` the only check is that nothing is called stable too early.  With ``go_on`` what is
    refused is counted, and the search goes on from there.
    """
    try:
        return _explore(case, promise_only, go_on)
    finally:
        forget_steps()


def _explore(case: Case, promise_only: bool, go_on: bool) -> Explored:
    first = case.tidied(case.begin())
    came_from: Origins = {first: None}
    ahead = deque([first])
    steps = quiet = joined = stable = refused = 0
    while ahead:
        world = ahead.popleft()
        joined += any(side.receiver_group for side in world.senders)
        stable += any(side.stable_up_to for side in world.senders)
        wrong = broken_promise(world)
        if not (wrong or promise_only):
            wrong = broken_rule(case, world)
            if not wrong and _is_quiet(case, world):
                quiet += 1
                wrong = not_live(case, world)
        if wrong:
            refused += 1
            if not go_on:
                raise Violation("\n".join([wrong, *_way_to(world, came_from)]))
        for name, after in case.steps(world):
            steps += 1
            if after not in came_from:
                came_from[after] = (world, name)
                ahead.append(after)
            wrong = "" if promise_only else went_back(world, after)
            if wrong:
                refused += 1
                if not go_on:
                    raise Violation("\n".join([wrong, *_way_to(world, came_from), name]))
    return Explored(len(came_from), steps, quiet, joined, stable, refused)


def _is_quiet(case: Case, world: World) -> bool:
    """Tell whether nothing is under way that makes a difference.

    From any other state one gets to a quiet one by deliveries alone, so liveness is looked at only here.
    """
    return not world.wires and case.tidied(case.all_told(world)) == world


def _way_to(world: World, came_from: Origins) -> Iterator[str]:
    names = []
    origin = came_from[world]
    while origin is not None:
        world, name = origin
        names.append(name)
        origin = came_from[world]
    return reversed(names)
