"""What kernels are written with: who they are, what they send, and how they call something stable.

A kernel is a function in the subset that numba compiles.  It reads and writes the fields of the member that
it is given and puts what it sends into the outbox; it has no clock, no socket and no randomness of its own
(what it draws follows from a seed that it is given, see :mod:`stablecast.protocols.contract.draws`).  The
simulator's loop and the live machine call the very same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.compiling.view_calls import read, send, send_again
from stablecast.compiling.views import MARKS, NUMBERS_MAX, SentRows
from stablecast.frontier import copy_into, exceeds, raise_to, take_minimum

IntArray = NDArray[np.integer[Any]]

GROUP = -1
"""Destination of a multicast: every member, the sender included."""
NEVER = np.iinfo(np.int64).max
"""A time that does not come: a timer set to it is off."""
AS_IT_IS = -1
"""In ``marks.timer``: the timer was not touched."""
CONNECT, CLOSE_AT_RECEIVER, CLOSE_AT_SENDER = 0, 1, 2
"""What a driver tells of a channel between a sender and a receiver: at the receiver that it is to connect,
at the receiver that its connection is closed, and at the sender."""
CHANGE_STATUS = 1 << 20
"""In the outbox's ``changes``: what a status number is multiplied with."""


class Member:
    """What every member has; a protocol's state adds its own fields.  Kernels get one as ``me``."""

    if TYPE_CHECKING:
        number: int
        """Own number in the group, from 0; number 0 starts executions."""
        group_size: int
        """Number of members."""
        received: IntArray
        """R: for each source, the last message of the unbroken prefix that this member has."""
        stable: IntArray
        """For each source, the last message that this member knows to be everywhere."""
        seed: int
        """Of everything that the protocol draws."""
        guarded: int
        """Whether messages may come twice, be sent again, or their senders be gone."""
        params: Any
        """The protocol's parameters by name, as whole numbers; the same for all members."""
        attached: NDArray[np.int64]
        """What ``attach`` put into data messages: ``attached[column, number % length]`` is a row of numbers.
        A member may read those of messages that it has: up to ``received[column]``."""


class Outbox:
    """What a kernel call sends and tells; emptied by the driver before each call."""

    if TYPE_CHECKING:
        marks: Any
        """What this call did so far, see :data:`stablecast.compiling.views.MARKS`."""
        dest: NDArray[np.int64]
        """Where each of its messages goes."""
        changes: NDArray[np.int64]
        """Members admitted (positive) or removed (negative): status number × 2^20 + their number + 1."""
        payload: NDArray[np.int64]


@kernel
def weigh(out: Outbox, payload: int) -> None:
    """Say how many bytes the last send has beyond its header, whatever it carries."""
    out.payload[out.marks.sends - 1] = payload


@kernel
def attached(me: Member, column: int, number: int, k: int) -> int:
    """Return a number that goes with a data message that this member has."""
    return int(me.attached[column, number % me.attached.shape[1], k])


@kernel
def attach_number(me: Member, column: int, number: int, k: int, value: int) -> None:
    """Put a number into a data message that this member is about to send."""
    me.attached[column, number % me.attached.shape[1], k] = value


@kernel
def gather(into: IntArray, array: IntArray, first: bool) -> None:
    """Take an array into a minimum; the first one is the minimum itself."""
    if first:
        copy_into(into, array)
    else:
        take_minimum(into, array)


@kernel
def declare_stable(me: Member, out: Outbox, execution: int, array: IntArray) -> None:
    """Call everything up to ``array`` stable, and tell that this execution's result is known here."""
    out.marks.learned = execution
    if exceeds(array, me.stable):
        raise_to(me.stable, array)
        out.marks.rose = 1


@kernel
def declare_prefix(me: Member, out: Outbox, execution: int, column: int, number: int) -> None:
    """Call the messages of one source stable up to a number, if that is news."""
    if number > me.stable[column]:
        me.stable[column] = number
        out.marks.learned = execution
        out.marks.rose = 1


@kernel
def finish(out: Outbox, execution: int) -> None:
    """Tell that this execution has nothing more to do at this member."""
    out.marks.finished = execution


@kernel
def begin_execution(out: Outbox, execution: int) -> None:
    """Tell that a member that runs by timers begins this execution now; the first one to do so counts."""
    out.marks.begun = execution


