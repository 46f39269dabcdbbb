"""The four protocols that acknowledge data all the time, behind one set of kernels.

The simulator compiles a loop for each set of kernels, and these four are small: their first parameter says
which one it is.  Everyone else uses the protocols' own kernels.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols import explicit, timestamp, transitive, vector
from stablecast.protocols._receivers import EXPLICIT, TIMESTAMP, TRANSITIVE, VARIANT
from stablecast.protocols.contract.kernels import Member, Message, Outbox


@kernel
def init(me: Member, now: int, out: Outbox) -> None:
    """Begin to take part."""
    if me.params[VARIANT] == TIMESTAMP:
        timestamp.init(me, now, out)
    elif me.params[VARIANT] == EXPLICIT:
        explicit.init(me, now, out)
    elif me.params[VARIANT] == TRANSITIVE:
        transitive.init(me, now, out)
    else:
        vector.init(me, now, out)


@kernel
def receive(me: Member, message: Message, now: int, out: Outbox) -> None:
    """Take in a message of the protocol."""
    if me.params[VARIANT] == TIMESTAMP:
        timestamp.receive(me, message, now, out)
    elif me.params[VARIANT] == EXPLICIT:
        explicit.receive(me, message, now, out)
    elif me.params[VARIANT] == TRANSITIVE:
        transitive.receive(me, message, now, out)
    else:
        vector.receive(me, message, now, out)


@kernel
def handle_timer(me: Member, now: int, out: Outbox) -> None:
    """Do what is due."""
    if me.params[VARIANT] == TIMESTAMP:
        timestamp.handle_timer(me, now, out)
    elif me.params[VARIANT] == EXPLICIT:
        explicit.handle_timer(me, now, out)
    elif me.params[VARIANT] == TRANSITIVE:
        transitive.handle_timer(me, now, out)
    else:
        vector.handle_timer(me, now, out)


@kernel
def start(me: Member, now: int, out: Outbox) -> None:
    """No member starts anything: all run by their own timers."""


@kernel
def attach(me: Member, column: int, number: int, now: int) -> int:
    """Put something into a data message."""
    if me.params[VARIANT] == TIMESTAMP:
        return timestamp.attach(me, column, number, now)
    if me.params[VARIANT] == TRANSITIVE:
        return transitive.attach(me, column, number, now)
    return 0


@kernel
def take(me: Member, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """Take in a data message."""
    if me.params[VARIANT] == EXPLICIT:
        explicit.take(me, column, source, before, now, out)
    elif me.params[VARIANT] == TRANSITIVE:
        transitive.take(me, column, source, before, now, out)
