"""The processes of a fault schedule: an engine each, and an application that sends, reads and is checked."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

from stablecast.engine.keys import Keyring
from stablecast.engine.options import Options
from stablecast.engine.pace import PaceOptions
from stablecast.engine.results import Delivery, Event, Settled, ViewChanged
from stablecast.live.driver import Driver
from stablecast.membership.actions import Timing
from stablecast.membership.slow_members import SlowPolicy
from stablecast.membership.view import Address
from stablecast.testing.endpoint import MemoryTransport
from tests.soak.history import HistoryRequest
from tests.soak.schedules import Schedule, draw_part
from tests.soak.strangers import SealWatch
from tests.soak.watched import Watched
from tests.soak.witness import Knowledge, Witness

GROUP = "soak"
FULL_AGAIN_S = 0.01
"""After which a message is tried again that may not be sent yet."""
SHORT_S = 0.05
"""How long all keep a message where only few keep it until it is stable."""
CHANGING_SHARE = 0.4
CHANGES_WITHIN_S = 4.0
"""When processes come to receive from others, where they do."""
WALL_S = 1e8
"""How far times of day are apart at most."""
SET_S = 3600.0
"""By how much clocks on the wall are wrong, and set, at most."""

Say = Callable[[str], None]
Ended = Callable[["Player", str], None]
"""Is told that a process crashed, was cut off, or could not join: what its supervisor sees."""


def options_of(schedule: Schedule, name: str) -> Options:
    """Return what a process of a schedule is told."""
    patience = schedule.patience
    usual = Timing()
    timing = Timing(**{field: getattr(usual, field) * patience for field in Timing.__dataclass_fields__})
    slow = SlowPolicy(
        lagging_after=patience,
        exclude_after=schedule.exclude_after_s,
        evict_after=2 if schedule.evicts else None,
        ban=3 * patience,
    )
    sends, receives = draw_part(schedule.seed, name) if schedule.receivers_differ else (True, True)
    return Options(
        group=GROUP,
        sends=sends,
        receives=receives,
        protocol=schedule.protocol,
        protocol_options=dict(schedule.options),
        member=name,
        buffer_bytes=schedule.buffer_bytes,
        deliver=schedule.deliver,
        policy="until-stable" if schedule.copies is None else "two-buffers",
        copies=schedule.copies or 1,
        short_s=SHORT_S,
        queue_messages=schedule.queue_messages,
        history_bytes=schedule.history_bytes,
        fail_after=schedule.fail_after_s,
        alive_every=0.25 * patience,
        fan_out=schedule.fan_out,
        zone=f"zone{sum(name.encode()) % schedule.zones}" if schedule.zones else "",
        pace=PaceOptions(step_s=schedule.step_s, adaptive=schedule.adaptive),
        timing=timing,
        slow=slow,
    )


class Player:
    """One process; it is the engine's listener."""

    def __init__(
        self,
        name: str,
        schedule: Schedule,
        transport: MemoryTransport,
        knowledge: Knowledge,
        say: Say,
        *,
        ring: Keyring | None = None,
        ended: Ended = lambda player, why: None,
    ) -> None:
        self.name = name
        self.schedule = schedule
        self.transport = transport
        self.ring = ring
        self.witness = Witness(name, knowledge)
        self._rng = random.Random(f"{schedule.seed} {name} {transport.seed}")
        transport.largest = self._rng.choice(schedule.largest)
        self.engine = Watched(
            options_of(schedule, name),
            address=transport.address,
            largest=transport.largest,
            rng=random.Random(transport.seed),
            now=transport.now(),
            keyring=ring,
            time_offset_s=self._rng.uniform(0, WALL_S),
            witness=self.witness,
        )
        self.driver = Driver(self.engine, transport, self)
        self.witness.engine, self.witness.own_time = self.engine, transport.now
        SealWatch(self.engine.mail.seal, self.witness.complain)
        self._set_wall_clock(random.Random(f"wall {schedule.seed} {name} {transport.seed}"))
        self.left_to_send = schedule.messages if self._rng.random() < schedule.senders else 0
        if not self.engine.options.sends:
            self.left_to_send = 0
        self.is_leaving = False
        self.has_ended = False
        """Whether it has crashed, left, or could not join."""
        self.could_not_join = ""
        """Why, if it could not."""
        self.is_slow = False
        """Whether its application takes nothing at present."""
        self._say = say
        self._ended = ended
        self._queue: deque[int] = deque()
        self._is_reading = False
        self._is_sending = False
        self._history: HistoryRequest | None = None
        self._size = self._draw_size()

    def _set_wall_clock(self, rng: random.Random) -> None:
        """Have the clock on the wall wrong, and set it again now and then, forward and back."""
        self.transport.clock_ahead_s = rng.uniform(-SET_S, SET_S)
        if self.engine.reads_time_of_day:
            at = self.transport.now() + rng.uniform(0.1, 2.0)
            self.transport.call_at(at, lambda: self._set_wall_clock(rng))

    def start(self, contacts: list[Address]) -> None:
        """Join through contacts, or begin alone; some come to receive from others after a while."""
        self.driver.start(contacts)
        if self.schedule.receivers_differ and self._rng.random() < CHANGING_SHARE:
            at = self.transport.now() + self._rng.random() * CHANGES_WITHIN_S
            self.transport.call_at(at, self._receive_from_others)

    def _receive_from_others(self) -> None:
        _, receives = draw_part(self.schedule.seed, self.name, turn=1)
        if not self.has_ended and not self.is_leaving and (receives or self.engine.options.sends):
            self.driver.receive_from(receives)

    # What befalls it

    def crash(self) -> None:
        """End without a word."""
        self.transport.crash()
        self.witness.crashed()
        self.end()
        self._ended(self, "crashed")

    def end(self) -> None:
        """Do nothing any more."""
        self.has_ended = True
        self.driver.close()

    def leave(self) -> None:
        """Leave the group; when it goes on, if it is paused."""
        self.is_leaving = True
        self.transport.call_at(self.transport.now(), self.driver.leave)

    def rotate(self, ring: Keyring) -> None:
        """Take other keys."""
        self.ring = ring
        self.engine.rotate(ring)

    def read_again(self) -> None:
        """Take deliveries again after a while without."""
        self.is_slow = False
        self._read_soon()

    # Sending

    def _draw_size(self) -> int:
        return self._rng.choice(self.schedule.sizes)

    def send_one_more(self) -> None:
        """Send another message when all were sent, if it sends at all."""
        if not self.engine.options.sends:
            return
        self.left_to_send += 1
        self._size = 1
        self.transport.call_at(self.transport.now(), self._send_some)

    def _send_some(self) -> None:
        """Send a burst, as far as there is room, and come back for the rest or for the next one."""
        if self.has_ended or self.is_leaving:
            return
        engine, sent = self.engine, 0
        while sent < self.schedule.burst and self.left_to_send and engine.own.may_send(self._size):
            payload = self._rng.randbytes(self._size)
            self.witness.is_about_to_send(payload)
            engine.own.send(payload, self.transport.now())
            self.left_to_send -= 1
            sent += 1
            self._size = self._draw_size()
        if sent:
            self.driver.flush()
        if self.left_to_send:
            wait = self._rng.expovariate(1 / self.schedule.gap_s) if sent else FULL_AGAIN_S
            self.transport.call_at(self.transport.now() + wait, self._send_some)

    # The engine's news

    def deliver(self, batch: list[Delivery]) -> None:
        """Take messages."""
        for delivery in batch:
            self.witness.deliver(delivery)
        self._queue.append(len(batch))
        self._read_soon()

    def _read_soon(self) -> None:
        if self._queue and not self._is_reading and not self.is_slow:
            self._is_reading = True
            self.transport.call_at(self.transport.now(), self._read)

    def _read(self) -> None:
        self._is_reading = False
        if not self.is_slow and not self.has_ended:
            count = sum(self._queue)
            self._queue.clear()
            self.driver.consumed(count)

    def tell(self, event: Event) -> None:
        """Take an event."""
        self._say(f"{self.name}: {event}")
        if isinstance(event, ViewChanged):
            self._ask_history()
            if not self._is_sending:
                self._is_sending = True
                self.transport.call_at(self.transport.now() + self._rng.random() / 10, self._send_some)
        elif isinstance(event, Settled):
            self._ended(self, "cut off")

    def went_on(self) -> None:
        """Look what became of one's own messages."""
        self.witness.judge_outcomes()
        if self._history is not None:
            self._history.go_on()

    def _ask_history(self) -> None:
        """As a newcomer, ask for what was sent before."""
        if self.schedule.history_bytes and self._history is None and self.engine.counters.views == 1:
            self._history = HistoryRequest(self.driver, self.witness)

    def join_failed(self, tried: tuple[Address, ...], reason: str) -> None:
        """Give up; the run starts another process in its place."""
        self._say(f"{self.name}: cannot join: {reason}")
        self.could_not_join = reason
        self.end()
        self._ended(self, "could not join")

    def has_left(self, reason: str) -> None:
        """Be gone."""
        self._say(f"{self.name}: {reason}")
        self.end()

    def failed(self, error: Exception) -> None:
        """Let the run end: the engine, or what a witness has seen in it, is broken."""
        raise error

    @property
    def is_idle(self) -> bool:
        """Whether it has sent everything, has nothing unstable, and has read all that came."""
        here = self.engine.in_view
        if here is None or self.left_to_send or self.engine.backlog.waiting:
            return False
        if not self.engine.agreement.receives_as_wanted:
            return False
        return not any(stream.kept or stream.ahead for stream in here.data.streams)
