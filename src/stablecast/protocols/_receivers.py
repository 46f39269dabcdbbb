"""Whose messages a member gets, and who gets its own: what the acknowledging protocols share.

A member's place is its column (-1 if it sends nothing), then 1 if everyone receives from every sender,
itself included, and 0 if groups differ.  Lists follow where they are needed: how many senders it receives
from, their columns, their numbers; how many members receive from it, their numbers.
"""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.protocols.contract.kernels import Member
from stablecast.protocols.contract.parameters import CHOICE, TIME, Parameter, Role, hidden
from stablecast.protocols.contract.protocol import Place, Sizes

TIMESTAMP, VECTOR, EXPLICIT, TRANSITIVE = 0, 1, 2, 3
VARIANT = 0
"""The first parameter of each: which of them it is."""
TO_ALL, TO_SENDERS = 0, 1
KNOW_ALL, KNOW_OWN = 0, 1
COLUMN, WHOLE, SENDERS, LIST = 0, 1, 2, 3

ACK_EVERY = Parameter(
    "ack_every",
    TIME,
    100.0,
    "Time between two acknowledgements of a member.",
    unit="ms",
    role=Role.EVERY,
    above=0,
)
ACK_TO = Parameter(
    "ack_to",
    CHOICE,
    "all",
    "Whom members acknowledge to: all members at once, or the senders, with one message to each.",
    choices={"all": TO_ALL, "senders": TO_SENDERS},
)
KNOW = Parameter(
    "know",
    CHOICE,
    "all",
    "Whose messages a member learns to be stable: the messages of all senders, or only its own.",
    choices={"all": KNOW_ALL, "own": KNOW_OWN},
)


def variant(number: int) -> Parameter:
    """Return the parameter that tells a protocol from the others."""
    return hidden("variant", Role.DERIVED, number)


def leaders_of(sizes: Sizes) -> tuple[int, ...]:
    """Return the member that leads each column: as given, or spread evenly over the group."""
    return sizes.leaders or tuple(c * sizes.group // sizes.tracked for c in range(sizes.tracked))


def place_receivers(sizes: Sizes, *, with_lists: bool) -> Place:
    """Give every member its place; the lists take members times senders of room."""
    leaders = leaders_of(sizes)
    column_of = {leader: column for column, leader in enumerate(leaders)}
    rows = []
    for i in range(sizes.group):
        row = [column_of.get(i, -1), int(not sizes.audiences)]
        if with_lists or sizes.audiences:
            heard = [c for c in range(len(leaders)) if not sizes.audiences or i in sizes.audiences[c]]
            row += [len(heard), *heard, *(leaders[c] for c in heard)]
            own = column_of.get(i, -1)
            if sizes.audiences:
                audience = sizes.audiences[own] if own >= 0 else ()
                row += [len(audience), *audience]
        rows.append(row)
    start = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    return Place(np.array([entry for row in rows for entry in row], np.int32), start)


@kernel
def own_column(me: Member) -> int:
    """Return the column of one's own messages, -1 if one sends none."""
    return int(me.place[COLUMN])


@kernel
def is_whole(me: Member) -> bool:
    """Tell whether everyone receives from every sender."""
    return bool(me.place[WHOLE] == 1)


@kernel
def sender_count(me: Member) -> int:
    """Return how many senders the lists have that this member receives from."""
    return int(me.place[SENDERS])


@kernel
def sender_column(me: Member, k: int) -> int:
    """Return the column of the ``k``-th of them."""
    return int(me.place[LIST + k])


@kernel
def sender_number(me: Member, k: int) -> int:
    """Return the ``k``-th of them."""
    return int(me.place[LIST + me.place[SENDERS] + k])


@kernel
def hears(me: Member, column: int) -> bool:
    """Tell whether a column's messages are for this member."""
    if is_whole(me):
        return True
    for k in range(me.place[SENDERS]):
        if me.place[LIST + k] == column:
            return True
    return False


@kernel
def has_receiver(me: Member, member: int) -> bool:
    """Tell whether a member receives from this one."""
    if is_whole(me):
        return True
    at = LIST + 2 * me.place[SENDERS]
    for k in range(me.place[at]):
        if me.place[at + 1 + k] == member:
            return True
    return False
