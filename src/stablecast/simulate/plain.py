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

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import SafetyViolation, StablecastError
from stablecast.overlays import contract_tree
from stablecast.protocols.contract import GROUP, Machine, Received, Sent
from stablecast.simulate.plain_network import Calendar, Entry, Letter, Network
from stablecast.simulate.plain_result import PlainRun, PlainTraffic
from stablecast.simulate.plain_traffic import DataTraffic, Event
from stablecast.simulate.prepare import initial_received, logical_tree_topology, make_plan
from stablecast.simulate.queues import NEVER
from stablecast.simulate.setup import Setup
from stablecast.simulate.state import DATA, IMMEDIATE, PERIODIC, PRESSURE
from stablecast.simulate.traffic import HANDLE_EVENT

EVENTS_MAX = 1_000_000


class TooLong(StablecastError):
    """A plain run took more events than it was given."""


@dataclass(eq=False)
class Seat:
    """A member's machine, what the checkers remember of it, and its meters."""

    machine: Machine
    declared: NDArray[np.int32]
    """What it has called stable so far."""
    last_sent: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    """For changed entries only: the last array that it sent of each kind."""
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


def run_plain(setup: Setup, *, wire_log: bool = True, events_max: int = EVENTS_MAX) -> PlainRun:
    """Run one simulation slowly and return its whole trace and what it measured.

    Raises :class:`SafetyViolation` as the compiled simulator does, and :class:`TooLong` when the run is not
    over after ``events_max`` events.
    """
    driver = _Driver(logical_tree_topology(setup), wire_log=wire_log)
    driver.open()
    while driver.calendar.step(driver.plan.until_ps):
        if driver.calendar.handled > events_max:
            raise TooLong(f"{setup.protocol_name}: not over after {events_max} events (seed {setup.seed})")
    return driver.summary()


