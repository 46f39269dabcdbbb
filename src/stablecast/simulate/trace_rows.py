"""The rows of a run's trace, as the loop writes them: numbers, which ``tracing.py`` turns into events.

A row has the columns of :data:`ROW`; in a run without a wire trace it ends after ``size``.

Steps
    A member's step begins when it handles a packet, when its timer goes off, or when a fault concerns it.
    What it does at the start of the run is step 0.  All that follows at that member until its next step is
    of this step: the loop handles one event at a time, and one that does not begin a step, such as a packet
    that goes on, writes no row.
Transmissions
    Everything leaves by :func:`~stablecast.simulate.wires.post`, at the time of the step.  What rides inside
    a data message is transmitted with it: it has a row of its own behind that of its carrier, with the same
    number and with the bytes that it adds.  The bytes of all rows with one number are therefore those on the
    wire, headers of all packets included.  A message that has waited for a ride tells when it was made, as
    ``since_ps``, whether it found one or not.
Arrivals
    A message arrives when its member handles it: not when it is lost on the way, dropped at a full link or
    lost at the receiver, nor when its receiver is gone or cut off.  What is cut into packets arrives with the
    last of them, and what rides arrives in the step of its carrier at those that it is for.  A message that
    comes twice arrives twice.
"""

from __future__ import annotations

from stablecast.compiling import apart, kernel
from stablecast.simulate.executions import ordinal
from stablecast.simulate.queues import GROUP
from stablecast.simulate.state import DATA, HEARTBEAT, REQUEST, Sim
from stablecast.simulate.way_times import come

SEND_EVENT, RECEIVE_EVENT, STABLE_EVENT, RELEASE_EVENT, HANDLE_EVENT = 0, 1, 2, 3, 4
"""Codes in the trace; the last one, a stability message handled, is for comparing drivers."""
TRANSMIT_EVENT, ARRIVE_EVENT, TIMER_EVENT = 5, 6, 7
"""Codes in a wire trace."""
REPAIR = 21
"""In a trace: a data message sent again.  Other types have the numbers that they have in the loop."""
NONE = -1
ROW = (
    "code",
    "time_ps",
    "member",
    "column",
    "seq",
    "size",
    "step",
    "peer",
    "kind",
    "number",
    "execution",
    "first_seq",
    "queue_ps",
    "service_ps",
    "since_ps",
)
"""What a row has; ``NONE`` stands for nothing."""
PLAIN_COLUMNS = ROW.index("size") + 1


@kernel
def note(sim: Sim, code: int, now: int, member: int, source: int, seq: int, size: int) -> None:
    """Write one event to the trace."""
    row = sim.trace[sim.counts.traced]
    row[0] = code
    row[1] = now
    row[2] = member
    row[3] = source
    row[4] = seq
    row[5] = size
    if sim.wire:
        row[6] = sim.steps[member]
        for k in range(7, row.size):
            row[k] = NONE
    sim.counts.traced += 1


@kernel
def begin_step(sim: Sim, member: int) -> None:
    """A member begins to handle something."""
    sim.steps[member] += 1


@kernel
def begin_arrival(sim: Sim, member: int, packet: int) -> None:
    """A member begins to handle a packet."""
    begin_step(sim, member)
    come(sim, packet)


@kernel
def bytes_sent(sim: Sim, message: int) -> int:
    """Return the bytes of a message on the wire, without what rides inside it."""
    record = sim.messages[message]
    size = record.wire_bytes
    if sim.mtu_bytes > 0:
        size += (record.parts - 1) * sim.header_bytes
    rider = record.rider
    while rider >= 0:
        size -= sim.messages[rider].wire_bytes - sim.header_bytes
        rider = sim.messages[rider].next
    return int(size)


@kernel
def note_message(sim: Sim, code: int, now: int, member: int, message: int, size: int) -> int:
    """Write a row about a message of any type; return the number of the row."""
    record = sim.messages[message]
    kind, data, place = record.kind, record.kind >= DATA, sim.counts.traced
    numbered = data and kind != REQUEST
    source = sim.columns[record.column].leader if numbered else NONE
    note(sim, code, now, member, source, record.last if numbered else NONE, size)
    row = sim.trace[place]
    row[8] = REPAIR if kind == DATA and record.dest != GROUP else kind
    row[9] = sim.left_as[message]
    if numbered and kind != HEARTBEAT:
        row[11] = record.first
    if not data and not sim.roundless and record.execution > 0:
        row[10] = ordinal(sim, record.execution)
    return int(place)


@kernel
def note_sent(sim: Sim, member: int, message: int, size: int, now: int) -> None:
    """Write that a message is transmitted; one that has waited for a ride tells since when."""
    place = note_message(sim, TRANSMIT_EVENT, now, member, message, size)
    sim.trace[place, 7] = sim.messages[message].dest
    sim.trace[place, 14] = sim.made_at[message]
    sim.made_at[message] = NONE
    sim.left_at[message] = now


@apart
def note_transmit(sim: Sim, member: int, message: int, now: int) -> None:
    """Write that a member transmits a message, with what rides inside it."""
    sim.transmissions[member] += 1
    sim.left_as[message] = sim.transmissions[member]
    note_sent(sim, member, message, bytes_sent(sim, message), now)
    rider = sim.messages[message].rider
    while rider >= 0:
        sim.left_as[rider] = sim.transmissions[member]
        note_sent(sim, member, rider, sim.messages[rider].wire_bytes - sim.header_bytes, now)
        rider = sim.messages[rider].next


@apart
def note_arrive(sim: Sim, member: int, message: int, rides: bool, now: int) -> None:
    """Write that a member handles a message, and how long its way was."""
    size = sim.messages[message].wire_bytes - sim.header_bytes if rides else bytes_sent(sim, message)
    place = note_message(sim, ARRIVE_EVENT, now, member, message, size)
    row = sim.trace[place]
    row[7] = sim.messages[message].source
    row[12] = now - sim.left_at[message] - sim.arrival.served - sim.arrival.travelled
    row[13] = sim.arrival.served
