"""What a kernel sees: one member's arrays, the message at hand, and an outbox.

A kernel is a function in the subset that numba compiles.  It reads and writes the arrays of the member that
it is given and puts what it sends into the outbox; it has no clock, no socket and no randomness of its own
(what it draws follows from a seed that it is given, see :mod:`stablecast.protocols.contract.draws`).  The
simulator's loop and the live machine call the very same functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, exceeds, raise_to, take_minimum

IntArray = NDArray[np.integer[Any]]

GROUP = -1
"""Destination of a multicast: every member, the sender included."""

SENDS, ARRAYS, LEARNED, ROSE, FINISHED, TIMER, CHANGES, MARKS = range(8)
"""Entries of ``Outbox.marks``."""

NEVER = np.iinfo(np.int64).max
"""A time that does not come: a timer set to it is off."""
AS_IT_IS = -1
"""In ``marks[TIMER]``: the timer was not touched."""

CHANGE_STATUS = 1 << 20
"""In ``Outbox.changes``: what a status number is multiplied with."""

NOTHING, ARRAY, RECEIVED, SAME = 0, 1, 2, 3
"""Values of ``Outbox.carries``: only a header, an array of its own, the sender's received array, the array of
the send before it."""

BY_KIND = -1
"""In ``Outbox.payload``: what the kind of message and the array that it carries come to."""

GONE = -1
"""Kind of what is no message: a failure detector tells that the member ``source`` is no more."""


class Member(NamedTuple):
    """One member's state, as views into the driver's arrays."""

    number: int
    """Own number in the group, from 0; number 0 starts executions."""
    group_size: int
    """Number of members."""
    received: IntArray
    """R: for each sender, the last message of the unbroken prefix that this member has."""
    gathered: IntArray
    """S: minima under construction, one row a slot of the protocol."""
    stable: IntArray
    """For each sender, the last message that this member knows to be everywhere."""
    reg: NDArray[np.int64]
    """The protocol's own counters; register 0 is the newest execution heard of."""
    place: NDArray[np.int32]
    """The member's place in the overlay; its entries are the protocol's to define."""
    own: IntArray
    """Further numbers that the protocol keeps for this member."""
    params: NDArray[np.int64]
    """The protocol's parameters, the same for all members, in the order in which it lists them."""
    seed: int
    """Of everything that the protocol draws."""
    attached: NDArray[np.int64]
    """What the protocol's ``attach`` put into data messages: ``attached[column, number % length]`` is a row
    of numbers.  A member may read those of messages that it has: up to ``received[column]``."""


class Message(NamedTuple):
    """A message as a kernel receives it."""

    kind: int
    """Index into the protocol's message types, or ``GONE``."""
    source: int
    """The member that sent it, or that is gone."""
    execution: int
    """The execution that it belongs to, from 1."""
    array: IntArray
    """The sequence numbers that it carries, and behind them what the protocol adds to them; undefined for a
    type that carries none."""
    first: int = 0
    """Two whole numbers of 64 bits, for a type that ``send_numbers`` sends."""
    second: int = 0


class Outbox(NamedTuple):
    """What a kernel call sends and tells; emptied by the driver before each call."""

    marks: NDArray[np.int64]
    """What this call did: numbers of sends and of arrays among them; the execution learned (0: none), whether
    ``stable`` rose, the execution finished (0: none), what the timer was set to, and how many changes of
    membership it made."""
    kind: NDArray[np.int64]
    dest: NDArray[np.int64]
    execution: NDArray[np.int64]
    carries: NDArray[np.int64]
    """What each send carries."""
    slot: NDArray[np.int64]
    """The rows of ``arrays`` that are free for the arrays of this call, in order."""
    first: NDArray[np.int64]
    """The two numbers of each send; undefined for those that carry none."""
    second: NDArray[np.int64]
    payload: NDArray[np.int64]
    """Bytes of each send beyond its header; ``BY_KIND`` for what its kind and array come to."""
    changes: NDArray[np.int64]
    """Members that this call admitted (positive) or struck off (negative): status number × 2^20 + their
    number + 1."""
    arrays: IntArray


@kernel
def _header(out: Outbox, kind: int, dest: int, execution: int) -> None:
    k = out.marks[SENDS]
    out.kind[k] = kind
    out.dest[k] = dest
    out.execution[k] = execution
    out.payload[k] = BY_KIND
    out.marks[SENDS] = k + 1


@kernel
def send(out: Outbox, kind: int, dest: int, execution: int) -> None:
    """Send a message that is only a header to a member, or to all with ``GROUP``."""
    out.carries[out.marks[SENDS]] = NOTHING
    _header(out, kind, dest, execution)


@kernel
def send_array(out: Outbox, kind: int, dest: int, execution: int, array: IntArray) -> None:
    """Send a copy of an array of sequence numbers."""
    out.carries[out.marks[SENDS]] = ARRAY
    _header(out, kind, dest, execution)
    copy_into(out.arrays[out.slot[out.marks[ARRAYS]]], array)
    out.marks[ARRAYS] += 1


