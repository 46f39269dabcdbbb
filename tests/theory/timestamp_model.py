"""Acknowledgements played out one tick at a time, straight from Figure 1 of the timestamp paper; Figure 3.

Nothing here knows a closed form.  A scenario says at which ticks each sender sends and each receiver
acknowledges, and how long every single message takes; the run tells when senders knew what to be stable, and
stops at once if they knew too early (theorem 1a, and theorem 2a for what others sent).
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any


class Receiver:
    """The right half of Figure 1: the last timestamp of each sender, and the smallest of them."""

    def __init__(self, senders: Iterable[int]) -> None:
        self.vector = dict.fromkeys(senders, 0)

    def receive(self, sender: int, stamp: int) -> bool:
        """Take a message in; tell whether it is delivered."""
        if stamp <= self.vector[sender]:
            return False
        self.vector[sender] = stamp
        return True

    def acknowledgement(self) -> int:
        return min(self.vector.values())


class Sender:
    """The left half of Figure 1: messages not known to be stable, and each receiver's acknowledgement."""

    def __init__(self, receivers: Iterable[int]) -> None:
        self.acks = dict.fromkeys(receivers, 0)
        self.buffer: list[int] = []

    def send(self, stamp: int) -> None:
        self.buffer.append(stamp)

    def acknowledged(self, receiver: int, value: int) -> list[int]:
        """Take an acknowledgement in; return the timestamps of what leaves the buffer."""
        self.acks[receiver] = max(self.acks[receiver], value)
        least = min(self.acks.values())
        gone = [stamp for stamp in self.buffer if stamp <= least]
        self.buffer = [stamp for stamp in self.buffer if stamp > least]
        return gone


@dataclass
class Scenario:
    """What happens, in whole ticks."""

    sends: list[list[int]]
    """The ticks at which each sender sends."""
    acknowledges: list[list[int]]
    """The ticks at which each receiver acknowledges."""
    message_delay: Callable[[int, int, int], int]
    """How long sender s's message number k takes to receiver r; later ones never overtake it."""
    ack_delay: Callable[[int, int, int], int | None]
    """How long acknowledgement number k of receiver r takes to sender s, None if it is lost."""
    connected: list[list[bool]]
    offsets: list[int] = field(default_factory=list)
    """By how much each sender's clock is ahead, when clocks are physical."""
    protocol: str = "timestamp"
    """Or ``vector``: a sender looks only at its own entry."""
    clock: str = "physical"
    """Or ``logical``: ticks at every send, rises to what comes in; acknowledgements carry the receiver's.
    Or ``hybrid``: as ``logical``, but never behind the sender's physical clock; receivers only pass it on."""
    same_nodes: bool = False
    """Whether sender i and receiver i share a clock."""
    acks_first: bool = True
    """Whether an acknowledgement leaves before what arrives at the same tick: the worst that may happen."""


@dataclass(frozen=True)
class Known:
    """One message: when it was sent, and when its sender knew it to be stable."""

    sender: int
    sent: int
    stable: int

    @property
    def latency(self) -> int:
        return self.stable - self.sent


