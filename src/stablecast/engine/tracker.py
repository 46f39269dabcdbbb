"""The stability protocol of one view: the papers' machine, its timers, and when it may rest.

Numbers count from the view's beginning: at its cut everything is everywhere, so a machine begins with zeros.
Machines whose members start executions are started by rank 0; the others run by their own timers.  Either way
the machine rests while this member knows of nothing unstable and hears nothing of the protocol.

A member is late, and takes longer steps for it, if it does not do in time what was to be done.  While a
machine rests, or an execution is under way, nothing was to be done.  So lateness counts from when a timer was
due, or from when the machine was woken up, if that was later; and for an execution from when there was
something to start it for and the one before was over.

Where members do not receive from every sender, there are two ways.  A protocol whose groups may differ is
told each source's audience, and waits for nobody else.  One that takes the minimum of what members have is
told that a member has everything of a source that it does not receive: the source itself reports how much
there is, so the minimum over all members is that over the source and its audience.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from stablecast.engine.attached import RING
from stablecast.engine.choice import PS, Choice, times_of
from stablecast.engine.claims import Claims
from stablecast.engine.pace import Pace
from stablecast.engine.wire import Stability
from stablecast.errors import StablecastError
from stablecast.membership.audiences import Audiences
from stablecast.multicast.data_plane import EVERYTHING
from stablecast.overlays.tree import tree_from_parents
from stablecast.protocols.contract import GROUP, Machine, Received, Role, Sent, Surroundings

RESTART_STEPS = 400
"""Steps after which an execution that has not ended is begun anew."""
LAST_PS = 1 << 62
"""Views are renewed long before; but a machine may sleep for months."""
ROUNDING_PS = 10**6
"""Seconds as floats are this exact."""
AWAKE_STEPS = 8
"""Steps for which a machine goes on after the last sign that it is needed."""
AWAKE_RESENDS = 4
"""Retransmissions that it has time for in any case."""
RESEND_KNOWN_S = 0.25
"""Seconds after which the time of retransmissions is set anew, as round trips have become known."""

DAY_ONE_S = 1_767_225_600
"""The time of day that clocks count from: the first of January 2026."""
DAYS_MOST_US = (1 << 49) - (1 << 43)
"""Most that they count, 17 years: hybrid stamps have room for no more, and then count like logical ones."""

SendFrame = Callable[[Stability, int], None]
"""Called with a frame and a rank, or ``GROUP`` for all others."""


def make_machine(
    choice: Choice,
    *,
    rank: int,
    members: int,
    pace: Pace,
    seed: int,
    zones: Sequence[str] = (),
    audiences: Audiences | None = None,
) -> Machine:
    """Make one member's machine of a protocol; without audiences everyone receives from everyone."""
    protocol = choice.protocol
    for_whom = () if audiences is None or not protocol.runs.groups_may_differ else audiences.by_column()
    sizes = choice.sizes(members, pace.step, resend_s=pace.resend(), zones=zones, audiences=for_whom)
    width = protocol.kernels.attached(sizes)
    attached = np.zeros((members, RING, width), np.int64) if width else None
    degree = max(2, math.ceil(math.log2(max(members, 2))))
    tree = tree_from_parents([-1, *((k - 1) // degree for k in range(1, members))])
    places = protocol.places(Surroundings(tree, sizes, seed, lambda: np.zeros((members, members))))
    machine = Machine(protocol, index=rank, sizes=sizes, places=places, seed=seed, attached=attached)
    if audiences is not None and not for_whom:
        machine.me.received[list(audiences.unheard_by(rank))] = EVERYTHING
    return machine


class Tracker:
    """Drives one member's machine in one view."""

    def __init__(
        self,
        choice: Choice,
        *,
        view: int,
        rank: int,
        bases: list[int],
        pace: Pace,
        send: SendFrame,
        now: float,
        zones: Sequence[str] = (),
        time_offset_s: float = 0.0,
        audiences: Audiences | None = None,
    ) -> None:
        self.view = view
        self.rank = rank
        self.bases = bases
        """Parts of each source before this view."""
        self.rose = False
        """Whether something has become stable; whoever lets go of it sets it back."""
        self.stable = list(bases)
        """For each source, the last part that is known to be everywhere."""
        self.pace = pace
        self.machine = make_machine(
            choice,
            rank=rank,
            members=len(bases),
            pace=pace,
            seed=view >> 1,
            zones=zones,
            audiences=audiences,
        )
        self.protocol = self.machine.protocol
        self.attaches, self.takes = self.protocol.attaches, self.protocol.takes
        self.width = self.machine.me.attached.shape[2] if self.attaches else 0
        self._claims = Claims(self.machine)
        self._noted = np.zeros(len(bases), np.int64)
        """What the machine knew to be stable when that was taken over."""
        self._send = send
        self._origin = now
        self._awake_until = 0.0
        self._woken_at = now
        """When it last rested."""
        self._needed_at = now
        """Who starts executions: since when there is something to start one for, as far as it is known."""
        self._unstable: bool | None = False
        """Whether something has come that is not stable, None if that is to be looked up."""
        self._started_at = -math.inf
        self._running = False
        self._came = 0
        """Parts that came since a timer went off."""
        self._step_in_force = pace.step
        self._resend_s, self._resend_known_at = pace.resend(), now
        self._ahead = [p.name for p in self.protocol.having(Role.AHEAD) if choice.reads_time_of_day]
        self.knows_own = self.protocol.runs.knows(self.machine.sizes) == "own"
        """Whether members learn of their own messages alone, so that they have to tell the others."""
        self.starter = None if self.protocol.runs.by_timers else 0
        """The rank of who starts executions; None if nobody does."""
        unheard = () if audiences is None else audiences.unheard_by(rank)
        self._is_heard: NDArray[np.bool_] | None = None
        """For each source whether this member receives it; None if it receives all of them."""
        if unheard:
            self._is_heard = np.ones(len(bases), np.bool_)
            self._is_heard[list(unheard)] = False
        self._known_to_exist: dict[int, int] = {}
        """Of sources that this member does not receive, the last part that it has heard of."""
        self.sends = 0
        """Messages of the protocol sent so far."""
        self.set_clock(time_offset_s)
        self._handle(self.machine.init(0), now)

    def set_clock(self, time_offset_s: float) -> None:
        """Be told what makes this member's time the time of day, for protocols that read it."""
        for name in self._ahead:
            since_us = round((self._origin + time_offset_s - DAY_ONE_S) * 1e6)
            setattr(self.machine.me.params, name, min(max(since_us, 0), DAYS_MOST_US))

    def _ps(self, now: float) -> int:
        """Return the time of the protocol, which stands still at the end of what its numbers hold."""
        return min(int((now - self._origin) * PS), LAST_PS)

    # What the data plane tells

    def attach(self, part: int, now: float) -> list[int]:
        """Return what goes with a part that this member is about to send."""
        if not self.holds(self.rank, part):
            raise StablecastError(
                f"part {part} goes out while those after {self.stable[self.rank]} are unstable"
                f" (accepted: fewer than {RING})"
            )
        number = part - self.bases[self.rank]
        self.machine.attach(self.rank, number, self._ps(now))
        row: list[int] = self.machine.me.attached[self.rank, number % RING].tolist()
        return row

    def holds(self, source: int, part: int) -> bool:
        """Tell whether what is attached to a part has a place that no unstable part has already."""
        return not self.attaches or part - self.stable[source] < RING

    def put_attached(self, source: int, part: int, numbers: list[int]) -> None:
        """Keep what came with parts, from ``part`` on."""
        rows = np.array(numbers, np.int64).reshape(-1, self.width)
        first = part - self.bases[source]
        places = np.arange(first, first + rows.shape[0]) % RING
        self.machine.me.attached[source, places] = rows

    def has_received(self, source: int, part: int, now: float) -> None:
        """Note that a source's prefix has grown up to a part."""
        if self.rank == self.starter and not self._has_unstable():
            self._needed_at = now
        received = self.machine.me.received
        before = int(received[source])
        received[source] = part - self.bases[source]
        self._came += part - self.bases[source] - before
        if part > self.stable[source]:
            self._unstable = True if self._is_heard is None else None
        if self._awake_until < now:
            self._wake(now)
        if self.pace.steering is not None:
            self._measure(now)
        if self.takes:
            self._handle(self.machine.take(source, source, before, self._ps(now)), now)

    def press(self, now: float) -> None:
        """Take a step at once: the buffer is filling up."""
        self._wake(now)
        if self.protocol.runs.by_timers:
            due = self.machine.next_timer()
            if due is not None and self.protocol.runs.in_rounds:
                self.machine.ring_at(min(due, self._ps(now)))
        else:
            self._start_if_due(now, at_once=True)

    def exists(self, source: int, part: int) -> None:
        """Note that a source that this member does not receive has sent up to a part.

        Who starts executions has to know: there may be nothing else that it would start one for.
        """
        if self.rank == self.starter:
            if not self._has_unstable():
                self._needed_at = math.inf
            self._known_to_exist[source] = max(part, self._known_to_exist.get(source, 0))
            self._unstable = None

    def take_stable(self, source: int, part: int) -> bool:
        """Take over what the source itself knows of its own messages; tell whether it is news."""
        if part <= self.stable[source]:
            return False
        self.stable[source] = part
        self.rose = True
        self.pace.progressed()
        me = self.machine.me
        me.stable[source] = self._noted[source] = part - self.bases[source]
        self._claims.rose([source])
        self._unstable = None
        return True

    # What the network tells

    def receive(self, frame: Stability, source: int, now: float) -> bool:
        """Take in a message of the protocol; tell whether it is one."""
        try:
            array = self._claims.unpack(frame)
        except ValueError:
            return False
        message = Received(frame.kind, source, tuple(frame.numbers), array)
        if not self.machine.accepts(message):
            return False
        if frame.need:
            self._wake(now)
        self._steer(now)
        self._handle(self.machine.receive(message, self._ps(now)), now)
        if not self._running:  # the next execution, if it is due, goes along with the result of this one
            self._start_if_due(now)
        return True

    # Time

    def next_timer(self) -> float | None:
        """Return when ``handle_timer`` is to be called, None for not at all while the machine rests."""
        times = []
        due = self.machine.next_timer()
        if due is not None and self._rests_until(due) is not None:
            times.append(self._origin + due / PS)
        if not self.protocol.runs.by_timers and self.rank == 0 and self._has_unstable():
            times.append(self._start_due())
        return min(times, default=None)

    def timers(self) -> dict[str, float]:
        """Return when each of its timers is due: the protocol's own, and the start of an execution."""
        due = self.machine.next_timer()
        times = {"protocol": math.inf, "start": math.inf}
        if due is not None and self._rests_until(due) is not None:
            times["protocol"] = self._origin + due / PS
        if not self.protocol.runs.by_timers and self.rank == 0 and self._has_unstable():
            times["start"] = self._start_due()
        return times

    def _rests_until(self, due: int) -> int | None:
        at = self._origin + due / PS
        return due if at <= self._awake_until or self._has_unstable() else None

    def _start_due(self) -> float:
        steps = RESTART_STEPS if self._running else 1
        return self._started_at + steps * self.pace.step

    def handle_timer(self, now: float) -> None:
        """Let what is due go off."""
        due = self.machine.next_timer()
        if due is not None and due <= self._ps(now) + ROUNDING_PS and self._rests_until(due) is not None:
            self._fired(max(self._origin + due / PS, self._woken_at), now)
            self._steer(now)
            self._handle(self.machine.handle_timer(max(self._ps(now), due)), now)
        self._start_if_due(now)

    def _start_if_due(self, now: float, *, at_once: bool = False) -> None:
        if self.protocol.runs.by_timers or self.rank != 0 or not self._has_unstable():
            return
        if now >= self._start_due() or (at_once and not self._running):
            if self._started_at > -math.inf and not self._running:
                self._fired(max(self._start_due(), self._needed_at), now)
                self._steer(now)
            self._started_at, self._running = now, True
            self._handle(self.machine.start(self._ps(now)), now)

    def _fired(self, due: float, now: float) -> None:
        came, self._came = self._came, 0
        self.pace.fired(due, now, came)

    def _steer(self, now: float) -> None:
        """Give the machine the times in force: when the step has changed, and as round trips are known."""
        if self.pace.step == self._step_in_force and now < self._resend_known_at + RESEND_KNOWN_S:
            return
        self._step_in_force = self.pace.step
        self._resend_s, self._resend_known_at = self.pace.resend(), now
        for name, ps in times_of(self.protocol, self._step_in_force, self._resend_s).items():
            setattr(self.machine.me.params, name, ps)

    def _measure(self, now: float) -> None:
        """End a probe whose part is stable, and begin the next one if a part is not."""
        steering = self.pace.steering
        assert steering is not None
        if steering.look(self.stable, now):
            self.pace.follow(steering.step_s)
        if not steering.is_measuring:
            me = self.machine.me
            unstable = np.flatnonzero(me.received > me.stable)
            if unstable.size:
                source = int(unstable[0])
                steering.begin(source, self.bases[source] + int(me.received[source]), now)

    def _wake(self, now: float) -> None:
        if self._awake_until < now:
            self._woken_at = now
        self._awake_until = now + max(AWAKE_STEPS * self.pace.step, AWAKE_RESENDS * self._resend_s)

    def _has_unstable(self) -> bool:
        if self._unstable is None:
            me = self.machine.me
            unstable = me.received > me.stable
            if self._is_heard is not None:
                unstable &= self._is_heard
            known = self._known_to_exist.items()
            self._unstable = bool(unstable.any()) or any(part > self.stable[k] for k, part in known)
        return self._unstable

    # What the machine wants

    def _handle(self, sends: list[Sent], now: float) -> None:
        """Send what a call of the machine made, its own copies included, and take over what it learned."""
        self._note(now)
        if sends:
            self._send_all(sends, now)
        if self.pace.steering is not None:
            self._measure(now)

    def _send_all(self, sends: list[Sent], now: float) -> None:
        waiting, need = deque(sends), self._has_unstable()
        before: Sent | None = None
        while waiting:
            sent = waiting.popleft()
            if sent.dest != self.rank:
                if before is None or not _says_the_same(sent, before):
                    packed = self._claims.pack(sent.kind, sent.array)
                    frame = Stability(self.view, sent.kind, list(sent.numbers), *packed, need)
                self._send(frame, sent.dest)
                before = sent
                self.sends += 1
            if sent.dest in (GROUP, self.rank):
                own = Received(sent.kind, self.rank, sent.numbers, sent.array)
                waiting.extend(self.machine.receive(own, self._ps(now)))
                self._note(now)

    def _note(self, now: float) -> None:
        if self.machine.learned:
            stable = self.machine.me.stable
            risen = np.flatnonzero(stable > self._noted)
            if risen.size:
                self._noted[risen] = stable[risen]
                for source in risen.tolist():
                    self.stable[source] = self.bases[source] + int(stable[source])
                self._claims.rose(risen)
                self._unstable = None
                self.rose = True
                self.pace.progressed()
        if self.machine.finished:
            self._running = False
            self._needed_at = now


def _says_the_same(sent: Sent, before: Sent) -> bool:
    """Tell whether a message says what the one before it says, to another member."""
    return sent.kind == before.kind and sent.numbers == before.numbers and sent.array is before.array
