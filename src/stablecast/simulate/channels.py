"""Connections in the compiled loop: whose messages a member takes, and whom a sender has to wait for.

A pair of a column and a member is *wanted* from the moment at which the receiver connects until either side
has closed the connection.  It is *required* while the sender counts the receiver in, by its own word, and
neither side has closed it; what the checkers demand follows from that alone.  The receiver takes messages
(``audience``) from the moment at which it says so.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.protocols.contract.kernels import CLOSE_AT_RECEIVER, CLOSE_AT_SENDER
from stablecast.protocols.contract.kernels import CONNECT as TO_CONNECT
from stablecast.simulate.checks import pair_of
from stablecast.simulate.faults import CONNECT, DISCONNECT, LOSE_SENDER
from stablecast.simulate.state import Sim
from stablecast.simulate.traffic import ask_for


@kernel
def note_change(sim: Sim, what: int, member: int, column: int, now: int) -> int:
    """Note what happens to a connection; return what a protocol is told of it."""
    if what == CONNECT:
        sim.pairs[pair_of(sim, column, member)].wanted = 1
        sim.pairs[pair_of(sim, column, member)].since = now
        return TO_CONNECT
    if what in (DISCONNECT, LOSE_SENDER):
        close(sim, column, member)
        sim.audience[column, member] = 0
        return CLOSE_AT_RECEIVER
    return CLOSE_AT_SENDER


@kernel
def close(sim: Sim, column: int, member: int) -> None:
    """Nobody demands any more that a receiver has what its sender sent."""
    pair = sim.pairs[pair_of(sim, column, member)]
    pair.wanted = 0
    pair.since = -1
    pair.required = 0


@kernel
def note_counted(sim: Sim, sender: int, member: int, after: int) -> None:
    """A sender counts a receiver in; one that has closed the connection meanwhile is not waited for."""
    pair = sim.pairs[pair_of(sim, sim.members[sender].column, member)]
    if pair.wanted:
        pair.required = 1
        pair.after = after


@kernel
def note_opened(sim: Sim, member: int, column: int, after: int, now: int) -> None:
    """A receiver begins to take a sender's messages; what it has missed by now it asks for."""
    counts, pair = sim.counts, sim.pairs[pair_of(sim, column, member)]
    sim.audience[column, member] = 1
    sim.received[member, column] = max(sim.received[member, column], after)
    sim.highest[member, column] = max(sim.highest[member, column], after)
    for k in range(sim.ahead.shape[2]):
        sim.ahead[member, column, k] = False
    sim.asked_at[member, column] = -1
    took = now - pair.since
    pair.since = -1
    counts.connects += 1
    counts.connect_sum += took
    counts.connect_max = max(counts.connect_max, took)
    ask_for(sim, member, column, now)


@kernel
def is_connecting(sim: Sim, member: int) -> bool:
    """Tell whether a member waits to be let in by a sender that is there."""
    for c in range(sim.columns.size):
        if sim.pairs[pair_of(sim, c, member)].since >= 0 and sim.members[sim.columns[c].leader].alive:
            return True
    return False