class _Run:
    def __init__(self, scenario: Scenario) -> None:
        self.of = scenario
        count, width = len(scenario.sends), len(scenario.acknowledges)
        pairs = scenario.connected
        self.receivers_of = [[r for r in range(width) if pairs[s][r]] for s in range(count)]
        self.senders_of = [[s for s in range(count) if pairs[s][r]] for r in range(width)]
        self.senders = [Sender(group) for group in self.receivers_of]
        self.receivers = [Receiver(group) for group in self.senders_of]
        self.sender_clock = [0] * count
        self.receiver_clock = self.sender_clock if scenario.same_nodes else [0] * width
        self.sent_at: list[dict[int, int]] = [{} for _ in range(count)]
        self.delivered: list[set[tuple[int, int]]] = [set() for _ in range(width)]
        self.messages: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self.acks: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
        self.last_arrival: dict[tuple[int, int], int] = defaultdict(int)
        self.due = [set(ticks) for ticks in scenario.sends]
        self.ack_due = [{tick: k for k, tick in enumerate(ticks)} for ticks in scenario.acknowledges]
        self.known: list[Known] = []

    def tick(self, now: int) -> None:
        if self.of.acks_first:
            self.acknowledge(now)
        self.send(now)
        for s, r, stamp in self.messages.pop(now, []):
            self.receiver_clock[r] = max(self.receiver_clock[r], stamp)
            if self.receivers[r].receive(s, stamp):
                self.delivered[r].add((s, stamp))
        if not self.of.acks_first:
            self.acknowledge(now)
        for r, s, value, clock in self.acks.pop(now, []):
            self.sender_clock[s] = max(self.sender_clock[s], clock)
            before = min(self.senders[s].acks.values())
            for stamp in self.senders[s].acknowledged(r, value):
                self.known.append(Known(s, self.sent_at[s][stamp], now))
                assert all((s, stamp) in self.delivered[q] for q in self.receivers_of[s]), "theorem 1a"
            if self.of.protocol == "timestamp" and min(self.senders[s].acks.values()) > before:
                self.check_what_others_sent(s)

    def send(self, now: int) -> None:
        for s, due in enumerate(self.due):
            if now not in due:
                continue
            time = now + 1 + (self.of.offsets[s] if self.of.offsets else 0)
            after = self.sender_clock[s] + 1
            stamp = {"physical": time, "logical": after, "hybrid": max(after, time)}[self.of.clock]
            self.sender_clock[s] = stamp
            self.senders[s].send(stamp)
            self.sent_at[s][stamp] = now
            for r in self.receivers_of[s]:
                arrival = now + self.of.message_delay(s, r, len(self.sent_at[s]) - 1)
                arrival = max(arrival, self.last_arrival[s, r])
                self.last_arrival[s, r] = arrival
                self.messages[arrival].append((s, r, stamp))

    def acknowledge(self, now: int) -> None:
        for r, due in enumerate(self.ack_due):
            if now not in due:
                continue
            self.receiver_clock[r] += self.of.clock == "logical"
            for s in self.senders_of[r]:
                delay = self.of.ack_delay(r, s, due[now])
                vector = self.of.protocol == "vector"
                value = self.receivers[r].vector[s] if vector else self.receivers[r].acknowledgement()
                if delay is not None:
                    self.acks[now + delay].append((r, s, value, self.receiver_clock[r]))

    def check_what_others_sent(self, s: int) -> None:
        least = min(self.senders[s].acks.values())
        for r in self.receivers_of[s]:
            for q in self.senders_of[r]:
                due = {(q, stamp) for stamp in self.sent_at[q] if stamp <= least}
                assert due <= self.delivered[r], "theorem 2a"


def run(scenario: Scenario, until: int) -> list[Known]:
    """Play a scenario; return every message that its sender came to know as stable."""
    state = _Run(scenario)
    for now in range(until):
        state.tick(now)
    return state.known


def worst_latency(
    message: Sequence[Sequence[int]],
    ack: Sequence[Sequence[int]],
    t_send: int,
    t_ack: int,
    sender: int,
    *,
    connected: Sequence[Sequence[bool]] | None = None,
    offsets: Sequence[int] = (),
    protocol: str = "timestamp",
    clock: str = "physical",
    acks_first: bool = True,
) -> int:
    """Return a sender's longest latency over all phases of the other senders and of all receivers.

    The sender itself sends at every tick, so that its messages meet every phase; all others pause as long as
    they may.
    """
    count, width = len(message), len(ack)
    pairs = [list(row) for row in connected] if connected else [[True] * width for _ in range(count)]
    skew = max(offsets) - min(offsets) if offsets else 0
    longest = max(map(max, message)) + max(map(max, ack)) + 2 * (t_send + t_ack) + skew
    first, last = longest, longest + t_send * t_ack
    until = last + 3 * longest
    others = [s for s in range(count) if s != sender]
    worst = 0
    for phases in product(*[range(t_send)] * len(others), *[range(t_ack)] * width):
        sends = [list(range(until)) for _ in range(count)]
        for s, phase in zip(others, phases, strict=False):
            sends[s] = list(range(phase, until, t_send))
        scenario = Scenario(
            sends=sends,
            acknowledges=[list(range(phase, until, t_ack)) for phase in phases[len(others) :]],
            message_delay=lambda s, r, k: message[s][r],
            ack_delay=lambda r, s, k: ack[r][s],
            connected=pairs,
            offsets=list(offsets),
            protocol=protocol,
            clock=clock,
            acks_first=acks_first,
        )
        measured = [one for one in run(scenario, until) if one.sender == sender and first <= one.sent < last]
        assert len(measured) == last - first, "every message of the window becomes stable"
        worst = max(worst, *(one.latency for one in measured))
    return worst


