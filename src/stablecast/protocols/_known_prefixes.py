"""What each member is known to have of each column, or of one's own column alone: tournaments in ``own``."""

from __future__ import annotations

import numpy as np

from stablecast.compiling import kernel
from stablecast.frontier.tournament import least_of, number_of, raise_number, tournament_size
from stablecast.protocols._receivers import KNOW_ALL, has_receiver, is_whole, own_column
from stablecast.protocols.contract.kernels import Member, Outbox, declare_stable

ALL_THERE_IS = np.iinfo(np.int32).max
"""What a member is taken to have that nobody waits for."""


def known_size(group: int, columns: int, know: int) -> int:
    """Return the numbers that a member keeps."""
    return tournament_size(group) * (columns if know == KNOW_ALL else 1)


@kernel
def knows_of(me: Member, column: int, know: int) -> bool:
    """Tell whether a member keeps what others have of a column."""
    return bool(column == own_column(me) or (know == KNOW_ALL and is_whole(me)))


@kernel
def _start(me: Member, at: int, column: int, know: int) -> int:
    return at + (2 * me.group_size * column if know == KNOW_ALL else 0)


@kernel
def begin_to_know(me: Member, at: int, know: int) -> None:
    """Wait for nobody who does not receive a column; a sender has its own messages."""
    column = own_column(me)
    if column >= 0:
        start = _start(me, at, column, know)
        raise_number(me.own, start, me.group_size, me.number, ALL_THERE_IS)
        for member in range(me.group_size):
            if not has_receiver(me, member):
                raise_number(me.own, start, me.group_size, member, ALL_THERE_IS)


@kernel
def learn_prefix(me: Member, at: int, column: int, member: int, number: int, know: int) -> int:
    """Take in that a member has a column up to a number; return the comparisons that it took."""
    if not knows_of(me, column, know):
        return 0
    return raise_number(me.own, _start(me, at, column, know), me.group_size, member, number)


@kernel
def known_prefix(me: Member, at: int, column: int, member: int, know: int) -> int:
    """Return what a member is known to have of a column."""
    return number_of(me.own, _start(me, at, column, know), me.group_size, member)


@kernel
def stop_waiting_for(me: Member, at: int, member: int, know: int) -> None:
    """Wait no longer for a member that is gone."""
    for column in range(me.received.size):
        learn_prefix(me, at, column, member, ALL_THERE_IS, know)


@kernel
def declare_known(me: Member, at: int, know: int, out: Outbox) -> None:
    """Call stable what every member is known to have."""
    rose = False
    for column in range(me.received.size):
        me.gathered[0, column] = me.stable[column]
        if knows_of(me, column, know):
            least = min(least_of(me.own, _start(me, at, column, know)), me.received[column])
            me.gathered[0, column] = max(me.stable[column], least)
            rose = rose or least > me.stable[column]
    if rose:
        declare_stable(me, out, 1, me.gathered[0])
