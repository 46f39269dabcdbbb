"""What each member is known to have of each column, or of one's own column alone."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stablecast.frontier.tournament import least_of, raise_number, tournament_size
from stablecast.protocols._receivers import KNOW_ALL, THE_ONLY_EXECUTION, Receiver, has_receiver
from stablecast.protocols.contract import (
    IntArray,
    Number,
    Outbox,
    Sizes,
    declare_prefix,
    entries,
    kernel,
)

ALL_THERE_IS = np.iinfo(np.int32).max
"""What a member is taken to have that nobody waits for."""


def _columns_known(sizes: Sizes) -> int:
    return sizes.tracked if sizes.params["know"] == KNOW_ALL else 1


class Knowing(Receiver):
    """A member that keeps what others have; its protocol has a parameter ``know``."""

    known: Annotated[IntArray, entries(lambda sizes: tournament_size(sizes.group), rows=_columns_known)]
    """For each column, or for one's own alone, a tournament of what each member is known to have of it."""
    operations: Number
    """Comparisons so far."""


@kernel
def knows_of(me: Knowing, column: int) -> bool:
    """Tell whether a member keeps what others have of a column."""
    return bool(column == me.column or (me.params.know == KNOW_ALL and me.whole))


@kernel
def row_of(me: Knowing, column: int) -> int:
    """Return the row of ``known`` that a column has."""
    return column if me.params.know == KNOW_ALL else 0


@kernel
def begin_to_know(me: Knowing) -> None:
    """Wait for nobody who does not receive a column; a sender has its own messages."""
    if me.column >= 0:
        known = me.known[row_of(me, me.column)]
        raise_number(known, me.number, ALL_THERE_IS)
        for member in range(me.group_size):
            if not has_receiver(me, member):
                raise_number(known, member, ALL_THERE_IS)


@kernel
def learn_prefix(me: Knowing, column: int, member: int, number: int) -> None:
    """Take in that a member has a column up to a number."""
    if knows_of(me, column):
        me.operations += raise_number(me.known[row_of(me, column)], member, number)


@kernel
def learn_prefixes(me: Knowing, member: int, numbers: IntArray) -> None:
    """Take in what a member has of each column."""
    for column in range(me.received.size):
        learn_prefix(me, column, member, numbers[column])


@kernel
def stop_waiting_for(me: Knowing, member: int) -> None:
    """Wait no longer for a member that is gone."""
    for column in range(me.received.size):
        if knows_of(me, column):
            raise_number(me.known[row_of(me, column)], member, ALL_THERE_IS)


@kernel
def declare_known(me: Knowing, out: Outbox) -> None:
    """Call stable what every member is known to have."""
    for column in range(me.received.size):
        if knows_of(me, column):
            least = min(least_of(me.known[row_of(me, column)]), me.received[column])
            declare_prefix(me, out, THE_ONLY_EXECUTION, column, least)