Case = tuple[list[list[int]], list[list[int]], int, int, list[list[bool]]]
"""Latencies of messages and of acknowledgements, t_send, t_ack, who is connected."""


def at_random(case: Case, seed: int, lost: int, until: int, **more: Any) -> Scenario:
    """Pauses and latencies up to the longest ones; of acknowledgements up to `lost` in a row are lost."""
    message, ack, t_send, t_ack, pairs = case
    chance = random.Random(seed)
    lost_in_a_row: dict[tuple[int, int], int] = defaultdict(int)

    def ticks(pause: int) -> list[int]:
        at, all_ticks = chance.randrange(pause), []
        while at < until:
            all_ticks.append(at)
            at += chance.randint(1, pause)
        return all_ticks

    def ack_delay(r: int, s: int, k: int) -> int | None:
        if lost_in_a_row[r, s] < lost and chance.random() < 0.5:
            lost_in_a_row[r, s] += 1
            return None
        lost_in_a_row[r, s] = 0
        return chance.randint(0, ack[r][s])

    return Scenario(
        sends=[ticks(t_send) for _ in message],
        acknowledges=[ticks(t_ack) for _ in ack],
        message_delay=lambda s, r, k: chance.randint(0, message[s][r]),
        ack_delay=ack_delay,
        connected=pairs,
        **more,
    )


TAKE: dict[str, Callable[[int, int], int]] = {
    "ignored": lambda clock, stamp: clock,
    "largest": max,
    "above": lambda clock, stamp: max(clock, stamp + 1),
    "an event": lambda clock, stamp: max(clock, stamp) + 1,
}


class Figure3:
    """Two senders, two receivers, nothing lost; what ticks is to be chosen."""

    def __init__(self, receive: str, carries: str, ack_ticks: bool, take_ack: str) -> None:
        self.receive, self.carries, self.ack_ticks, self.take_ack = receive, carries, ack_ticks, take_ack
        self.senders, self.receivers = [Sender([0, 1]) for _ in "12"], [Receiver([0, 1]) for _ in "12"]
        self.clocks, self.receiver_clocks = [0, 0], [0, 0]

    def send(self, s: int) -> int:
        self.clocks[s] += 1
        self.senders[s].send(self.clocks[s])
        for r, receiver in enumerate(self.receivers):
            self.receiver_clocks[r] = TAKE[self.receive](self.receiver_clocks[r], self.clocks[s])
            receiver.receive(s, self.clocks[s])
        return self.clocks[s]

    def acknowledge(self) -> list[int]:
        values = [receiver.acknowledgement() for receiver in self.receivers]
        self.receiver_clocks = [clock + self.ack_ticks for clock in self.receiver_clocks]
        for r, receiver in enumerate(self.receivers):
            vector = receiver.vector.values()
            carried = {"clock": self.receiver_clocks[r], "smallest": min(vector), "largest": max(vector)}
            for s, sender in enumerate(self.senders):
                self.clocks[s] = TAKE[self.take_ack](self.clocks[s], carried[self.carries])
                sender.acknowledged(r, values[r])
        return values

    @property
    def buffers(self) -> list[list[int]]:
        return [sender.buffer for sender in self.senders]
