"""Data traffic of the plain driver: senders with bounded buffers, repair, and stability messages that ride.

It is the model of :mod:`stablecast.simulate.traffic` told a second time, with sets and queues for the rings
of that one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.multicast.fifo import ASK_MAX
from stablecast.protocols.contract import GROUP
from stablecast.simulate.chance import MEMBER_STREAM, uniform
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.plain.letters import Letter
from stablecast.simulate.plain.network import Network
from stablecast.simulate.queues import NEVER
from stablecast.simulate.senders import sender_columns, sender_intervals_ps, sender_members, sender_messages
from stablecast.simulate.setup import PIGGYBACKS, Setup
from stablecast.simulate.state import BEATS_MAX, DATA, HEARTBEAT, KEPT, NAK, REQUEST, RIDERS_MAX, Plan
from stablecast.simulate.trace_rows import RECEIVE_EVENT, RELEASE_EVENT, SEND_EVENT, STABLE_EVENT

Event = tuple[int, ...]
"""A row of the trace: code, time in ps, member, column or source, number or execution, bytes or kind; and in
a wire trace the further ones of :data:`stablecast.simulate.trace_rows.ROW`."""


@dataclass(eq=False)
class Column:
    """One sequence of numbers and the member, its leader, that gives them out."""

    number: int
    leader: int
    target: int
    """Messages that it will have in the end."""
    sent: int = 0
    stable: int = 0
    """What the leader knows to be everywhere."""
    born_ps: dict[int, int] = field(default_factory=dict)
    """When each message was handed over."""
    attached_bytes: dict[int, int] = field(default_factory=dict)
    """Bytes that the protocol put into each message."""
    waiting_ps: deque[int] = field(default_factory=deque)
    """When the messages were handed over that wait at the leader for room."""
    blocked: int = 0
    held_max: int = 0
    heartbeat_at_ps: int = NEVER
    heartbeat_gap_ps: int = 0


@dataclass(eq=False)
class Station:
    """What a member knows and holds of the data traffic."""

    index: int
    received: NDArray[np.integer[Any]]
    """The member's own array of received prefixes."""
    stable: NDArray[np.integer[Any]]
    """What it knows to be stable."""
    ahead: list[set[int]]
    """For each column, the numbers beyond the prefix that have arrived."""
    highest: list[int]
    """For each column, the highest number heard of."""
    asked_at_ps: list[int | None]
    """For each column, when it last asked for a missing range."""
    window: int
    """How far beyond the prefix a number may be to be taken."""
    column: Column | None = None
    """Of a sender: where its messages are numbered."""
    interval_ps: int = 0
    """Of a sender: between two messages."""
    to_send: int = 0
    send_at_ps: int = NEVER
    waiting: bool = False
    nak_at_ps: int = NEVER
    riders: list[Letter] = field(default_factory=list)
    rider_at_ps: int = NEVER
    draws: int = 0
    asks: int = 0
    """Requests that it has sent for what is stable."""
    held: int = 0
    held_max: int = 0
    held_since_ps: int = 0
    held_area: int = 0

    def leads(self) -> Column | None:
        """Return the column that this member numbers, if it does."""
        return self.column if self.column is not None and self.column.leader == self.index else None

    def hold(self, change: int, now_ps: int) -> None:
        """Change the number of messages held, keeping its maximum and its integral."""
        self.held_area += self.held * (now_ps - self.held_since_ps)
        self.held_since_ps = now_ps
        self.held += change
        self.held_max = max(self.held_max, self.held)

    def take(self, column: int, seq: int) -> bool:
        """Note the arrival of a number; tell whether it is new."""
        self.highest[column] = max(self.highest[column], seq)
        ahead = self.ahead[column]
        if seq <= self.received[column] or seq in ahead or seq > self.received[column] + self.window:
            return False
        ahead.add(seq)
        while int(self.received[column]) + 1 in ahead:
            self.received[column] += 1
            ahead.remove(int(self.received[column]))
        return True

    def first_missing(self, column: int) -> range:
        """Return the first range of numbers that exist and have not arrived; as much as one may ask for."""
        first = int(self.received[column]) + 1
        stop = first
        most = first + min(ASK_MAX, self.window)
        while stop <= self.highest[column] and stop < most and stop not in self.ahead[column]:
            stop += 1
        return range(first, stop)


