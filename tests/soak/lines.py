"""The trace of a run as lines: one for each way in which its views followed each other.

Why not by the group's name
    There is no quorum, so several parts of a group may write under its name at a time, and each of them is
    right.  When the members of a view of two are cut off from each other, both go on under the name, and so
    do both halves of a larger view; each part lets newcomers in of whom the other does not know.  A leader
    that was paused may begin a view that its members have agreed to and left behind by then, and writes down
    who failed and who joined in it.  Judged as one history, members of one part seem to lack what the other
    part calls stable.
What a line is
    A view follows exactly one view, the one that its survivors were in.  So views form trees, and a line is a
    path from a root to a leaf.  What a process wrote in a view belongs to all lines that pass through it;
    what it called stable or let go when a view ended belongs to those on which it went on, since it speaks of
    who went on.
What is demanded
    All that a trace is judged by, on each line, from its beginning to its end.  Who leaves a line for another
    one departs from it then, as if it had said so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from stablecast.trace.columns import Event

if TYPE_CHECKING:
    from tests.soak.witness import Knowledge, Stay


@dataclass(frozen=True, slots=True)
class Noted:
    """An event, and the view that it belongs to."""

    event: Event
    view: int


def lines_of(knowledge: Knowledge) -> Iterator[list[Event]]:
    """Yield the events of each line."""
    stays = [stay for witness in knowledge.witnesses for stay in witness.stays]
    for path in _paths(knowledge):
        views = set(path)
        events = [noted.event for noted in knowledge.events if noted.view in views]
        yield [*events, *_departures(path, stays)]


def _paths(knowledge: Knowledge) -> list[list[int]]:
    """Return the views of each line, the first ones first."""
    followed = knowledge.follows.values()
    paths = []
    for leaf in knowledge.views.keys() - set(followed):
        path = [leaf]
        while path[-1] in knowledge.follows:
            path.append(knowledge.follows[path[-1]])
        paths.append(path[::-1])
    return paths


def _departures(path: list[int], stays: list[Stay]) -> Iterator[Event]:
    following = dict(pairwise(path))
    for stay in stays:
        goes_on = following.get(stay.view.id)
        if goes_on is not None and stay.end is not None and stay.end != (goes_on,):
            for line in stay.lines:
                yield Event(line, "leave", stay.label, None, None, stay.ended_us)
