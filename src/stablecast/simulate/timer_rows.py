"""Which timers of a member go off in a step, and since when they were set, for wire traces.

A member has one entry in the heap, for the first of its timers.  When it comes up, everything that is due by
then goes off in one step, and each has a row.  That a message of the application is due is no timer: the step
is then a call.
"""

from __future__ import annotations

from stablecast.compiling import apart, kernel
from stablecast.simulate.starts import next_start
from stablecast.simulate.state import Sim
from stablecast.simulate.trace_rows import NONE, TIMER_EVENT, begin_step, note

PROTOCOL_TIMER, START_TIMER, HEARTBEAT_TIMER, NAK_TIMER, RIDE_TIMER = 24, 25, 26, 27, 28
TIMER_NAMES = {
    PROTOCOL_TIMER: "protocol",
    START_TIMER: "start",
    HEARTBEAT_TIMER: "heartbeat",
    NAK_TIMER: "nak",
    RIDE_TIMER: "ride",
}
TIMERS_MAX = len(TIMER_NAMES)


@kernel
def note_timer(sim: Sim, member: int, timer: int, since: int, now: int) -> None:
    """Write that a timer of a member goes off."""
    place = sim.counts.traced
    note(sim, TIMER_EVENT, now, member, NONE, NONE, NONE)
    sim.trace[place, 8] = timer
    sim.trace[place, 14] = since


@apart
def note_timers(sim: Sim, member: int, now: int) -> None:
    """Begin the step of a member whose timers go off."""
    begin_step(sim, member)
    record = sim.members[member]
    if record.column >= 0:
        column = sim.columns[record.column]
        if column.leader == member and column.heartbeat_at <= now:
            note_timer(sim, member, HEARTBEAT_TIMER, column.heartbeat_at - column.heartbeat_gap, now)
    if record.nak_at <= now:
        note_timer(sim, member, NAK_TIMER, record.nak_at - sim.nak_ps, now)
    if record.rider_at <= now:
        note_timer(sim, member, RIDE_TIMER, record.rider_at - sim.piggyback_ps, now)
    if record.protocol_at <= now:
        note_timer(sim, member, PROTOCOL_TIMER, sim.timer_set_at[member], now)
    if member == sim.counts.starter and next_start(sim) <= now:
        note_timer(sim, member, START_TIMER, sim.counts.started_at, now)