class DataTraffic:
    """The data messages of a run: who sends them when, who lacks which, and what is still held."""

    def __init__(
        self,
        setup: Setup,
        plan: Plan,
        network: Network,
        received: list[NDArray[np.integer[Any]]],
        stable: list[NDArray[np.integer[Any]]],
    ) -> None:
        self.plan = plan
        self.network = network
        self.note: Callable[[int, int, int, int, int], None] = _note_nothing
        """Called with each event: code, member, column, number and bytes."""
        self.on_offer: Callable[[Letter], None] | None = None
        """Called with each message that waits for a ride, and with each that a member takes in."""
        self.on_taken: Callable[[int, Letter], None] | None = None
        self.audiences = [set(audience) for audience in setup.audiences]
        """For each column, the members that take its messages now; empty if everyone does."""
        self.attach: Callable[[int, int, int], int] = _attach_nothing
        """Called with a member, its column and the number of a message to send; returns bytes to add."""
        self.attached_bytes = 0
        self.columns = _make_columns(setup) if plan.messages_each else []
        width = len(self.columns)
        self.stations = [
            Station(i, *rows, [set() for _ in range(width)], [0] * width, [None] * width, plan.buffer + 1)
            for i, rows in enumerate(zip(received, stable, strict=True))
        ]
        self.rode = 0
        self.rider_bytes = 0
        self.lost = 0
        self.delivery_max_ps = 0
        self.time_to_stable_ps: list[int] = []
        if plan.messages_each:
            self._place_senders(setup)

    def _place_senders(self, setup: Setup) -> None:
        members = sender_members(setup).tolist()
        each = zip(sender_intervals_ps(setup).tolist(), sender_messages(setup).tolist(), strict=True)
        for k, (member, column, (interval_ps, messages)) in enumerate(
            zip(members, sender_columns(setup).tolist(), each, strict=True)
        ):
            station = self.stations[member]
            station.column = self.columns[column]
            station.interval_ps, station.to_send = interval_ps, messages
            station.send_at_ps = k * setup.traffic.interval_ps // len(members)

    @property
    def now_ps(self) -> int:
        """The time."""
        return self.network.calendar.now_ps

    def deadline_ps(self, member: int) -> int:
        """Return when a member next has something to do by time alone."""
        station = self.stations[member]
        column = station.leads()
        beat_at_ps = NEVER if column is None else column.heartbeat_at_ps
        return min(station.send_at_ps, station.nak_at_ps, station.rider_at_ps, beat_at_ps)

    def handle_deadlines(self, member: int) -> None:
        """Do what a member has due: send, repeat its last number, ask again, send what found no ride."""
        station, now_ps = self.stations[member], self.now_ps
        if station.send_at_ps <= now_ps:
            self._hand_over(station)
        column = station.leads()
        if column is not None and column.heartbeat_at_ps <= now_ps:
            self._beat(column)
        if station.nak_at_ps <= now_ps:
            station.nak_at_ps = NEVER
            for number in range(len(self.columns)):
                self._ask(station, number)
        if station.rider_at_ps <= now_ps:
            self._send_riders(station)

    def _hand_over(self, station: Station) -> None:
        """Send a sender's next message, hand it to the leader, or wait for room."""
        column = station.column
        assert column is not None
        if column.leader != station.index:
            size = self.plan.header_bytes + self.plan.data_bytes
            self.network.post(
                Letter(
                    REQUEST,
                    station.index,
                    column.leader,
                    size,
                    column=column.number,
                    born_ps=self.now_ps,
                )
            )
        elif self._has_room(column):
            self._multicast(column, self.now_ps)
        else:
            column.blocked += 1
            station.waiting = True
            station.send_at_ps = NEVER
            return
        station.to_send -= 1
        station.waiting = False
        station.send_at_ps = self.now_ps + station.interval_ps if station.to_send else NEVER

    def _has_room(self, column: Column) -> bool:
        return column.sent - column.stable < self.plan.buffer

    def _multicast(self, column: Column, born_ps: int) -> None:
        """Give a message its number and multicast it, with what waits for a ride."""
        leader = self.stations[column.leader]
        column.sent += 1
        column.heartbeat_gap_ps = self.plan.heartbeat_ps
        column.heartbeat_at_ps = self.now_ps + self.plan.heartbeat_ps if self.plan.lossy else NEVER
        column.held_max = max(column.held_max, column.sent - column.stable)
        column.born_ps[column.sent] = born_ps
        leader.highest[column.number] = column.sent
        leader.received[column.number] = column.sent
        leader.hold(1, self.now_ps)
        self._note(SEND_EVENT, leader.index, column.number, column.sent)
        attached = self.attach(leader.index, column.number, column.sent)
        column.attached_bytes[column.sent] = attached
        self.attached_bytes += attached
        letter = self._data(column, column.sent, GROUP)
        letter.riders = self._unload(leader)
        riding = sum(rider.size - self.plan.header_bytes for rider in letter.riders)
        letter.size += riding
        letter.carried += riding
        self.rider_bytes += riding
        self.rode += len(letter.riders)
        self.network.post(letter)

    def _data(self, column: Column, seq: int, dest: int) -> Letter:
        attached = column.attached_bytes[seq]
        return Letter(
            DATA,
            column.leader,
            dest,
            self.plan.header_bytes + self.plan.data_bytes + attached,
            carried=attached,
            column=column.number,
            first=seq,
            last=seq,
            born_ps=column.born_ps[seq],
        )

    def offer_ride(self, letter: Letter) -> bool:
        """Let a stability message wait for its sender's next data message, if that is worth it.

        The data must be due soon enough, and riding must save what the run looks at.  Changed entries do not
        overtake others of their type: if these do not wait, those wait no longer.
        """
        station, patience_ps = self.stations[letter.source], self.plan.piggyback_ps
        soon = station.leads() is not None and station.send_at_ps <= self.now_ps + patience_ps
        worth = patience_ps > 0 and soon and len(station.riders) < RIDERS_MAX
        if not worth or not self._saves(letter):
            if letter.entries is not None and any(rider.kind == letter.kind for rider in station.riders):
                self._send_riders(station)
            return False
        if not station.riders:
            station.rider_at_ps = self.now_ps + patience_ps
        station.riders.append(letter)
        if self.on_offer is not None:
            self.on_offer(letter)
        return True

    def _saves(self, letter: Letter) -> bool:
        """Compare what a message puts on hops, and takes of hosts, inside data and on its own."""
        network, wanted = self.network, PIGGYBACKS[self.plan.rides_for]
        size, inside = letter.size, letter.size - self.plan.header_bytes
        byte_ps = self.network.costs.send_us_per_byte * PS_PER_US
        bytes_alone = size * network.hops_to(letter.source, letter.dest)
        bytes_inside = inside * network.hops_to(letter.source, GROUP)
        ps_alone = network.hosts.send_ps(size) * network.host_uses(letter.dest)
        ps_inside = byte_ps * inside * network.host_uses(GROUP)
        return {
            "all": True,
            "bytes": bytes_inside < bytes_alone,
            "time": ps_inside < ps_alone,
            "both": (bytes_inside <= bytes_alone and ps_inside <= ps_alone)
            and (bytes_inside, ps_inside) != (bytes_alone, ps_alone),
        }[wanted]

    def _send_riders(self, station: Station) -> None:
        """Send what waits for a ride on its own."""
        for letter in self._unload(station):
            self.network.post(letter)

    def _unload(self, station: Station) -> list[Letter]:
        riders, station.riders, station.rider_at_ps = station.riders, [], NEVER
        return riders

    def take_in(self, member: int, letter: Letter) -> bool:
        """Take in a message of the data traffic at a member; tell whether it got through."""
        station, column = self.stations[member], self.columns[letter.column]
        if letter.kind in (DATA, KEPT) and self._loses(station, letter):
            return False
        if self.on_taken is not None:
            self.on_taken(member, letter)
        if letter.kind in (DATA, KEPT):
            self._take(station, column, letter)
        elif letter.kind == HEARTBEAT:
            station.highest[column.number] = max(station.highest[column.number], letter.last)
            self._ask(station, column.number)
        elif letter.kind == NAK:
            self._answer(station, column, letter)
        else:
            self._take_request(column, letter.born_ps)
        return True

    def _answer(self, station: Station, column: Column, letter: Letter) -> None:
        """Send copies of what a receiver lacks: of what is held here since it is not stable, or is kept."""
        leads = column.leader == station.index
        for seq in range(letter.first, letter.last + 1):
            held = leads and seq > column.stable
            if held:
                self.network.post(self._data(column, seq, letter.source))
            elif self.plan.handlers and seq <= station.received[column.number]:
                copy = self._data(column, seq, letter.source)
                copy.kind, copy.source, copy.born_ps = KEPT, station.index, self.now_ps
                self.network.post(copy)

    def _loses(self, station: Station, letter: Letter) -> bool:
        """Draw whether a receiver loses a multicast data message."""
        if letter.dest != GROUP or self.plan.data_loss == 0 or letter.source == station.index:
            return False
        station.draws += 1
        draw = uniform(self.plan.seed, MEMBER_STREAM + station.index, station.draws)
        lost = self.now_ps < self.plan.loss_until_ps and draw < self.plan.data_loss
        self.lost += lost
        return lost

    def _take(self, station: Station, column: Column, letter: Letter) -> None:
        if column.leader == station.index or not self._is_for(station, column.number):
            return
        if station.take(column.number, letter.first):
            station.hold(1, self.now_ps)
            self.delivery_max_ps = max(self.delivery_max_ps, self.now_ps - letter.born_ps)
            self._note(RECEIVE_EVENT, station.index, column.number, letter.first)
        self._ask(station, column.number)

    def _is_for(self, station: Station, column: int) -> bool:
        return not self.audiences or station.index in self.audiences[column]

    def shut(self, member: int, column: int) -> None:
        """A member takes no more messages of a column."""
        self.audiences[column].discard(member)

    def open(self, member: int, column: int, after: int) -> None:
        """A member takes the messages of a column behind one; it asks for what it has missed by now."""
        station = self.stations[member]
        self.audiences[column].add(member)
        station.received[column] = max(int(station.received[column]), after)
        station.highest[column] = max(station.highest[column], after)
        station.ahead[column].clear()
        station.asked_at_ps[column] = None
        self._ask(station, column)

    def _ask(self, station: Station, column: int) -> None:
        """Ask for the first missing range of a column, unless that was asked for a short while ago."""
        missing = station.first_missing(column)
        if not missing or not self._is_for(station, column):
            return
        asked_at_ps = station.asked_at_ps[column]
        asked = asked_at_ps is not None and self.now_ps < asked_at_ps + self.plan.nak_ps
        if asked_at_ps is None or not asked:
            asked_at_ps = station.asked_at_ps[column] = self.now_ps
        station.nak_at_ps = min(station.nak_at_ps, asked_at_ps + self.plan.nak_ps)
        if not asked:
            size = self.plan.header_bytes + 2 * self.plan.entry_bytes
            whom = self._whom_to_ask(station, column)
            first, last = missing[0], missing[-1]
            self.network.post(Letter(NAK, station.index, whom, size, column=column, first=first, last=last))

    def _whom_to_ask(self, station: Station, column: int) -> int:
        """Return its sender, or for what is stable the next of those who keep it."""
        leader: int = self.columns[column].leader
        keepers = [*range(self.plan.handlers), leader]
        if station.received[column] >= station.stable[column] or len(keepers) == 1:
            return leader
        while True:
            keeper: int = keepers[(station.index + station.asks) % len(keepers)]
            station.asks += 1
            if keeper != station.index:
                return keeper

    def hear_of(self, member: int, column: int, number: int) -> None:
        """A member that was not waited for learns, from what is stable, that it lacks something."""
        station = self.stations[member]
        station.highest[column] = max(station.highest[column], number)
        self._ask(station, column)

    def _take_request(self, column: Column, born_ps: int) -> None:
        """Let a leader number a message for one of its senders; without room it waits its turn."""
        if column.waiting_ps or not self._has_room(column):
            column.blocked += 1
            column.waiting_ps.append(born_ps)
        else:
            self._multicast(column, born_ps)

    def _beat(self, column: Column) -> None:
        """Tell everyone the last number sent, at doubling distances."""
        column.heartbeat_gap_ps *= 2
        given_up = column.heartbeat_gap_ps >= self.plan.heartbeat_ps << BEATS_MAX
        column.heartbeat_at_ps = NEVER if given_up else self.now_ps + column.heartbeat_gap_ps
        size = self.plan.header_bytes + self.plan.entry_bytes
        self.network.post(
            Letter(HEARTBEAT, column.leader, GROUP, size, column=column.number, last=column.sent)
        )

    def release(self, member: int, number: int, old: int, new: int) -> None:
        """Let go of the messages of a column that a member has just learned to be stable."""
        self.stations[member].hold(old - new, self.now_ps)
        self._note(STABLE_EVENT, member, number, new)
        for seq in range(old + 1, new + 1):
            self._note(RELEASE_EVENT, member, number, seq)
        column = self.columns[number]
        if column.leader == member:
            self._make_room(column, new)

    def _make_room(self, column: Column, stable: int) -> None:
        """Measure how long a sender's own messages took to be stable, and send what waited for room."""
        newly = range(column.stable + 1, stable + 1)
        self.time_to_stable_ps += [self.now_ps - column.born_ps[seq] for seq in newly]
        column.stable = stable
        if column.sent == stable:
            column.heartbeat_at_ps = NEVER
        while column.waiting_ps and self._has_room(column):
            self._multicast(column, column.waiting_ps.popleft())
        leader = self.stations[column.leader]
        if leader.waiting:
            leader.send_at_ps = self.now_ps

    def _note(self, code: int, member: int, column: int, seq: int) -> None:
        self.note(code, member, column, seq, self.plan.data_bytes)


def _note_nothing(code: int, member: int, column: int, seq: int, size: int) -> None:
    pass


def _attach_nothing(member: int, column: int, number: int) -> int:
    return 0


def _make_columns(setup: Setup) -> list[Column]:
    """Give each column the first of its senders as leader."""
    columns: dict[int, Column] = {}
    numbers, messages = sender_columns(setup).tolist(), sender_messages(setup).tolist()
    for member, number, count in zip(sender_members(setup).tolist(), numbers, messages, strict=True):
        column = columns.setdefault(number, Column(number, leader=member, target=0))
        column.target += count
    return [columns[number] for number in sorted(columns)]