@kernel
def send_again(out: Outbox, kind: int, dest: int, execution: int) -> None:
    """Send what the last ``send_array`` of this call carried to another member too; it is kept once."""
    out.carries[out.marks[SENDS]] = SAME
    _header(out, kind, dest, execution)


@kernel
def last_row(out: Outbox) -> int:
    """Return the row of ``arrays`` that the last ``send_array`` of this call filled, to be changed still."""
    return int(out.slot[out.marks[ARRAYS] - 1])


@kernel
def send_received(out: Outbox, kind: int, dest: int, execution: int) -> None:
    """Send what this member has received as it is now; a driver may spare the copy where it cannot change."""
    out.carries[out.marks[SENDS]] = RECEIVED
    _header(out, kind, dest, execution)


@kernel
def send_numbers(out: Outbox, kind: int, dest: int, execution: int, first: int, second: int) -> None:
    """Send two whole numbers of 64 bits; their size on the wire is the kind's."""
    k = out.marks[SENDS]
    out.carries[k] = NOTHING
    out.first[k] = first
    out.second[k] = second
    _header(out, kind, dest, execution)


@kernel
def weigh(out: Outbox, payload: int) -> None:
    """Say how many bytes the last send has beyond its header, whatever it carries."""
    out.payload[out.marks[SENDS] - 1] = payload


@kernel
def attached(me: Member, column: int, number: int, k: int) -> int:
    """Return a number that goes with a data message that this member has."""
    return int(me.attached[column, number % me.attached.shape[1], k])


@kernel
def attach_number(me: Member, column: int, number: int, k: int, value: int) -> None:
    """Put a number into a data message that this member is about to send."""
    me.attached[column, number % me.attached.shape[1], k] = value


@kernel
def gather(me: Member, slot: int, count: int, array: IntArray) -> None:
    """Take an array into the minimum of a slot; register ``count`` holds how many it has taken in so far."""
    if me.reg[count] == 0:
        copy_into(me.gathered[slot], array)
    else:
        take_minimum(me.gathered[slot], array)
    me.reg[count] += 1


@kernel
def declare_stable(me: Member, out: Outbox, execution: int, array: IntArray) -> None:
    """Call everything up to ``array`` stable, and tell that this execution's result is known here."""
    out.marks[LEARNED] = execution
    if exceeds(array, me.stable):
        raise_to(me.stable, array)
        out.marks[ROSE] = 1


@kernel
def finish(out: Outbox, execution: int) -> None:
    """Tell that this execution has nothing more to do at this member."""
    out.marks[FINISHED] = execution


@kernel
def set_timer(out: Outbox, at: int) -> None:
    """Have ``handle_timer`` called at a time, in place of any time set before; ``NEVER`` for not at all."""
    out.marks[TIMER] = at


@kernel
def _change(out: Outbox, value: int) -> None:
    out.changes[out.marks[CHANGES]] = value
    out.marks[CHANGES] += 1


@kernel
def admit(out: Outbox, member: int, status: int) -> None:
    """Tell that from now on nothing becomes stable without this member, under this status number."""
    _change(out, status * CHANGE_STATUS + member + 1)


@kernel
def strike_off(out: Outbox, member: int, status: int) -> None:
    """Tell that from now on things may become stable without this member, under this status number."""
    _change(out, -(status * CHANGE_STATUS + member + 1))


@kernel
def no_init(me: Member, now: int, out: Outbox) -> None:
    """The ``init`` of a protocol whose members wait for the first message."""


@kernel
def no_timer(me: Member, now: int, out: Outbox) -> None:
    """The ``handle_timer`` of a protocol that sets no timer."""


@kernel
def no_attach(me: Member, column: int, number: int, now: int) -> int:
    """The ``attach`` of a protocol that puts nothing into data messages."""
    return 0


@kernel
def no_take(me: Member, column: int, source: int, before: int, now: int, out: Outbox) -> None:
    """The ``take`` of a protocol that does nothing when a data message comes."""


@kernel
def clear(marks: NDArray[np.int64]) -> None:
    """Empty an outbox, given its marks."""
    marks[SENDS] = 0
    marks[ARRAYS] = 0
    marks[LEARNED] = 0
    marks[ROSE] = 0
    marks[FINISHED] = 0
    marks[TIMER] = AS_IT_IS
    marks[CHANGES] = 0


def make_outbox(
    sends_max: int, columns: int, dtype: type[np.integer[Any]], *, arrays_max: int, changes_max: int = 0
) -> Outbox:
    """Allocate an outbox for so many sends, arrays among them, and changes in one call."""
    return Outbox(
        marks=np.zeros(MARKS, np.int64),
        kind=np.zeros(sends_max, np.int64),
        dest=np.zeros(sends_max, np.int64),
        execution=np.zeros(sends_max, np.int64),
        carries=np.zeros(sends_max, np.int64),
        slot=np.arange(arrays_max, dtype=np.int64),
        first=np.zeros(sends_max, np.int64),
        second=np.zeros(sends_max, np.int64),
        payload=np.zeros(sends_max, np.int64),
        changes=np.zeros(max(changes_max, 1), np.int64),
        arrays=np.zeros((arrays_max, columns), dtype),
    )
