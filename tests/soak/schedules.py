"""Fault schedules: everything that befalls a group in one run on the in-memory network, drawn from a seed.

    schedule = make_schedule(7)
    print(schedule)

A schedule says what the group is like, what its network does all the time, and what happens when: the same
seed gives the same run, so a run that went wrong is told by its seed alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any

from stablecast.engine.choice import live_protocols, takes_receivers
from stablecast.engine.degrees import AUTO
from stablecast.protocols import protocol as find_protocol
from tests.soak.faults import BEGIN_S, Fault, draw_faults
from tests.soak.link_model import LinkModel, draw_links

SIZES = {"2-7": ((2, 7), 0.8), "8-16": ((8, 16), 0.14), "30-60": ((30, 60), 0.06)}
"""Members at the beginning, at least and at most, and the share of schedules."""
CROWD = "more"
"""Members of a schedule that is larger, see ``crowds``."""
START_EVERY_S = 0.02
"""Between the starts of two processes that do not start together."""

SMALL, LARGE, HUGE, LARGEST = (0, 1, 20, 100, 400), (3_000, 9_000), (70_000,), 1 << 20
RELAYS = 1 / 3
"""The share of schedules in which members relay, in groups of any size."""
DATAGRAMS = (512, 1_400, 1_400, 8_000)
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "cubefulldist": ({"links": "compensated"}, {"links": "plain"}),
    "gsgc": ({"subgroup": 1}, {"subgroup": 8}),
    "gsgc-local": ({"local_size": 2, "controllers": 1}, {"controllers": 1}, {"subgroup": 4}),
    "s_coord": ({"tree_degree": 1}, {"tree_degree": 3}),
    "s_coordp": ({"tree_degree": 1}, {"tree_degree": 3}),
    "s_train": ({"tree_degree": 1}, {"tree_degree": 3}),
    "timestamp": ({"ack_to": "senders"}, {"clock": "hybrid"}),
    "transitive": ({"know": "own"},),
    "vector": ({"ack_to": "senders"}, {"know": "own"}),
}
"""Options that protocols are tried with beside their defaults."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One run."""

    seed: int
    protocol: str
    options: tuple[tuple[str, Any], ...]
    """Of the protocol."""
    members: int
    """Processes at the beginning."""
    is_together: bool
    """Whether all start at once, with the first two as everyone's contacts, and not one after the other."""
    messages: int
    """Messages that each process sends."""
    senders: float
    """The share of processes that send."""
    burst: int
    """Messages that it sends at a time."""
    gap_s: float
    """Mean time between two bursts."""
    sizes: tuple[int, ...]
    """Bytes that a message may have; each is as probable as the others."""
    deliver: str
    copies: int | None
    """Members that keep a message until it is stable, after a short while; None if all do."""
    buffer_bytes: int
    queue_messages: int
    """Deliveries that wait for an application before no more is taken in."""
    history_bytes: int
    """What each member keeps for newcomers, who then ask for it."""
    is_keyed: bool
    """Whether the group has a key."""
    largest: tuple[int, ...]
    """Bytes of a datagram, at most; processes have one or the other."""
    socket_datagrams: int
    """Datagrams that wait for a process that does not take them."""
    loss: float
    calm_loss: float
    """Loss after the faults have ended."""
    duplicate: float
    reorder: float
    delay_s: tuple[float, float]
    drift: float
    """By which share of it a process's clock is faster or slower than time, at most."""
    patience: float
    """By how much all waits of membership are multiplied."""
    step_s: float
    """Time between two steps of the stability protocol."""
    exclude_after_s: float | None
    """After which a member that holds messages back is left out."""
    evicts: bool
    """Whether one that was left out again and again is banned for a while."""
    receivers_differ: bool
    """Whether each process says whether it sends, and from whom it receives."""
    supervisor_s: float | None
    """After which a process that crashed, was cut off or could not join is started again; None: never."""
    links: LinkModel | None
    """What datagrams travel over; None if each takes a time of its own."""
    zones: int
    """Zones that members are in; 0 for none."""
    fan_out: str | int
    """Who sends the copies of what goes to all: in a part of the schedules others pass them on."""
    adaptive: bool
    """Whether the first member of a view searches for a good step."""
    faults: tuple[Fault, ...]
    """In the order in which they begin."""

    @property
    def ends_at_s(self) -> float:
        """When the last fault is over."""
        return max((fault.ends_at_s for fault in self.faults), default=BEGIN_S)

    @property
    def fail_after_s(self) -> float:
        """Silence after which a member counts as failed."""
        return 3.0 * self.patience

    @property
    def has_own_clocks(self) -> bool:
        """Whether processes' clocks differ from time."""
        return bool(self.drift) or any(fault.kind == "jump" for fault in self.faults)

    @property
    def size(self) -> str:
        """Which class of sizes the group is of."""
        return next((name for name, ((_, most), _) in SIZES.items() if self.members <= most), CROWD)

    @property
    def traits(self) -> frozenset[str]:
        """What is special about it beside its protocol and size: kinds of faults, and how the group is."""
        is_so = {
            "drift": self.drift > 0,
            "1MiB": LARGEST in self.sizes,
            "supervised": self.supervisor_s is not None,
            "keyed": self.is_keyed,
            "two-buffers": self.copies is not None,
            "history": self.history_bytes > 0,
            "short-queue": self.queue_messages < 100,
            "small-buffer": self.buffer_bytes < 1 << 20,
            "options": bool(self.options),
            "mixed-datagrams": len(self.largest) > 1,
            "512-byte-datagrams": min(self.largest) == 512,
            "duplicates": self.duplicate > 0,
            "reordering": self.reorder > 0,
            "evicts": self.evicts and self.exclude_after_s is not None,
            "together": self.is_together,
            "zones": self.zones > 0,
            "adaptive": self.adaptive,
            "relays": isinstance(self.fan_out, int),
            "hybrid-clocks": ("clock", "hybrid") in self.options,
            "receivers-differ": self.receivers_differ,
            f"deliver-{self.deliver}": True,
            "calm": not self.faults,
            "queues": self.links is not None,
            "shared-links": self.links is not None and self.links.is_shared,
        }
        return frozenset(fault.kind for fault in self.faults) | {name for name, so in is_so.items() if so}

    @property
    def plan(self) -> str:
        """Tell in one line what is special."""
        kinds = {fault.kind for fault in self.faults}
        options = ",".join(f"{name}={value}" for name, value in self.options)
        group = f"{self.protocol}({options}) x {self.members}"
        faults = "; ".join(map(str, self.faults)) or "no fault"
        return f"seed {self.seed}: {group}, {' '.join(sorted(self.traits - kinds))}: {faults}"

    def __str__(self) -> str:
        """Tell all of it, a line for each fault."""
        named = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[:-1]]
        return "\n".join([", ".join(named), *(f"  {fault}" for fault in self.faults)])


