"""Arrays that travel as their changed entries: what goes into a message, and what a receiver makes of it.

Terms
    The arrays of one type that one member sends are a *stream*.  In a stream every entry only rises, because
    received prefixes only grow and so do minima of them: a later array says everything that an earlier one
    said.  Who repeats a result to others in its own stream adds what it knows to be stable, since it may have
    got less of this result, from one stream, than of an earlier one, from another.  A run in which an array
    went back is ended with a violation.
Sending
    The first array of each execution is compared with the first one of the execution before.  The entries
    that differ travel, each with its place.  The others do not travel: their place in the slot holds
    ``NOT_SENT``.  The array travels whole

    - where that is not longer;
    - where it is a repetition, or is for somebody else than the one before, or leaves an execution out;
    - where its sender does not know the result of the execution before.  A sender that knows it knows that
      the array it sent to one member in that execution has come, since the result was made of it;
    - every ``WHOLE_EVERY`` executions, where anything can be lost or overtaken.
Receiving
    For each stream a receiver keeps, entry by entry, the highest number that has come (``kept``), which is 0
    at first, as in the array that the first one is compared with.  It raises this array to the entries of a
    message, and the protocol gets the whole of it.
Why that is safe
    Every entry of ``kept`` is an entry of an array that its sender did send.  Since streams only rise, it is
    at most that entry of the newest one sent, which is true: so the protocol is never told more than the
    sender has said.  This holds whatever is lost, comes twice or is overtaken.  :func:`take_changes` compares
    ``kept`` with the highest entries sent each time.
Why that is enough
    If the receiver has the array that this one was compared with, then ``kept`` is at least the array sent:
    an entry that did not travel equals one that the receiver has.  If moreover nothing has overtaken it,
    ``kept`` is equal to the array sent, and the run is the same as with whole arrays but for the sizes.
    A receiver that lacks that array gets less than was sent, until an array travels whole; once losses are
    over that is at most ``WHOLE_EVERY`` executions later.
What can go wrong
    With losses and a fixed number of executions, the last of them may end before a whole array has come; the
    frontiers of the receivers that lack one are then lower than they could be.
"""

from __future__ import annotations

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, exceeds, raise_to
from stablecast.simulate.checks import ENTRY_WENT_BACK, MADE_UP, IntArray, report
from stablecast.simulate.queues import ROW_ITSELF, release_slot, take_slot
from stablecast.simulate.state import WHOLE_EVERY, Sim

NOT_SENT = -1
"""In place of an entry that does not travel; it is below every sequence number."""


@kernel
def pack_changes(sim: Sim, member: int, message: int, shrinks: bool) -> None:
    """Leave the entries of a message's array out that its receivers have, and count what travels.

    ``shrinks`` is false for a message whose protocol has weighed it itself: its array travels whole.
    """
    record = sim.messages[message]
    slot = record.slot
    array = sim.received[ROW_ITSELF - slot] if slot <= ROW_ITSELF else sim.arrays[slot]
    last, highest = sim.last_sent[member, record.kind], sim.highest_sent[member, record.kind]
    if exceeds(highest, array):
        report(sim, ENTRY_WENT_BACK, member, highest, array)
    raise_to(highest, array)
    full = sim.wire_entries * sim.entry_bytes
    few = full
    if shrinks and follows(sim, member, message):
        few = count_changes(array, last) * sim.wire_entries // last.size * 2 * sim.entry_bytes
    record.slot = take_slot(sim)
    sim.slot_uses[record.slot] = 1
    copy_into(sim.arrays[record.slot], array)
    if few < full:
        record.wire_bytes -= full - few
        leave_out(sim.arrays[record.slot], last)
    note_sent(sim, member, message, array)
    if slot >= 0:
        release_slot(sim, slot)


@kernel
def follows(sim: Sim, member: int, message: int) -> bool:
    """Tell whether the receivers of an array should have the one that it would be compared with."""
    record = sim.messages[message]
    stream = sim.streams[stream_number(sim, member, record.kind)]
    if stream.sent == 0:
        return True
    if stream.dest != record.dest or (sim.may_miss and stream.sent % WHOLE_EVERY == 0):
        return False
    if sim.roundless:
        return True
    return bool(record.execution == stream.execution + 1 and sim.members[member].learned >= stream.execution)


@kernel
def stream_number(sim: Sim, member: int, kind: int) -> int:
    """Return the number of a member's stream of some type."""
    return int(member * sim.last_sent.shape[1] + kind)


@kernel
def count_changes(array: IntArray, last: IntArray) -> int:
    """Return how many entries differ."""
    changed = 0
    for j in range(last.size):
        changed += array[j] != last[j]
    return changed


@kernel
def leave_out(array: IntArray, last: IntArray) -> None:
    """Leave the entries out that are as before."""
    for j in range(last.size):
        if array[j] == last[j]:
            array[j] = NOT_SENT


@kernel
def note_sent(sim: Sim, member: int, message: int, array: IntArray) -> None:
    """Compare the next array of the stream with this one, unless this is a repetition."""
    record = sim.messages[message]
    stream = sim.streams[stream_number(sim, member, record.kind)]
    if sim.roundless or record.execution > stream.execution:
        stream.execution = record.execution
        stream.dest = record.dest
        stream.sent += 1
        copy_into(sim.last_sent[member, record.kind], array)


@kernel
def take_changes(sim: Sim, member: int, message: int) -> None:
    """Raise what a member has of a stream to the entries that have come."""
    record = sim.messages[message]
    kept = sim.kept[member, record.source, record.kind]
    raise_to(kept, sim.arrays[record.slot])
    highest = sim.highest_sent[record.source, record.kind]
    if exceeds(kept, highest):
        report(sim, MADE_UP, member, kept, highest)
