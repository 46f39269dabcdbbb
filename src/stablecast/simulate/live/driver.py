"""Drives live engines on the simulated network: one for each member, on the clock of the calendar.

What is true
    An engine is called only by events of the calendar, with their time: a datagram that its host has
    received, its timer, a message of its application, a fault.  All that is random is drawn from the seed.
    So a run is the same everywhere.
What takes time
    Datagrams, by the costs: their sender's host, links, routers, their receiver's host.  A timer takes none,
    but waits for what its host has to do before.  The application takes its deliveries at once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from stablecast.engine.engine import Engine, Output
from stablecast.engine.rows import Row
from stablecast.engine.sealing import SEALED
from stablecast.membership.actions import JoinFailed, Left
from stablecast.membership.next_view import view_together
from stablecast.membership.view import Address
from stablecast.protocols.contract import GROUP
from stablecast.simulate.chance import MEMBER_STREAM, uniform
from stablecast.simulate.faults import CRASH, JOIN, LEAVE, MOVE, PAUSE, PS_PER_MS, Fault
from stablecast.simulate.live.checks import Checks
from stablecast.simulate.live.meter import Handed, Meter
from stablecast.simulate.live.open_seal import open_sealing
from stablecast.simulate.live.seat import Seat, Way
from stablecast.simulate.live.setup import LiveSetup
from stablecast.simulate.plain.calendar import Calendar
from stablecast.simulate.plain.letters import Letter
from stablecast.simulate.plain.network import Network
from stablecast.simulate.tracing import member_names

PS_PER_S = 10**12
PS_PER_US = 10**6
PORT = 7000
CONTACTS = 3
"""Members that others join through, and look for after a partition."""
SOCKET_DATAGRAMS = 1000
"""Datagrams that wait for a member that is paused; further ones are dropped."""
AFTER_FAULTS_S = 2.0
"""Beyond the silence after which a member counts as failed, for the group to agree after the last fault."""
DATAGRAM = 0
FIRST_MESSAGE, CLOCK = 1, 2
"""What is drawn for each member: when it sends first, and how wrong its clock is."""
BEGINNING_S = 1_780_000_000.0
"""The time of day at which a run begins."""

Write = Callable[[list[Row]], None]


class LiveDriver:
    """All members of a simulated group."""

    def __init__(self, setup: LiveSetup, *, write: Write | None = None, wire: bool = False) -> None:
        self.setup = setup
        self.calendar = Calendar()
        self.meter = Meter()
        self._checks = Checks(setup.seed, may_leave_out=setup.options.bimodal is not None)
        self.network = Network(
            setup.topology,
            setup.costs,
            self.calendar,
            self._deliver,
            seed=setup.seed,
            routes=setup.routes,
            multicast_tree=setup.multicast_tree,
            one_by_one=False,
            loss_until_ps=_ps(setup.loss_until_ms),
            sample_ps=0,
            is_silent=lambda member: self.seats[member].engine is None,
            wire=wire,
        )
        if setup.cores:
            self.network.hosts.share(setup.cores)
        names = member_names(setup.topology.member_count)
        heard = setup.receives(names)
        self.seats = [
            Seat(
                k,
                name,
                address_of(k),
                zone=setup.zone_of(k),
                clock_ahead_s=setup.clock_skew_ms / 1e3 * self._draw(k, CLOCK),
                receives=heard[k],
            )
            for k, name in enumerate(names)
        ]
        self.across_datagrams = 0
        """Copies of datagrams that were sent to members of another zone; and their bytes."""
        self.across_bytes = 0
        self.past: list[Engine] = []
        """Engines of members that are gone."""
        self.unsettled = 0
        """Messages that are handed over and not known to be stable, of members that are there."""
        self.sends_until_ps: int | None = None
        """When the senders stop; None before they begin."""
        self._over_from_ps = _agreed_after_ps(setup)
        self._by_address = {seat.address: seat.number for seat in self.seats}
        self._payload = bytes(setup.data_bytes)
        self._sealing = SEALED if setup.encrypted else open_sealing()
        self._timer_ps = round(setup.timer_us * PS_PER_US)
        self._write, self._wire = write, wire

    @property
    def now_s(self) -> float:
        """The time as engines have it."""
        return self.calendar.now_ps / PS_PER_S

    @property
    def is_over(self) -> bool:
        """Whether everything that was to happen has happened, and all is stable that is to be."""
        until = self.sends_until_ps
        if until is None or self.unsettled:
            return False
        return self.calendar.now_ps >= max(until, self._over_from_ps)

    def _draw(self, member: int, what: int) -> float:
        """Draw a number of a member's, from 0 to below 1."""
        return float(uniform(self.setup.seed, MEMBER_STREAM + member, what))

    def _look_whether_over(self) -> None:
        self.calendar.stopped = self.is_over

    def begin(self) -> None:
        """Make the members that are there from the start, and set what is to happen."""
        initial = self.seats[: self.setup.schedule.initial]
        for seat in initial:
            self._make_engine(seat)
        if self.setup.start == "joined":
            self._begin_together(initial)
        else:
            for seat in initial:
                self._join(seat)
        first_fault = self.network.first_timer + 2 * len(self.seats)
        for number, fault in enumerate(self.setup.schedule.faults):
            self.calendar.add(fault.at_ps, first_fault + number, partial(self._strike, fault))

    def _make_engine(self, seat: Seat) -> None:
        seed = f"{self.setup.seed}/{seat.number}"
        seat.engine = Engine(
            replace(self.setup.options, member=seat.name, zone=seat.zone, receives=seat.receives),
            address=seat.address,
            largest=self.setup.membership.largest,
            rng=random.Random(seed),
            now=self.now_s,
            traces=self._write is not None,
            wire=self._wire,
            sealing=self._sealing,
            ip_multicast=self.setup.ip_multicast,
        )
        if seat.engine.wire is not None:
            seat.engine.wire.header_bytes = self.setup.costs.header_bytes
        self._tell_time_of_day(seat)

    def _contacts(self) -> list[Address]:
        return [seat.address for seat in self.seats[: min(CONTACTS, self.setup.schedule.initial)]]

    def _begin_together(self, seats: list[Seat]) -> None:
        engines = [seat.engine for seat in seats if seat.engine is not None]
        members = [engine.agreement.me for engine in engines]
        view_id = random.Random(f"{self.setup.seed}/view").getrandbits(64) or 1
        view = view_together(view_id, 1, members, group=self.setup.options.group)
        contacts = self._contacts()
        for engine in engines:
            engine.begin_in(view, contacts, self.now_s)
        for seat in seats:
            self._do(seat)

    def _join(self, seat: Seat) -> None:
        """Let a member join; the first one begins alone."""
        if seat.engine is not None:
            seat.engine.join(self._contacts() if seat.number else [], self.now_s)
            self._do(seat)

    # What the application does

    def _begin_sending(self) -> None:
        """Let senders begin, each at a time of its own within the first interval."""
        now_ps, interval_ps = self.calendar.now_ps, self._interval_ps
        self.sends_until_ps = now_ps + round(self.setup.seconds * PS_PER_S)
        self.calendar.add(max(self.sends_until_ps, self._over_from_ps), 0, self._look_whether_over)
        for member in self.setup.sender_members().tolist():
            first_ps = int(self._draw(member, FIRST_MESSAGE) * interval_ps)
            self._set_message(self.seats[member], now_ps + first_ps)

    @property
    def _interval_ps(self) -> int:
        return max(1, round(PS_PER_S / self.setup.rate_per_s))

    def _set_message(self, seat: Seat, at_ps: int) -> None:
        if self.sends_until_ps is not None and at_ps < self.sends_until_ps:
            server = self.network.first_timer + len(self.seats) + seat.number
            self.calendar.add(at_ps, server, partial(self._hand_over, seat))

    def _hand_over(self, seat: Seat) -> None:
        """Hand a message to a member, and plan the next one."""
        now_ps = self.calendar.now_ps
        self._set_message(seat, now_ps + self._interval_ps)
        if seat.engine is not None and seat.socket is None:
            seat.pending.append(now_ps)
            self.unsettled += 1
            if self._send_pending(seat):
                self._do(seat)
            else:
                self.meter.blocked += 1

    def _send_pending(self, seat: Seat) -> bool:
        """Send what waits, as much as the engine takes; tell whether that is anything."""
        engine, size, now_s = seat.engine, len(self._payload), self.now_s
        if engine is None or seat.socket is not None or not seat.pending or not engine.own.may_send(size):
            return False
        while seat.pending and engine.own.may_send(size):
            seq = engine.own.send(self._payload, now_s)
            message = Handed(engine.own.outcomes, seq, seat.pending.popleft(), now_s)
            self.meter.was_handed(engine.label, message)
            seat.waiting.append(message)
        engine.flush(now_s)
        return True

    # What the network and the clock do

    def _deliver(self, member: int, letter: Letter) -> None:
        seat, source = self.seats[member], self.seats[letter.source]
        if seat.engine is None or seat.side != source.side:
            return
        if self._wire and len(seat.ways) < SOCKET_DATAGRAMS:
            packet, now_ps = self.network.handled, self.calendar.now_ps
            assert packet is not None
            seat.ways.append(Way(letter.payload, packet.queue_ps, packet.service_ps, now_ps))
        if seat.socket is None:
            self._tell_time_of_day(seat)
            seat.tell_ways(self.calendar.now_ps)
            seat.engine.receive([(letter.payload, source.address)], self.now_s)
            self._do(seat)
        elif len(seat.socket) < SOCKET_DATAGRAMS:
            seat.socket.append((letter.payload, source.address))

    def _ring(self, seat: Seat) -> None:
        """Let a timer go off, when the host has done what it has to do before: then it is late."""
        self.network.hosts.own[seat.number].when_free(partial(self._handle_timer, seat))

    def _handle_timer(self, seat: Seat) -> None:
        seat.timer = None
        if seat.engine is not None and seat.socket is None:
            self._tell_time_of_day(seat)
            seat.engine.handle_timer(self.now_s)
            self._do(seat)

    def _tell_time_of_day(self, seat: Seat) -> None:
        if seat.engine is not None and seat.engine.reads_time_of_day:
            now_s = self.now_s
            seat.engine.tell_time_of_day(BEGINNING_S + now_s + seat.clock_ahead_s, now_s)

    def _set_timer(self, seat: Seat, engine: Engine) -> None:
        """Have the engine called when it wants to be, in whole microseconds, and not before the next one.

        A call that comes too early does nothing, so one that is set stays unless it would be too late.  An
        event loop that waits in whole milliseconds, say, begins its wait anew whenever it was woken up.
        """
        due = engine.next_timer()
        if due == math.inf:
            return
        now_ps = self.calendar.now_ps
        at_ps = math.ceil(max(due * 1e6, now_ps // PS_PER_US + 1)) * PS_PER_US
        if self._timer_ps:
            at_ps = now_ps - (now_ps - at_ps) // self._timer_ps * self._timer_ps
        if seat.timer is not None:
            if seat.timer.at_ps == at_ps or (seat.timer.at_ps < at_ps and not self._timer_ps):
                return
            seat.timer.action = None
        server = self.network.first_timer + seat.number
        seat.timer = self.calendar.add(at_ps, server, partial(self._ring, seat))

    # What the engines want

    def _do(self, seat: Seat) -> None:
        """Do what an engine returns; what comes of that is done next."""
        engine = seat.engine
        while engine is not None:
            again = self._do_output(seat, engine, engine.output())
            if seat.engine is None:
                return
            if not again:
                break
        if engine is not None:
            self._set_timer(seat, engine)

    def _do_output(self, seat: Seat, engine: Engine, output: Output) -> bool:
        if self._write is not None and output.rows:
            self._write(output.rows)
        for datagram, to, is_for_all in output.datagrams:
            self._send(seat, datagram, [self._by_address[a] for a in to], is_for_all=is_for_all)
        again, now_ps = False, self.calendar.now_ps
        for event in output.events:
            if isinstance(event, (Left, JoinFailed)):
                self._depart(seat)
                return False
            self.meter.was_told(engine.label, event, now_ps)
            if self.sends_until_ps is None and self._all_are_in():
                self._begin_sending()
        if output.deliveries:
            self._checks.was_delivered(output.deliveries)
            self.meter.was_delivered(seat.number, output.deliveries, now_ps)
            again = engine.consumed(len(output.deliveries), self.now_s)
        if output.went_on:
            if seat.waiting:
                settled, outcome = self.meter.became_stable(seat.number, seat.waiting, now_ps)
                if outcome is not None:
                    self._checks.became_stable(engine.session, outcome, self._engines())
                self.unsettled -= settled
                self._look_whether_over()
            again |= self._send_pending(seat)
        return again

    def _send(self, seat: Seat, datagram: bytes, to: list[int], *, is_for_all: bool) -> None:
        size = len(datagram) + self.setup.costs.header_bytes
        elsewhere = [self.seats[k].zone for k in to if self.seats[k].zone != seat.zone]
        letter = Letter(DATAGRAM, seat.number, GROUP, size, payload=datagram, comes_back=False)
        if is_for_all and self.setup.ip_multicast:
            copies = len(set(elsewhere))
            self.network.post(letter)
        else:
            copies = len(elsewhere)
            self.network.post_to_each(letter, to)
        self.across_datagrams += copies
        self.across_bytes += copies * size

    def _all_are_in(self) -> bool:
        """Tell whether all that are there from the start, and not gone again, are in one view."""
        initial = self.seats[: self.setup.schedule.initial]
        there = [seat.engine for seat in initial if seat.engine is not None]
        views = {None if engine.view is None else engine.view.id for engine in there}
        return len(views) == 1 and None not in views

    def _engines(self) -> Iterator[Engine]:
        return (seat.engine for seat in self.seats if seat.engine is not None)

    # Faults

    def _strike(self, fault: Fault) -> None:
        """Let a fault happen."""
        seat = self.seats[fault.member]
        if fault.what == MOVE:
            seat.side = fault.side
        elif fault.what == JOIN:
            self._make_engine(seat)
            self._join(seat)
        elif seat.engine is None:
            return
        elif fault.what == CRASH:
            self._depart(seat)
        elif fault.what == LEAVE:
            seat.engine.leave(self.now_s)
            self._do(seat)
        elif fault.what == PAUSE:
            seat.socket = seat.socket or []
        else:
            self._resume(seat, seat.engine)

    def _resume(self, seat: Seat, engine: Engine) -> None:
        """Let a paused member take what waits for it, and see what time it is."""
        waiting, seat.socket = seat.socket, None
        if waiting is not None:
            seat.tell_ways(self.calendar.now_ps)
            engine.receive(waiting, self.now_s)
            self._do(seat)
            if seat.engine is not None and seat.timer is None:
                self._handle_timer(seat)

    def _depart(self, seat: Seat) -> None:
        """Let a member be gone, with all that it waits for."""
        if seat.engine is not None:
            self.past.append(seat.engine)
        seat.engine, seat.socket = None, None
        self.unsettled -= len(seat.pending) + len(seat.waiting)
        seat.pending.clear()
        seat.ways.clear()
        seat.waiting.clear()
        self._look_whether_over()


def address_of(member: int) -> Address:
    """Return where a member is reached: an address of a private network."""
    return (f"10.{member >> 16 & 255}.{member >> 8 & 255}.{member & 255}", PORT)


def _agreed_after_ps(setup: LiveSetup) -> int:
    """Return when the group has had time to agree after the last fault; 0 if there is none."""
    after_s = setup.membership.fail_after + AFTER_FAULTS_S
    return max((fault.at_ps + round(after_s * PS_PER_S) for fault in setup.schedule.faults), default=0)


def _ps(ms: float | None) -> int:
    return 1 << 62 if ms is None else round(ms * PS_PER_MS)