def make_schedule(seed: int) -> Schedule:
    """Draw a schedule; protocols take turns with seeds."""
    rng, later = random.Random(f"schedule {seed}"), random.Random(f"later {seed}")
    names = live_protocols()
    protocol = names[seed % len(names)]
    members = _members(rng)
    patience = rng.choice((0.2, 0.25, 0.3, 0.5, 1.0))
    loss = rng.choice((0.0, 0.02, 0.1, 0.25))
    sizes = _sizes(rng, members)
    copies = rng.choice((None, None, None, None, 1, 3))
    is_together = rng.random() < 0.2
    begin_s = BEGIN_S + (0.0 if is_together else START_EVERY_S * max(0, members - 16))
    faults = draw_faults(rng, 3.0 * patience, begin_s)
    messages = _messages(rng, max(sizes), members)
    links = draw_links(seed, members, messages * sum(sizes) / len(sizes))
    lasts_s = max((fault.ends_at_s for fault in faults), default=BEGIN_S)
    fan_out, relayed_zones = _fan_out(seed)
    return Schedule(
        seed=seed,
        protocol=protocol,
        options=_options(rng, protocol),
        members=members,
        is_together=is_together,
        messages=messages,
        senders=1.0 if members < 30 else rng.choice((0.1, 0.3)),
        burst=rng.choice((1, 1, 3, 10)),
        gap_s=rng.choice((0.02, 0.1, lasts_s / messages)),
        sizes=sizes,
        deliver=rng.choice(("received", "received", "stable", "nothing")) if copies is None else "received",
        copies=copies,
        buffer_bytes=rng.choice((64 << 10, 64 << 10, 256 << 10, 64 << 20)),
        queue_messages=rng.choice((5, 50, 100_000)),
        history_bytes=rng.choice((0, 0, 0, 2_000, 1 << 20)),
        is_keyed=rng.random() < 0.5 or any(fault.kind == "rotate" for fault in faults),
        largest=_datagrams(rng, members),
        socket_datagrams=rng.choice((20, 1_000)),
        loss=loss,
        calm_loss=rng.choice((0.0, min(loss, 0.1))),
        duplicate=rng.choice((0.0, 0.1, 0.4)),
        reorder=rng.choice((0.0, 0.2, 0.5)),
        delay_s=rng.choice(((0.0002, 0.0002), (0.0005, 0.002), (0.002, 0.02))),
        drift=rng.choice((0.0, 0.0, 0.01, 0.1)),
        patience=patience,
        step_s=members * rng.choice((0.003, 0.006, 0.012)),
        exclude_after_s=rng.choice((None, None, 3.0 * patience)),
        evicts=rng.random() < 0.3,
        receivers_differ=_receivers_differ(seed, protocol),
        supervisor_s=rng.choice((None, None, None, None, 0.0, 0.05)),
        links=links,
        zones=later.choice((0, 2, 3)) if protocol == "gsgc-local" else relayed_zones,
        fan_out=fan_out,
        adaptive=later.random() < 0.15,
        faults=faults,
    )


