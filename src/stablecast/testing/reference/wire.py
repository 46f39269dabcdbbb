"""The rows of a wire trace, as the plain driver writes them.

It is :mod:`stablecast.simulate.trace_rows` told a second time: what belongs to a letter is kept in tables,
and the time that a packet has waited is measured at each server, where the compiled loop takes what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from stablecast.protocols.contract import GROUP, Machine
from stablecast.simulate.plain.letters import Letter, Packet, packet_sizes
from stablecast.simulate.plain.network import Network
from stablecast.simulate.queues import NEVER
from stablecast.simulate.state import DATA, HEARTBEAT, REQUEST, Plan
from stablecast.simulate.timer_rows import (
    HEARTBEAT_TIMER,
    NAK_TIMER,
    PROTOCOL_TIMER,
    RIDE_TIMER,
    START_TIMER,
)
from stablecast.simulate.trace_rows import ARRIVE_EVENT, NONE, REPAIR, TIMER_EVENT, TRANSMIT_EVENT
from stablecast.testing.reference.traffic import DataTraffic, Event

NOTHING = (NONE,) * 8


class WireRows:
    """What members transmit, handle, and do by timers; without ``on`` it takes no notice of any of it."""

    def __init__(
        self,
        plan: Plan,
        network: Network,
        traffic: DataTraffic,
        events: list[Event],
        ordinal: Callable[[int], int],
    ) -> None:
        self.on = plan.wire
        self._plan, self._network, self._traffic = plan, network, traffic
        self._events = events
        self._ordinal = ordinal
        self._steps: Counter[int] = Counter()
        self._transmissions: Counter[int] = Counter()
        self._numbers: dict[Letter, int] = {}
        self._offered_at_ps: dict[Letter, int] = {}
        self._timers: dict[int, tuple[int, int]] = {}
        """For each member, the time that its protocol's timer stands at, and since when."""
        if self.on:
            network.on_post = self._transmit
            traffic.on_offer = self._offer
            traffic.on_taken = self.arrive

    def note(self, code: int, member: int, column: int, number: int, size: int) -> None:
        """Write an event that is in every trace."""
        row = (code, self._now_ps, member, column, number, size)
        self._events.append((*row, self._steps[member], *NOTHING) if self.on else row)

    def begin(self, member: int) -> None:
        """A member begins to handle something."""
        self._steps[member] += 1

    @property
    def _now_ps(self) -> int:
        return self._network.calendar.now_ps

    def _write(
        self,
        code: int,
        member: int,
        letter: Letter,
        size: int,
        *,
        peer: int,
        queue_ps: int = NONE,
        service_ps: int = NONE,
        since_ps: int = NONE,
    ) -> None:
        of_data = letter.kind >= DATA and letter.kind != REQUEST
        source = self._traffic.columns[letter.column].leader if of_data else NONE
        in_rounds = letter.kind < DATA and not self._plan.roundless and letter.execution > 0
        self._events.append(
            (
                code,
                self._now_ps,
                member,
                source,
                letter.last if of_data else NONE,
                size,
                self._steps[member],
                peer,
                REPAIR if letter.kind == DATA and letter.dest != GROUP else letter.kind,
                self._numbers[letter],
                self._ordinal(letter.execution) if in_rounds else NONE,
                letter.first if of_data and letter.kind != HEARTBEAT else NONE,
                queue_ps,
                service_ps,
                since_ps,
            )
        )

    def _offer(self, letter: Letter) -> None:
        self._offered_at_ps[letter] = self._now_ps

    def _transmit(self, letter: Letter) -> None:
        """Write that a letter is sent, with what rides inside it."""
        member = letter.source
        self._transmissions[member] += 1
        for each in (letter, *letter.riders):
            self._numbers[each] = self._transmissions[member]
            size = self._inside(each) if each is not letter else self._alone(letter)
            since_ps = self._offered_at_ps.pop(each, NONE)
            self._write(TRANSMIT_EVENT, member, each, size, peer=each.dest, since_ps=since_ps)

    def arrive(self, member: int, letter: Letter, *, rides: bool = False) -> None:
        """Write that a member handles a letter."""
        packet: Packet | None = self._network.handled
        assert packet is not None
        self._write(
            ARRIVE_EVENT,
            member,
            letter,
            self._inside(letter) if rides else self._alone(letter),
            peer=letter.source,
            queue_ps=packet.queue_ps,
            service_ps=packet.service_ps,
        )

    def _inside(self, rider: Letter) -> int:
        return rider.size - self._plan.header_bytes

    def _alone(self, letter: Letter) -> int:
        costs = self._network.costs
        whole = sum(packet_sizes(letter.size, costs)) if costs.mtu_bytes else letter.size
        return whole - sum(map(self._inside, letter.riders))

    def look_at_timer(self, member: int, machine: Machine) -> None:
        """Note whether a call has set the timer of a member's protocol to another time."""
        at_ps, (before_ps, _) = machine.next_timer(), self._timers.get(member, (NEVER, NONE))
        at_ps = NEVER if at_ps is None else at_ps
        if at_ps != before_ps:
            self._timers[member] = at_ps, self._now_ps

    def ring(self, member: int, starts_since_ps: int | None) -> None:
        """Begin the step of a member whose timers go off, and write which; perhaps it starts an execution."""
        self.begin(member)
        station, column = self._traffic.stations[member], self._traffic.stations[member].leads()
        own_at_ps, own_since_ps = self._timers.get(member, (NEVER, NONE))
        beat_at_ps = NEVER if column is None else column.heartbeat_at_ps
        beat_gap_ps = 0 if column is None else column.heartbeat_gap_ps
        due = [
            (HEARTBEAT_TIMER, beat_at_ps, beat_at_ps - beat_gap_ps),
            (NAK_TIMER, station.nak_at_ps, station.nak_at_ps - self._plan.nak_ps),
            (RIDE_TIMER, station.rider_at_ps, station.rider_at_ps - self._plan.piggyback_ps),
            (PROTOCOL_TIMER, own_at_ps, own_since_ps),
        ]
        for timer, at_ps, since_ps in due:
            if at_ps <= self._now_ps:
                self._ring(member, timer, since_ps)
        if own_at_ps <= self._now_ps:
            self._timers[member] = NEVER, NONE
        if starts_since_ps is not None:
            self._ring(member, START_TIMER, starts_since_ps)

    def _ring(self, member: int, timer: int, since_ps: int) -> None:
        step = self._steps[member]
        row = (TIMER_EVENT, self._now_ps, member, NONE, NONE, NONE, step, NONE, timer)
        self._events.append((*row, NONE, NONE, NONE, NONE, NONE, since_ps))
