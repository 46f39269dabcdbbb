"""The tree as it stands: who is a member's parent, and who its children, when some members are gone.

The rule
    The children of a member that is gone hang under its nearest ancestor that is not.  Those that have no
    such ancestor, because the root and all between are gone, hang under the coordinator.  Everyone applies
    the rule to the first tree, which all know, and to the members of whom its own detector has told it.
    Whoever is in an execution of coordinator c knows without a detector that members 0 to c - 1 are gone.
Why different knowledge does no harm
    The members of the first tree at or below i are *i's part*; the coordinator's part is everyone.  A member
    reports when it has a report, of this execution, of each of its children as the rule gives them to it; one
    that is gone is replaced by the children below it unless its own report is in.  By induction from the
    leaves a report of i covers all members of i's part but those that are gone: each child's report covers
    the child's part, and the parts of the children, the gone members between, and i itself are all of i's
    part.  The induction uses what i knows and nothing about what others know.  So a result covers everyone
    who is there, whoever was told of whom, and in whatever order.
Why nobody waits for ever
    When all have been told of all that crashed, the rule gives i the parent p exactly if it gives p the child
    i.  Who reports before that may report to a member that is gone, or to one that does not count it as a
    child yet.  The first reports again whenever the rule gives it another parent.  The second keeps the
    report, and counts it when it is told.  A parent that has taken over a child asks it, where START and INFO
    are passed on from parent to child.
What it costs
    A walk up the tree for each message at a member with children that are gone, and nothing at others.
"""

from __future__ import annotations

from typing import Any

from stablecast.compiling import kernel
from stablecast.frontier.sets import has
from stablecast.protocols.layers import has_answered
from stablecast.protocols.layers.succession import coordinates, coordinator_of


@kernel
def parent_of(me: Any) -> int:
    """Return the nearest ancestor that is not gone, or else the coordinator; -1 at the coordinator."""
    if coordinates(me):
        return -1
    above = me.parent
    if me.gone_count > 0:
        while above >= 0 and has(me.gone, above):
            above = me.parents[above]
    return int(above if above >= 0 else coordinator_of(me.execution))


@kernel
def is_child(me: Any, j: int) -> bool:
    """Tell whether a member hangs under this one: all between them are gone."""
    above = me.parents[j]
    while above >= 0 and above != me.number and has(me.gone, above):
        above = me.parents[above]
    return bool(above == me.number or (above < 0 and coordinates(me) and j != me.number))


@kernel
def is_asked(me: Any, j: int) -> bool:
    """Tell whether a child's answer is still to come: neither it nor a gone member above has answered."""
    if has(me.gone, j) or has(me.heard, j) or not is_child(me, j):
        return False
    above = me.parents[j]
    while above >= 0 and above != me.number:
        if has(me.heard, above):
            return False
        above = me.parents[above]
    return True


@kernel
def next_asked(me: Any, after: int) -> int:
    """Return the first child behind a number whose answer is still to come, -1 if there is none."""
    if not me.rebuilt:
        for j in range(max(after + 1, me.first_child), me.first_child + me.children):
            if not has_answered(me, j):
                return int(j)
        return -1
    for j in range(max(after, me.number) + 1, me.group_size):
        if is_asked(me, j):
            return int(j)
    return -1


@kernel
def count_asked(me: Any) -> int:
    """Return how many children's answers are still to come."""
    count, child = 0, next_asked(me, -1)
    while child >= 0:
        count += 1
        child = next_asked(me, child)
    return count


@kernel
def is_below(me: Any, j: int, member: int) -> bool:
    """Tell whether a child of this member was below another one, which is gone."""
    above = me.parents[j]
    while above >= 0 and above != member and above != me.number:
        above = me.parents[above]
    return bool(above == member)