def _members(rng: random.Random) -> int:
    ranges = [span for span, _ in SIZES.values()]
    return rng.randint(*rng.choices(ranges, [share for _, share in SIZES.values()])[0])


def _messages(rng: random.Random, largest: int, members: int) -> int:
    """Draw how much each process sends; the larger messages and groups are, the fewer there are of them."""
    if members >= 30:
        return rng.randint(1, 5)
    if largest in HUGE or largest == LARGEST:
        return rng.randint(2, 6)
    return rng.randint(3, 15) if largest in LARGE or members > 7 else rng.randint(10, 60)


def _sizes(rng: random.Random, members: int) -> tuple[int, ...]:
    sizes = rng.sample(SMALL, rng.randint(1, 3))
    kind = rng.random()
    if kind < 0.1 and members < 30:
        return (*sizes, *sizes, LARGEST)
    if kind < 0.3:
        sizes.append(rng.choice(LARGE))
    if kind < 0.2 and members < 30:
        sizes.append(rng.choice(HUGE))
    return tuple(sizes)


def _datagrams(rng: random.Random, members: int) -> tuple[int, ...]:
    """Draw how large datagrams are: large enough for what a protocol attaches for a large group."""
    drawn = rng.sample(DATAGRAMS, 2) if rng.random() < 0.1 else [rng.choice(DATAGRAMS)]
    least = 1_400 if members > 7 else 0
    return tuple(sorted({max(least, size) for size in drawn}))


def _receivers_differ(seed: int, protocol: str) -> bool:
    """Draw whether processes receive from some senders alone; apart from all else that a seed decides."""
    return takes_receivers(find_protocol(protocol)) and random.Random(f"receivers {seed}").random() < 0.35


def _fan_out(seed: int) -> tuple[str | int, int]:
    """Draw whether members pass on what goes to all, and zones if so; apart from all else."""
    rng = random.Random(f"fan-out {seed}")
    if rng.random() >= RELAYS:
        return AUTO, 0
    return rng.choice((1, 2, 2, 3)), rng.choice((0, 0, 2))


def draw_part(seed: int, name: str, turn: int = 0) -> tuple[bool, bool | tuple[str, ...]]:
    """Draw whether the processes of a name send, and from whom they receive, the first time or later."""
    sends = random.Random(f"sends {seed} {name}").random() < 0.8
    rng = random.Random(f"receives {seed} {name} {turn}")
    names = [f"m{k}" for k in range(8)]
    some = (*rng.sample(names, rng.randint(1, 4)), *rng.sample(("j*", "m1?", "m[2-9]*"), rng.randint(0, 2)))
    kinds: list[bool | tuple[str, ...]] = [True, some, some, some]
    return sends, rng.choice([*kinds, False] if sends else kinds)


def _options(rng: random.Random, protocol: str) -> tuple[tuple[str, Any], ...]:
    known = OPTIONS.get(protocol)
    return tuple(rng.choice(known).items()) if known and rng.random() < 0.4 else ()