class _Driver:
    """Surrounds the machines: sends what they send, checks what they declare, and starts executions."""

    def __init__(self, setup: Setup, *, wire_log: bool) -> None:
        self.setup = setup
        self.wire_log = wire_log
        self.plan = make_plan(setup, setup.found_protocol, trace=True, wire_log=wire_log)
        self.calendar = Calendar()
        self.network = Network(
            setup.topology,
            setup.costs,
            self.calendar,
            self.handle,
            seed=self.plan.seed,
            loss_until_ps=self.plan.loss_until_ps,
        )
        self.seats = _make_seats(setup)
        self.events: list[Event] = []
        received = [seat.machine.me.received for seat in self.seats]
        self.traffic = DataTraffic(setup, self.plan, self.network, received, self.events)
        self.running = False
        self.planned = 0
        self.given_up = 0
        self.started_at_ps: list[int] = []
        self.next_start_ps = self.plan.period_ps if self.plan.trigger == PERIODIC else 0
        self.finished_at_ps = 0
        self.rounds = 0
        self.start_gap_max_ps = 0
        self.learned_at_ps: dict[int, list[int]] = {}
        """For each execution, when each member that knows its result learned it, in that order."""
        self.root_rtt_ps: list[int] = []
        self.round_trip_max_ps = 0

    def open(self) -> None:
        """Set every timer, and start the first execution if it is due at once."""
        for member in range(len(self.seats)):
            self.set_timer(member)
        self.begin()
        self.set_timer(0)

    def handle(self, member: int, letter: Letter) -> None:
        """Let a member receive a message, with what rides inside it."""
        if letter.kind < DATA:
            self.handle_protocol(member, letter)
        elif self.traffic.take_in(member, letter):
            for rider in letter.riders:
                if rider.dest in (GROUP, member):
                    self.handle_protocol(member, rider)
            if member == 0 and self.plan.trigger == PRESSURE:
                self.begin()
        self.set_timer(member)

    def handle_protocol(self, member: int, letter: Letter) -> None:
        """Give a stability message to a member's machine."""
        seat, now_ps = self.seats[member], self.calendar.now_ps
        seat.received += 1
        seat.begun_at_ps.setdefault(letter.execution, now_ps)
        if self.wire_log:
            self.events.append((HANDLE_EVENT, now_ps, member, letter.source, letter.execution, letter.kind))
        sent = seat.machine.receive(
            Received(letter.kind, letter.source, letter.execution, letter.array), now_ps
        )
        self.after_call(member, sent, letter.depth)
        if member == 0:
            self.begin()

    def begin(self) -> None:
        """Let member 0 start an execution if one is due."""
        if not self.start_is_due():
            return
        seat, now_ps = self.seats[0], self.calendar.now_ps
        last_start_ps = self.started_at_ps[-1] if self.started_at_ps else 0
        self.start_gap_max_ps = max(self.start_gap_max_ps, now_ps - last_start_ps)
        self.started_at_ps.append(now_ps)
        self.given_up += self.running
        self.running = True
        self.next_start_ps = max(self.next_start_ps + self.plan.period_ps, now_ps)
        sent = seat.machine.start(now_ps)
        if all(each.dest != GROUP for each in sent):
            # Its first message does not come back to it, so it takes part from the start on.
            seat.begun_at_ps[sent[0].execution] = now_ps
        self.after_call(0, sent, 0)

    def is_over(self) -> bool:
        """Tell whether no further execution is to be started."""
        if self.plan.executions:
            return self.planned >= self.plan.executions
        return all(seat.settled for seat in self.seats)

    def start_is_due(self) -> bool:
        """Tell whether member 0 should begin an execution now."""
        if self.is_over():
            return False
        if self.running:
            return self.calendar.now_ps >= self.retry_at_ps()
        if self.plan.trigger == IMMEDIATE:
            return True
        if self.plan.trigger == PERIODIC:
            return self.calendar.now_ps >= self.next_start_ps
        sender = self.traffic.stations[0]
        assert sender.column is not None
        # A sender that is done counts as full, or the rest would never become stable.
        return sender.to_send == 0 or sender.column.sent - sender.column.stable >= self.plan.threshold

    def retry_at_ps(self) -> int:
        """Return when to give up the execution that runs."""
        return self.started_at_ps[-1] + self.plan.retry_ps if self.plan.retry_ps else NEVER

    def set_timer(self, member: int) -> None:
        """Bring a member's timer up to date."""
        own_timer = self.seats[member].machine.next_timer()
        due_ps = min(self.traffic.deadline_ps(member), NEVER if own_timer is None else own_timer)
        if member == 0 and not self.is_over():
            if self.running:
                due_ps = min(due_ps, self.retry_at_ps())
            elif self.plan.trigger == PERIODIC:
                due_ps = min(due_ps, self.next_start_ps)
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
        self.traffic.handle_deadlines(member)
        machine, now_ps = self.seats[member].machine, self.calendar.now_ps
        own_timer = machine.next_timer()
        if own_timer is not None and own_timer <= now_ps:
            self.after_call(member, machine.handle_timer(now_ps), 0)
        if member == 0:
            self.begin()
        self.set_timer(member)

    def after_call(self, member: int, sent: list[Sent], depth: int) -> None:
        """Send what a machine wants sent, then measure and check what it has learned."""
        seat = self.seats[member]
        learned, finished = seat.machine.learned, seat.machine.finished
        for each in sent:
            self.send(member, each, depth + 1)
        if learned > seat.learned:
            self.note_learned(member, learned)
        self.check(member, declared=learned > 0)
        if finished > seat.finished:
            seat.finished = finished
            self.finished_at_ps = self.calendar.now_ps
            if member == 0:
                self.planned += 1
                if finished == len(self.started_at_ps):
                    self.running = False

    def send(self, member: int, sent: Sent, depth: int) -> None:
        """Put a machine's message on its way, alone or inside a data message."""
        size = self.plan.header_bytes + self.array_bytes(member, sent)
        letter = Letter(sent.kind, member, sent.dest, size, sent.execution, depth, sent.array)
        self.rounds = max(self.rounds, depth)
        self.seats[member].sent += 1
        if not self.traffic.offer_ride(letter):
            self.network.post(letter)

    def array_bytes(self, member: int, sent: Sent) -> int:
        """Return an array's bytes on the wire: all its entries, or the changed ones with their places."""
        if sent.array is None:
            return 0
        full = self.plan.wire_entries * self.plan.entry_bytes
        if not self.plan.changed_only:
            return full
        last_sent = self.seats[member].last_sent
        last = last_sent.get(sent.kind, np.zeros_like(sent.array))
        last_sent[sent.kind] = sent.array.astype(np.int32)
        changed = int((sent.array != last).sum())
        return min(full, changed * self.plan.wire_entries // sent.array.size * 2 * self.plan.entry_bytes)

    def note_learned(self, member: int, execution: int) -> None:
        """Measure that a member knows the result of an execution."""
        seat, now_ps = self.seats[member], self.calendar.now_ps
        seat.learned, seat.learned_at_ps = execution, now_ps
        seat.rtt_ps = now_ps - seat.begun_at_ps[execution]
        self.learned_at_ps.setdefault(execution, []).append(now_ps)
        if member == 0:
            self.root_rtt_ps.append(seat.rtt_ps)
            self.round_trip_max_ps = max(self.round_trip_max_ps, now_ps - self.started_at_ps[execution - 1])

    def check(self, member: int, *, declared: bool) -> None:
        """Compare what a member calls stable with what it did before and with what everyone has."""
        seat = self.seats[member]
        before, stable = seat.declared, seat.machine.me.stable.copy()
        if (stable == before).all():
            return
        if (stable < before).any():
            self.violation("a frontier went back", member)
        if not declared:
            self.violation("a frontier changed without being declared", member)
        if any((stable > other.machine.me.received).any() for other in self.seats):
            self.violation("called stable while a member lacks it", member)
        seat.declared = stable.astype(np.int32)
        if self.plan.messages_each:
            for column in np.flatnonzero(stable > before).tolist():
                self.traffic.release(member, column, int(before[column]), int(stable[column]))
            targets = [column.target for column in self.traffic.columns]
            seat.settled = stable.tolist() == targets

    def violation(self, what: str, member: int) -> None:
        """Stop: something unsafe happened."""
        raise SafetyViolation(
            f"{self.setup.protocol_name}: {what} (member {member}, seed {self.setup.seed},"
            f" {self.setup.topology.label}, at {self.calendar.now_ps / 1e6} µs)"
        )

    def is_complete(self) -> bool:
        """Tell whether all members finished the last execution and know all that is stable."""
        if self.plan.messages_each and not self.plan.executions:
            return all(seat.settled for seat in self.seats)
        finished = all(seat.finished == len(self.started_at_ps) for seat in self.seats)
        if self.plan.messages_each:
            return finished
        everywhere = np.min([seat.machine.me.received for seat in self.seats], axis=0)
        known = all((seat.machine.me.stable == everywhere).all() for seat in self.seats)
        return finished and known and self.planned >= self.plan.executions

    def summary(self) -> PlainRun:
        """Return what the run did and measured."""
        network, lengths = self.network, self.network.queue_lengths
        since = {execution: self.started_at_ps[execution - 1] for execution in self.learned_at_ps}
        return PlainRun(
            events=self.events,
            hops=dict(network.hops),
            hop_bytes=dict(network.hop_bytes),
            sent=dict(network.sent),
            finished_at_ps=self.finished_at_ps,
            ended_at_ps=self.calendar.now_ps,
            executions=self.planned,
            executions_started=len(self.started_at_ps),
            given_up=self.given_up,
            completed=self.is_complete(),
            rounds=self.rounds,
            queue_max=max(lengths, default=0),
            queue_mean=sum(lengths) / len(lengths) if lengths else 0.0,
            host_queue_max=network.host_queue_max(),
            dropped=network.dropped,
            lost=network.lost + self.traffic.lost,
            riders=self.traffic.rode,
            processed=[seat.sent + seat.received for seat in self.seats],
            learned_at_ps=[seat.learned_at_ps for seat in self.seats],
            rtt_ps=[seat.rtt_ps for seat in self.seats],
            root_rtt_ps=self.root_rtt_ps,
            first_learned_ps=[times[0] - since[each] for each, times in self.learned_at_ps.items()],
            last_learned_ps=[times[-1] - since[each] for each, times in self.learned_at_ps.items()],
            round_trip_max_ps=self.round_trip_max_ps,
            traffic=self.traffic_summary() if self.plan.messages_each else None,
        )

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


def _make_seats(setup: Setup) -> list[Seat]:
    """Make the members' machines, with what each has received at the start."""
    protocol = setup.found_protocol
    tree, _ = contract_tree(setup.topology.tree, setup.topology.member_nodes)
    place = protocol.place(tree)
    seats = []
    for index, received in enumerate(initial_received(setup)):
        machine = Machine(
            protocol,
            index=index,
            group_size=setup.topology.member_count,
            place=place.of(index),
            columns=setup.tracked_count,
            dtype=np.int32,
        )
        machine.me.received[:] = received
        seats.append(Seat(machine, declared=np.zeros(setup.tracked_count, np.int32)))
    return seats
