"""The plain driver: the same runs as :func:`stablecast.simulate.simulate`, in readable Python, and slow.

It drives :class:`~stablecast.protocols.contract.Machine` objects, which call the protocols' own kernels, over
a network and a data traffic written a second time.  It shares no state and no loop with the compiled
simulator, so that both giving the same trace, event for event, says something about either.

>>> from stablecast.simulate import Setup, topology
>>> run = run_plain(Setup(protocol="s_coordp", topology=topology("tree", degree=3, height=2)))
>>> run.completed, run.rounds, sum(run.hops.values())
(True, 4, 36)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling.views import BY_KIND
from stablecast.errors import SafetyViolation, StablecastError
from stablecast.multicast.bimodal_result import Delivery
from stablecast.overlays import contract_tree
from stablecast.protocols.contract import GROUP, Machine, Received, Sent, Surroundings
from stablecast.protocols.layers.succession import REIGN
from stablecast.simulate.chance import OMISSION_STREAM, uniform
from stablecast.simulate.faults import CONNECT, CRASH, JOIN, LEAVE, MOVE, TELL, TELL_JOINED, Fault
from stablecast.simulate.plain.calendar import Calendar, Entry
from stablecast.simulate.plain.letters import Letter
from stablecast.simulate.plain.network import Network
from stablecast.simulate.prepare import initial_received, make_attached, make_plan, place_members
from stablecast.simulate.queues import NEVER
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import DATA, IMMEDIATE, PERIODIC, PRESSURE
from stablecast.simulate.trace_rows import HANDLE_EVENT
from stablecast.testing.reference.changes import Kept, Stream, WentBack, whole
from stablecast.testing.reference.connections import Connections
from stablecast.testing.reference.result import PlainRun, PlainTraffic, Stacked
from stablecast.testing.reference.traffic import DataTraffic, Event
from stablecast.testing.reference.wire import WireRows

EVENTS_MAX = 1_000_000


class TooLong(StablecastError):
    """A plain run took more events than it was given."""


@dataclass(eq=False)
class Seat:
    """A member's machine, what the checkers remember of it, and its meters."""

    machine: Machine
    declared: NDArray[np.int64]
    """What it has called stable so far."""
    streams: dict[int, Stream] = field(default_factory=dict)
    """For changed entries only: its arrays of each kind, and what it has of each kind of each other."""
    kept: dict[tuple[int, int], Kept] = field(default_factory=dict)
    timer: Entry | None = None
    sent: int = 0
    received: int = 0
    begun_at_ps: dict[int, int] = field(default_factory=dict)
    """When it first took part in each execution."""
    learned: int = 0
    learned_at_ps: int = 0
    rtt_ps: int = 0
    finished: int = 0
    settled: bool = False
    told_of: set[int] = field(default_factory=set)
    """Members that a failure detector has told it of."""
    alive: bool = True
    """Whether it is there: not before it joins, nor after it crashes or leaves."""
    admitted: int = 1
    """The highest status number under which it was admitted, and struck off."""
    struck: int = 0
    side: int = 0
    """Of a partition."""
    left: bool = False
    joining_at_ps: int | None = None
    """Since when it is on its way in."""
    base: NDArray[np.int64] | None = None
    """Of a member admitted later: what had been sent by then, which it need not have."""

    @property
    def required(self) -> bool:
        """Whether nothing may become stable without it."""
        return self.alive and self.admitted > self.struck

    def has(self) -> NDArray[np.integer[Any]]:
        """Return what it has received, or need not have."""
        received: NDArray[np.integer[Any]] = self.machine.me.received
        return received if self.base is None else np.maximum(received, self.base)


def run_plain(
    setup: Setup, *, wire_log: bool = True, wire: bool = False, events_max: int = EVENTS_MAX
) -> PlainRun:
    """Run one simulation slowly and return its whole trace and what it measured.

    ``wire_log`` and ``wire`` have the trace tell more, as in the compiled simulator.
    Raises :class:`SafetyViolation` as the compiled simulator does, and :class:`TooLong` when the run is not
    over after ``events_max`` events.
    """
    driver = _Driver(place_members(setup), wire_log=wire_log, wire=wire)
    driver.open()
    while driver.calendar.step(driver.plan.until_ps):
        if driver.calendar.handled > events_max:
            raise TooLong(f"{setup.protocol_name}: not over after {events_max} events (seed {setup.seed})")
        if driver.stopped:
            break
    return driver.summary()