@kernel
def set_timer(out: Outbox, at: int) -> None:
    """Have the timer go off at a time, in place of any time set before; ``NEVER`` for not at all."""
    out.marks.timer = at


@kernel
def _change(out: Outbox, value: int) -> None:
    if out.marks.changes < out.changes.size:
        out.changes[out.marks.changes] = value
        out.marks.changes += 1
    else:
        out.marks.overflow += 1


@kernel
def admit(out: Outbox, member: int, status: int) -> None:
    """Tell that from now on nothing becomes stable without this member, under this status number."""
    _change(out, int(status) * CHANGE_STATUS + member + 1)


@kernel
def strike_off(out: Outbox, member: int, status: int) -> None:
    """Tell that from now on things may become stable without this member, under this status number."""
    _change(out, -(int(status) * CHANGE_STATUS + member + 1))


@kernel
def count_receiver(out: Outbox, member: int, after: int) -> None:
    """Tell that of one's own messages, from the one behind ``after``, none is stable without this member."""
    out.marks.counted = member + 1
    out.marks.after = after


@kernel
def open_channel(out: Outbox, column: int, after: int) -> None:
    """Tell that from now on one takes the messages of a column, from the one behind ``after``."""
    out.marks.opened = column + 1
    out.marks.after = after


@kernel
def no_call(me: Member, now: int, out: Outbox) -> None:
    """The ``init``, ``start``, ``timer`` or ``leave`` of a protocol that has none."""


@kernel
def no_gone(me: Member, member: int, column: int, now: int, out: Outbox) -> None:
    """The ``gone`` of a protocol that does without."""


@kernel
def no_joined(me: Member, member: int, now: int, out: Outbox) -> None:
    """The ``joined`` of a protocol that does without."""


@kernel
def no_channel(
    me: Member, what: int, member: int, column: int, connection: int, now: int, out: Outbox
) -> None:
    """The ``channel`` of a protocol whose members do not connect."""


@kernel
def no_attach(me: Member, column: int, number: int, now: int) -> int:
    """The ``attach`` of a protocol that puts nothing into data messages."""
    return 0


@kernel
def no_take(me: Member, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """The ``take`` of a protocol that does nothing when a data message comes."""


@kernel
def no_hear(me: Member, source: int, now: int) -> None:
    """The ``hear`` of a protocol that needs no signs of life."""


@kernel
def clear(marks: Any) -> None:
    """Empty an outbox, given its marks."""
    marks.sends = 0
    marks.arrays = 0
    marks.learned = 0
    marks.rose = 0
    marks.finished = 0
    marks.begun = 0
    marks.timer = AS_IT_IS
    marks.changes = 0
    marks.counted = 0
    marks.opened = 0
    marks.overflow = 0


def make_outbox(sends: int, *, arrays: IntArray, array_count: int, changes: int = 0) -> SentRows:
    """Allocate an outbox for so many sends, arrays among them, and changes in one call.

    The first rows of ``arrays`` are the first that calls fill.
    """
    return SentRows(
        marks=np.zeros(1, MARKS).view(np.recarray),
        kind=np.zeros(sends, np.int64),
        dest=np.zeros(sends, np.int64),
        numbers=np.zeros((sends, NUMBERS_MAX), np.int64),
        carries=np.zeros(sends, np.int64),
        slot=np.arange(array_count, dtype=np.int64),
        payload=np.zeros(sends, np.int64),
        changes=np.zeros(max(changes, 1), np.int64),
        arrays=arrays,
    )


__all__ = [
    "AS_IT_IS",
    "CHANGE_STATUS",
    "CLOSE_AT_RECEIVER",
    "CLOSE_AT_SENDER",
    "CONNECT",
    "GROUP",
    "NEVER",
    "IntArray",
    "Member",
    "Outbox",
    "admit",
    "attach_number",
    "attached",
    "begin_execution",
    "clear",
    "count_receiver",
    "declare_prefix",
    "declare_stable",
    "finish",
    "gather",
    "kernel",
    "make_outbox",
    "no_attach",
    "no_call",
    "no_channel",
    "no_gone",
    "no_hear",
    "no_joined",
    "no_take",
    "open_channel",
    "read",
    "send",
    "send_again",
    "set_timer",
    "strike_off",
    "weigh",
]
