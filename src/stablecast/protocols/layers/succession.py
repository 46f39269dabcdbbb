"""Who coordinates: the lowest-numbered member that is left, and how its executions are told from others.

Theory
    Member 0 coordinates first.  A member succeeds it when its failure detector has told it of every member
    with a lower number.  A detector tells of nobody who is there, so all of these are gone, and the successor
    is the lowest-numbered member that is left: there is one at most, and once the detectors have told of all
    that crashed there is one.  It starts an execution as member 0 does, and everyone answers whoever asks.
Executions
    The coordinator c numbers its executions c · 2^40 + 1, c · 2^40 + 2 and so on (member 0: 1, 2, 3).  So two
    coordinators never use the same number, each number of a successor is larger than all of those before it,
    and an execution's number names its coordinator.  Members ignore what is older than the newest execution
    that they know of; whatever is left of a dead coordinator's executions ends with the first message of its
    successor's.
Why it is safe
    A result is the minimum of what members had received when they answered, and received prefixes only grow.
    It may be declared if a report of every member that is there is in it, whoever gathered them and when.
    Each layer shows that for its own way of gathering; a coordinator leaves out only those of whom its
    detector has told it, who are gone.
Why it ends
    Nobody has to know who coordinates.  A member that has not been told yet answers the successor as well; an
    answer to the dead coordinator is lost and not missed, because the successor asks everyone anew.  A
    successor that crashes in turn is succeeded in the same way.
What can go wrong
    With a detector that tells of members that are there, two members may coordinate at a time.  The higher
    number wins: the other steps down when it hears of it.  But a member that is taken for gone is no longer
    waited for, so that things may be declared stable that it lacks; it would have to leave the group.
"""

from __future__ import annotations

from typing import Annotated, Any

from stablecast.compiling import kernel
from stablecast.protocols.contract import number

REIGN_BITS = 40
REIGN = 1 << REIGN_BITS
"""Executions that one member may coordinate."""
Execution = Annotated[int, number(lambda sizes: 0, below=lambda sizes: sizes.group << REIGN_BITS)]
"""In a message: the execution that it belongs to, which names its coordinator; it is part of the header."""


@kernel
def coordinator_of(execution: int) -> int:
    """Return the member that started an execution."""
    return int(execution >> REIGN_BITS)


@kernel
def coordinates(me: Any) -> bool:
    """Tell whether this member started the execution that it is in; before the first, member 0 counts so."""
    return bool(me.execution >> REIGN_BITS == me.number)


@kernel
def succeed(me: Any) -> None:
    """Before a start: go on with this member's own executions, of which the first is behind all others'."""
    if not coordinates(me):
        me.execution = me.number * REIGN