class _Driver:
    """Surrounds the machines: sends what they send, checks what they declare, and starts executions."""

    def __init__(self, setup: Setup, *, wire_log: bool, wire: bool = False) -> None:
        self.setup = setup
        self.wire_log = wire_log
        self.plan = make_plan(setup, setup.found_protocol, trace=True, wire_log=wire_log, wire=wire)
        self.calendar = Calendar()
        self.network = Network(
            setup.topology,
            setup.costs,
            self.calendar,
            self.handle,
            seed=self.plan.seed,
            routes=setup.routes,
            multicast_tree=setup.multicast_tree,
            one_by_one=self.plan.one_by_one,
            sample_ps=self.plan.sample_ps,
            loss_until_ps=self.plan.loss_until_ps,
            is_silent=lambda member: not self.seats[member].alive,
            wire=wire,
        )
        self.seats = _make_seats(setup, self.network)
        self.events: list[Event] = []
        received = [seat.machine.me.received for seat in self.seats]
        stable = [seat.machine.me.stable for seat in self.seats]
        self.traffic = DataTraffic(setup, self.plan, self.network, received, stable)
        self.traffic.attach = self.attach
        self.wire = WireRows(self.plan, self.network, self.traffic, self.events, self.ordinal)
        self.traffic.note = self.wire.note
        self.connections = Connections(self.traffic)
        self.early = 0
        """Messages called stable that a receiver lacked, where such are only counted."""
        self.opened = self.stopped = False
        self.faults_to_come = len(setup.schedule.faults)
        self.returning: int | None = None
        self.join_times_ps: list[int] = []
        self.begun = 0
        """The newest round that a member that runs by timers has begun."""
        self.false_strikes = 0
        self.constructed = np.zeros(setup.tracked_count, np.int64)
        self.kind_bytes = setup.found_protocol.declaration.wire_bytes(setup.sizes)
        self.omitted = 0
        self.starter = 0
        """Who starts executions: member 0, or its successor."""
        self.ahead: dict[int, int] = {}
        """For each member that has started executions, how many there were before its own."""
        self.asked_at_ps = 0
        """When a member last started an execution, be it a new one or one that another had started."""
        self.running = False
        self.planned = 0
        self.given_up = 0
        self.started_at_ps: list[int] = []
        self.next_start_ps = self.plan.period_ps if self.plan.trigger == PERIODIC else 0
        self.finished_at_ps = 0
        self.loads_by_end = 0
        self.rounds = 0
        self.start_gap_max_ps = 0
        self.learned_at_ps: dict[int, list[int]] = {}
        """For each execution, when each member that knows its result learned it, in that order."""
        self.root_rtt_ps: dict[int, int] = {}
        self.round_trip_max_ps = 0

    def open(self) -> None:
        """Set every timer and fault, let members come in, start the first execution if it is due at once."""
        for number, fault in enumerate(self.setup.schedule.faults):
            place = self.network.first_timer + len(self.seats) + number
            if fault.at_ps == 0 and fault.what in (CRASH, MOVE, TELL):
                self.strike(fault)
            else:
                self.calendar.add(fault.at_ps, place, partial(self.strike, fault))
        if self.plan.autonomous:
            self.started_at_ps.append(0)
            for member, seat in enumerate(self.seats):
                if seat.alive:
                    self.after_call(member, seat.machine.init(0), 0)
        for member in range(len(self.seats)):
            self.set_timer(member)
        self.opened = True
        self.begin()
        self.set_timer(self.starter)

    def handle(self, member: int, letter: Letter) -> None:
        """Let a member receive a message, with what rides inside it."""
        seat = self.seats[member]
        if not seat.alive or seat.side != self.seats[letter.source].side:
            return
        self.wire.begin(member)
        if letter.kind < DATA:
            self.handle_protocol(member, letter)
        elif self.take_data(member, letter):
            if self.plan.hears and letter.source != member:
                seat.machine.hear(letter.source, self.calendar.now_ps)
            for rider in letter.riders:
                if rider.dest in (GROUP, member):
                    self.handle_protocol(member, rider, rides=True)
            if member == self.starter and self.plan.trigger == PRESSURE:
                self.begin()
            if self.plan.handlers and self.is_through(seat):
                self.see_whether_over()
        self.set_timer(member)

    def take_data(self, member: int, letter: Letter) -> bool:
        """Let a member take in a message of the data traffic, and its machine hear of it."""
        me, now_ps = self.seats[member].machine.me, self.calendar.now_ps
        before = int(me.received[letter.column])
        taken = self.traffic.take_in(member, letter)
        if self.plan.takes and letter.kind == DATA and me.received[letter.column] > before:
            source = self.traffic.columns[letter.column].leader
            sent = self.seats[member].machine.take(letter.column, source, before, now_ps)
            self.after_call(member, sent, 0)
        return taken

    def attach(self, member: int, column: int, number: int) -> int:
        """Ask a member's machine what goes with its next data message; return its bytes."""
        return self.seats[member].machine.attach(column, number, self.calendar.now_ps)

    def handle_protocol(self, member: int, letter: Letter, *, rides: bool = False) -> None:
        """Give a stability message to a member's machine."""
        if self.wire.on:
            self.wire.arrive(member, letter, rides=rides)
        seat, now_ps = self.seats[member], self.calendar.now_ps
        seat.received += 1
        seat.begun_at_ps.setdefault(self.ordinal(letter.execution), now_ps)
        if self.wire_log:
            self.wire.note(HANDLE_EVENT, member, letter.source, letter.execution, letter.kind)
        array = letter.array if letter.entries is None else self.take_changes(member, letter)
        message = Received(letter.kind, letter.source, letter.numbers, array)
        sent = seat.machine.receive(message, now_ps)
        self.after_call(member, sent, letter.depth)
        if self.returning is not None:
            self.arrive_outside(self.returning)
        if member == self.starter:
            self.begin()

    def strike(self, fault: Fault) -> None:
        """Let a fault happen."""
        seat = self.seats[fault.member]
        self.faults_to_come -= 1
        self.wire.begin(fault.member)
        if fault.what == JOIN:
            seat.alive = True
            if self.plan.book < 0:
                seat.base = self.sent_so_far()
            self.arrive_outside(fault.member)
            self.set_timer(fault.member)
        elif fault.what == TELL:
            self.tell(fault)
        elif fault.what == TELL_JOINED:
            self.tell_joined(fault)
        elif fault.what >= CONNECT:
            self.change_connection(fault)
        elif fault.what == MOVE:
            seat.side = fault.side
        elif seat.alive:
            seat.left = True
            if fault.what == LEAVE and self.plan.leaves:
                self.after_call(fault.member, seat.machine.leave(self.calendar.now_ps), 0)
                self.set_timer(fault.member)
            else:
                seat.alive = False
        self.see_whether_over()

    def tell(self, fault: Fault) -> None:
        """Let a failure detector tell a member that another one is gone."""
        seat = self.seats[fault.member]
        if seat.alive:
            led = self.traffic.stations[fault.side].column
            column = -1 if led is None else led.number
            sent = seat.machine.gone(fault.side, self.calendar.now_ps, column)
            self.after_call(fault.member, sent, 0)
            seat.told_of.add(fault.side)
            if self.plan.successors and seat.told_of >= set(range(fault.member)):
                self.take_over(fault.member)
            if self.opened:
                if fault.member == self.starter:
                    self.begin()
                self.set_timer(fault.member)

    def tell_joined(self, fault: Fault) -> None:
        """Let a membership service tell a member that another one has joined."""
        seat = self.seats[fault.member]
        if seat.alive:
            self.after_call(fault.member, seat.machine.joined(fault.side, self.calendar.now_ps), 0)
            self.set_timer(fault.member)

    def change_connection(self, fault: Fault) -> None:
        """Something happens to a connection, at one of its ends."""
        seat, now_ps = self.seats[fault.member], self.calendar.now_ps
        if not seat.alive:
            return
        what, column = self.connections.change(fault, now_ps)
        sent = seat.machine.channel(what, fault.side, column, fault.number, now_ps)
        self.after_call(fault.member, sent, 0)
        self.set_timer(fault.member)

    def take_over(self, member: int) -> None:
        """Make a member the starter; it begins anew what another one left behind."""
        if member == self.starter:
            return
        self.starter = member
        unfinished = any(self.ordinal(s.finished) < len(self.started_at_ps) for s in self.seats if s.alive)
        if self.started_at_ps and (self.running or (self.is_over() and unfinished)):
            self.planned -= not self.running
            self.call_start()

    def arrive_outside(self, member: int) -> None:
        """A member wants to take part; its protocol sees to what it needs for that."""
        self.returning = None
        seat = self.seats[member]
        seat.joining_at_ps = self.calendar.now_ps if self.keeps_book(member) else None
        station = self.traffic.stations[member]
        station.send_at_ps = max(station.send_at_ps, self.calendar.now_ps)
        if not self.plan.messages_each:
            alive = [other.machine.me.received for other in self.seats if other.alive]
            seat.machine.me.received[:] = np.max(alive, axis=0)
        self.after_call(member, seat.machine.init(self.calendar.now_ps), 0)

    def note_joined(self, member: int) -> None:
        """Measure how long a member took to come in, once it counts itself in."""
        seat = self.seats[member]
        if seat.joining_at_ps is not None and self.statuses(member)[member] % 2:
            self.join_times_ps.append(self.calendar.now_ps - seat.joining_at_ps)
            seat.joining_at_ps = None
            self.see_whether_over()

    def see_whether_over(self) -> None:
        """End a run of a protocol without a starter when every member is through and no fault is to come."""
        if self.plan.autonomous and not self.plan.drains and not self.faults_to_come:
            self.stopped |= all(self.is_through(seat) for seat in self.seats if seat.alive)

    def is_through(self, seat: Seat) -> bool:
        """Tell whether a member is in and has all that the run is for."""
        waited_for = self.connections.waited_for(self.seats.index(seat))
        if seat.joining_at_ps is not None or any(self.seats[sender].alive for sender in waited_for):
            return False
        if self.plan.executions:
            return seat.finished >= self.plan.executions
        me = seat.machine.me
        has = np.minimum(me.received, me.stable) if self.plan.handlers else me.stable
        return all(
            has[number] >= column.target
            for number, column in enumerate(self.traffic.columns)
            if self.seats[column.leader].alive
            and (not self.plan.knows_own or self.seats[column.leader] is seat)
        )

    def note_changes(self, member: int) -> None:
        """Keep the book of who is in; a member that strikes itself off has left, or wants to come back."""
        for change in self.seats[member].machine.changes:
            seat = self.seats[change.member]
            if change.admitted:
                if change.status > seat.admitted:
                    if not seat.required:
                        seat.base = self.sent_so_far()
                    seat.admitted = change.status
                continue
            seat.struck = max(seat.struck, change.status)
            self.false_strikes += not seat.left and change.member != member
            if change.member == member and seat.left:
                seat.alive = False
            elif change.member == member:
                self.returning = member

    def sent_so_far(self) -> NDArray[np.int64]:
        """Return what has been sent by now, or what anyone has where there is no data traffic."""
        if self.plan.messages_each:
            return np.array([column.sent for column in self.traffic.columns], np.int64)
        everything: NDArray[np.int64] = np.max([seat.machine.me.received for seat in self.seats], axis=0)
        return everything

    def begin(self) -> None:
        """Let the starter begin a new execution if one is due."""
        if self.start_is_due():
            now_ps = self.calendar.now_ps
            self.started_at_ps.append(now_ps)
            self.given_up += self.running
            self.next_start_ps = max(self.next_start_ps + self.plan.period_ps, now_ps)
            self.call_start()

    def call_start(self) -> None:
        """Let the starter begin the newest execution."""
        seat, now_ps = self.seats[self.starter], self.calendar.now_ps
        self.start_gap_max_ps = max(self.start_gap_max_ps, now_ps - self.asked_at_ps)
        self.asked_at_ps = now_ps
        self.running = True
        sent = seat.machine.start(now_ps)
        execution = sent[0].numbers[0]
        if self.plan.successors:
            self.ahead[self.starter] = len(self.started_at_ps) - execution % REIGN
        if all(each.dest != GROUP for each in sent):
            # Its first message does not come back to it, so it takes part from the start on.
            seat.begun_at_ps.setdefault(self.ordinal(execution), now_ps)
        self.after_call(self.starter, sent, 0)

    def ordinal(self, execution: int) -> int:
        """Return which of all executions one is; what a successor begins anew counts as the same."""
        if not self.plan.successors or execution == 0:
            return execution
        return execution % REIGN + self.ahead[execution // REIGN]

    def is_over(self) -> bool:
        """Tell whether no further execution is to be started."""
        if self.plan.autonomous:
            return True
        if self.plan.executions:
            return self.planned >= self.plan.executions
        return all(seat.settled for seat in self.seats)

    def start_is_due(self) -> bool:
        """Tell whether the starter should begin a new execution now."""
        if self.is_over() or not self.seats[self.starter].alive:
            return False
        if self.running:
            return self.calendar.now_ps >= self.retry_at_ps()
        if self.plan.trigger == IMMEDIATE:
            return True
        if self.plan.trigger == PERIODIC:
            return self.calendar.now_ps >= self.next_start_ps
        sender = self.traffic.stations[self.starter]
        # One that has nothing to send counts as full, or the rest would never become stable.
        if sender.column is None or sender.to_send == 0:
            return True
        return sender.column.sent - sender.column.stable >= self.plan.threshold

    def retry_at_ps(self) -> int:
        """Return when to give up the execution that runs."""
        return self.asked_at_ps + self.plan.retry_ps if self.plan.retry_ps else NEVER

    def start_looks_due_at_ps(self) -> int:
        """Return when the starter's trigger next has something to decide by time alone."""
        if self.is_over():
            return NEVER
        if self.running:
            return self.retry_at_ps()
        return self.next_start_ps if self.plan.trigger == PERIODIC else NEVER

    def set_timer(self, member: int) -> None:
        """Bring a member's timer up to date."""
        own_timer = self.seats[member].machine.next_timer()
        due_ps = min(self.traffic.deadline_ps(member), NEVER if own_timer is None else own_timer)
        if member == self.starter:
            due_ps = min(due_ps, self.start_looks_due_at_ps())
        seat = self.seats[member]
        if seat.timer is not None:
            if seat.timer.at_ps == due_ps:
                return
            seat.timer.action = None
            seat.timer = None
        if due_ps < NEVER:
            number = self.network.first_timer + member
            seat.timer = self.calendar.add(due_ps, number, lambda: self.ring(member))

    def ring(self, member: int) -> None:
        """Do what a member set its timer for."""
        self.seats[member].timer = None
        if not self.seats[member].alive:
            return
        if self.wire.on:
            due = member == self.starter and self.start_looks_due_at_ps() <= self.calendar.now_ps
            self.wire.ring(member, self.asked_at_ps if due else None)
        self.traffic.handle_deadlines(member)
        machine, now_ps = self.seats[member].machine, self.calendar.now_ps
        own_timer = machine.next_timer()
        if own_timer is not None and own_timer <= now_ps:
            sent = machine.handle_timer(now_ps)
            self.after_call(member, self.without_omissions(member, sent), 0)
        if member == self.starter:
            self.begin()
        self.set_timer(member)

    def without_omissions(self, member: int, sent: list[Sent]) -> list[Sent]:
        """Leave out the messages of this step that are dropped at their sender."""
        plan = self.plan
        step = self.calendar.now_ps // plan.step_ps
        dropped = set()
        for d in range(plan.omissions):
            draw = uniform(plan.seed, OMISSION_STREAM, step * plan.omissions + d)
            victim = int(draw * len(self.seats) * plan.omit_among)
            if victim // plan.omit_among == member and victim % plan.omit_among < len(sent):
                dropped.add(victim % plan.omit_among)
        self.omitted += len(dropped)
        return [each for k, each in enumerate(sent) if k not in dropped]

    def after_call(self, member: int, sent: list[Sent], depth: int) -> None:
        """Send what a machine wants sent, then measure and check what it has learned."""
        seat = self.seats[member]
        learned, finished = seat.machine.learned, seat.machine.finished
        if self.wire.on:
            self.wire.look_at_timer(member, seat.machine)
        for each in sent:
            self.send(member, each, depth + 1)
        self.note_changes(member)
        if self.connections.note(member, seat.machine, self.calendar.now_ps):
            self.see_whether_over()
        if self.ordinal(learned) > seat.learned and not self.plan.roundless:
            self.note_learned(member, self.ordinal(learned))
        if seat.machine.begun:
            self.note_begun_by_timers(seat.machine.begun)
        if self.check(member, declared=learned > 0) and self.plan.roundless:
            self.note_end_so_far()
            self.see_whether_over()
        if finished > seat.finished:
            seat.finished = finished
            self.note_end_so_far()
            if self.plan.autonomous:
                self.see_whether_over()
            elif member == self.starter:
                self.planned += 1
                if self.ordinal(finished) == len(self.started_at_ps):
                    self.running = False
        self.note_joined(member)

    def note_begun_by_timers(self, execution: int) -> None:
        """The first member to begin a round: it may have rested since the one before ended."""
        now_ps = self.calendar.now_ps
        if self.begun < execution == len(self.started_at_ps):
            self.begun = execution
            self.started_at_ps[-1] = now_ps
            if execution > 1:
                self.start_gap_max_ps = max(self.start_gap_max_ps, now_ps - self.started_at_ps[-2])

    def note_end_so_far(self) -> None:
        """Measure up to now; the last call counts."""
        self.finished_at_ps = self.calendar.now_ps
        self.loads_by_end = len(self.network.loads)

    def send(self, member: int, sent: Sent, depth: int) -> None:
        """Put a machine's message on its way, alone or inside a data message."""
        payload = self.kind_bytes[sent.kind] if sent.payload == BY_KIND else sent.payload
        size = self.plan.header_bytes + payload
        letter = Letter(sent.kind, member, sent.dest, size, sent.numbers, depth, sent.array)
        if sent.array is not None and self.plan.changed_only:
            self.pack_changes(letter, sent.array, shrinks=sent.payload == BY_KIND)
        self.rounds = max(self.rounds, depth)
        each = sent.dest == GROUP and self.plan.one_by_one
        self.seats[member].sent += len(self.seats) - 1 if each else sent.dest != member
        if not self.traffic.offer_ride(letter):
            self.network.post(letter)

    def pack_changes(self, letter: Letter, array: NDArray[np.integer[Any]], *, shrinks: bool) -> None:
        """Let only changed entries of a message's array travel, with their places, if that is shorter."""
        seat, plan = self.seats[letter.source], self.plan
        stream = seat.streams.setdefault(letter.kind, Stream(array.size, plan.may_miss))
        execution = None if plan.roundless else letter.execution
        try:
            entries = stream.changes(array, letter.dest, execution, seat.learned)
        except WentBack:
            self.violation("an array of which only changed entries travel went back", letter.source)
        full = plan.wire_entries * plan.entry_bytes
        few = len(entries) * plan.wire_entries // array.size * 2 * plan.entry_bytes
        shorter = shrinks and few < full
        letter.entries = entries if shorter else whole(array)
        letter.size -= full - few if shorter else 0
        letter.array = None

    def take_changes(self, member: int, letter: Letter) -> NDArray[np.integer[Any]]:
        """Put a message's array together from what came and what a member has of its kind and source."""
        assert letter.entries is not None
        stream = self.seats[letter.source].streams[letter.kind]
        nothing = Kept(np.zeros(stream.width, np.int64))
        array = self.seats[member].kept.setdefault((letter.source, letter.kind), nothing).take(letter.entries)
        if (array > stream.highest).any():
            self.violation("changed entries were put together to more than was sent", member)
        return array

    def note_learned(self, member: int, execution: int) -> None:
        """Measure that a member knows the result of an execution."""
        seat, now_ps = self.seats[member], self.calendar.now_ps
        seat.learned, seat.learned_at_ps = execution, now_ps
        if self.plan.autonomous:
            self.note_learned_by_timers(execution)
            seat.rtt_ps = now_ps - self.started_at_ps[execution - 1]
        else:
            seat.rtt_ps = now_ps - seat.begun_at_ps[execution]
        self.learned_at_ps.setdefault(execution, []).append(now_ps)
        if member == self.starter:
            self.root_rtt_ps[execution] = seat.rtt_ps
            self.round_trip_max_ps = max(self.round_trip_max_ps, now_ps - self.started_at_ps[execution - 1])

    def note_learned_by_timers(self, execution: int) -> None:
        """The first member that knows a round's result begins the next round, and may end the run."""
        now_ps = self.calendar.now_ps
        if execution <= self.planned:
            return
        self.planned = execution
        self.round_trip_max_ps = max(self.round_trip_max_ps, now_ps - self.started_at_ps[execution - 1])
        while len(self.started_at_ps) <= execution:
            gap_ps = now_ps + self.plan.pause_ps - self.started_at_ps[-1]
            self.start_gap_max_ps = max(self.start_gap_max_ps, gap_ps)
            self.started_at_ps.append(now_ps + self.plan.pause_ps)
        self.stopped |= self.plan.stop_at_first and execution == self.plan.executions

    def too_early(self, before: NDArray[np.int64], stable: NDArray[np.integer[Any]]) -> int:
        """Return how many messages are newly called stable that connected receivers lack."""
        return self.connections.too_early(before, stable, lambda member: self.seats[member].required)

    def lacking(self, before: NDArray[np.int64], stable: NDArray[np.integer[Any]]) -> bool:
        """Tell whether someone lacks a message that is for it and that is called stable."""
        if self.plan.channels:
            return self.too_early(before, stable) > 0
        for i, other in enumerate(self.seats):
            if other.required:
                lacks = stable > other.has()
                for column in np.flatnonzero(lacks).tolist():
                    if not self.setup.audiences or i in self.setup.audiences[column]:
                        return True
        return False

    def check(self, member: int, *, declared: bool) -> bool:
        """Compare what a member calls stable with what it did before and with what everyone has.

        Tells whether it calls more stable than before.
        """
        seat = self.seats[member]
        before, stable = seat.declared, seat.machine.me.stable.copy()
        if (stable == before).all():
            return False
        if (stable < before).any():
            self.violation("a frontier went back", member)
        if not declared:
            self.violation("a frontier changed without being declared", member)
        if self.plan.lenient:
            self.early += self.too_early(before, stable)
        elif not self.false_strikes and self.lacking(before, stable):
            self.violation("called stable while a member lacks it", member)
        if self.keeps_book(member):
            self.check_by_book(member, stable)
        seat.declared = stable.astype(np.int64)
        if self.plan.messages_each:
            for column in np.flatnonzero(stable > before).tolist():
                self.traffic.release(member, column, int(before[column]), int(stable[column]))
                if stable[column] > seat.machine.me.received[column]:
                    self.traffic.hear_of(member, column, int(stable[column]))
            targets = [column.target for column in self.traffic.columns]
            seat.settled = stable.tolist() == targets
        return True

    def check_by_book(self, member: int, stable: NDArray[np.integer[Any]]) -> None:
        """What no member has found before must be at everyone whom this one counts in."""
        found = stable > self.constructed
        own = self.statuses(member)
        for j, other in enumerate(self.seats):
            same = self.statuses(j)[j] == own[j]
            if own[j] % 2 and same and other.alive and (found & (stable > other.machine.me.received)).any():
                self.violation("called stable while a member lacks it", member)
        np.maximum(self.constructed, stable, out=self.constructed)

    def keeps_book(self, member: int) -> bool:
        """Tell whether members know by status numbers who is in."""
        return bool(self.setup.found_protocol.runs.status) and len(self.statuses(member)) > 0

    def statuses(self, member: int) -> NDArray[np.integer[Any]]:
        """Return the status numbers that a member has for all; none where members do not come and go."""
        found: NDArray[np.integer[Any]] = getattr(
            self.seats[member].machine.me, self.setup.found_protocol.runs.status
        )
        return found

    def violation(self, what: str, member: int) -> None:
        """Stop: something unsafe happened."""
        raise SafetyViolation(
            f"{self.setup.protocol_name}: {what} (member {member}, seed {self.setup.seed},"
            f" {self.setup.topology.label}, at {self.calendar.now_ps / 1e6} µs)"
        )

    def is_complete(self) -> bool:
        """Tell whether all members finished the last execution and know all that is stable."""
        if self.plan.autonomous:
            left = [seat for seat in self.seats if seat.alive]
            through = bool(left) and all(self.is_through(seat) for seat in left)
            return self.stopped or (self.plan.drains and through)
        if self.plan.messages_each and not self.plan.executions:
            return all(seat.settled for seat in self.seats)
        there = [seat for seat in self.seats if seat.alive]
        finished = all(self.ordinal(seat.finished) == len(self.started_at_ps) for seat in there)
        if self.plan.faulty and self.plan.executions:
            return finished and bool(there) and len(self.started_at_ps) >= self.plan.executions
        if self.plan.messages_each:
            return finished
        everywhere = np.min([seat.machine.me.received for seat in self.seats], axis=0)
        known = all((seat.machine.me.stable == everywhere).all() for seat in self.seats)
        return finished and known and self.planned >= self.plan.executions

    def summary(self) -> PlainRun:
        """Return what the run did and measured."""
        network = self.network
        since = {execution: self.started_at_ps[execution - 1] for execution in self.learned_at_ps}
        return PlainRun(
            events=self.events,
            hops=dict(network.hops),
            hop_bytes=dict(network.hop_bytes),
            packet_hops=dict(network.packet_hops),
            carried_hop_bytes=network.carried_hop_bytes,
            host_ps=dict(network.host_ps),
            carried_host_ps=network.carried_host_ps,
            sent=dict(network.sent),
            sent_bytes=dict(network.sent_bytes),
            attached_bytes=self.traffic.attached_bytes,
            operations=self.operations(),
            finished_at_ps=self.finished_at_ps,
            ended_at_ps=self.calendar.now_ps,
            executions=self.planned,
            executions_started=len(self.started_at_ps),
            given_up=self.given_up,
            completed=self.is_complete(),
            rounds=self.rounds,
            queue_max=network.queue_max,
            queue_mean=network.queue_sum / network.queue_counts if network.queue_counts else 0.0,
            loads=network.loads[: self.loads_by_end],
            host_queue_max=network.host_queue_max(),
            dropped=network.dropped,
            false_suspicions=self.false_strikes,
            join_times_ps=self.join_times_ps,
            connect_times_ps=self.connections.times_ps,
            early=self.early,
            lost=network.lost + self.traffic.lost + self.omitted,
            riders=self.traffic.rode,
            rider_bytes=self.traffic.rider_bytes,
            processed=[seat.sent + seat.received for seat in self.seats],
            learned_at_ps=[seat.learned_at_ps for seat in self.seats],
            rtt_ps=[seat.rtt_ps for seat in self.seats],
            root_rtt_ps=list(self.root_rtt_ps.values()),
            first_learned_ps=[times[0] - since[each] for each, times in self.learned_at_ps.items()],
            last_learned_ps=[times[-1] - since[each] for each, times in self.learned_at_ps.items()],
            round_trip_max_ps=self.round_trip_max_ps,
            traffic=self.traffic_summary() if self.plan.messages_each else None,
            delivery=self.delivery(),
        )

    def delivery(self) -> Delivery | None:
        """Return what a protocol that delivers messages itself has measured, if it is one."""
        protocol, sizes = self.setup.found_protocol, self.setup.sizes
        if protocol.runs.summarise is None:
            return None
        nothing = np.zeros(sizes.tracked, np.int64)
        before = np.array([nothing if seat.base is None else seat.base for seat in self.seats])
        alive = np.array([seat.alive for seat in self.seats])
        rows = Stacked([seat.machine.me for seat in self.seats])
        found: Delivery = protocol.runs.summarise(sizes, rows, alive, before, self.calendar.now_ps)
        return found

    def operations(self) -> int:
        """Return what the protocol counted of its own steps."""
        name = self.setup.found_protocol.runs.operations
        return sum(getattr(seat.machine.me, name) for seat in self.seats) if name else 0

    def traffic_summary(self) -> PlainTraffic:
        """Return what the data traffic measured, with buffers held until the end of the run."""
        traffic = self.traffic
        for station in traffic.stations:
            station.hold(0, self.calendar.now_ps)
        return PlainTraffic(
            messages=sum(column.sent for column in traffic.columns),
            time_to_stable_ps=traffic.time_to_stable_ps,
            delivery_max_ps=traffic.delivery_max_ps,
            start_gap_max_ps=self.start_gap_max_ps,
            buffer_max=max(column.held_max for column in traffic.columns),
            blocked=sum(column.blocked for column in traffic.columns),
            first_buffer_max=traffic.columns[0].held_max,
            first_blocked=traffic.columns[0].blocked,
            held_max=max(station.held_max for station in traffic.stations),
            held_area=sum(station.held_area for station in traffic.stations),
        )


def _make_seats(setup: Setup, network: Network) -> list[Seat]:
    """Make the members' machines, with what each has received at the start."""
    protocol = setup.found_protocol
    tree, _ = contract_tree(setup.topology.tree, setup.topology.member_nodes)
    places = protocol.places(Surroundings(tree, setup.sizes, setup.seed, network.distances_us))
    attached = make_attached(setup)
    seats = []
    for index, received in enumerate(initial_received(setup)):
        machine = Machine(
            protocol, index=index, sizes=setup.sizes, places=places, seed=setup.seed, attached=attached
        )
        machine.me.received[:] = received
        there = index < setup.schedule.initial
        nothing = np.zeros(setup.tracked_count, np.int64)
        seats.append(Seat(machine, declared=nothing, alive=there, admitted=int(there)))
    return seats
