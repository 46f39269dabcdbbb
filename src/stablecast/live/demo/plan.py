"""What a demo does, all of it drawn from its seed: who sends how much, who is killed, and when."""

from __future__ import annotations

import math
import random
import shlex
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from stablecast.engine.attached import members_most
from stablecast.engine.choice import Choice, absolute, read_options
from stablecast.engine.degrees import AUTO
from stablecast.engine.options import LARGEST_PAYLOAD, Options
from stablecast.errors import InvalidInput
from stablecast.live.injection import Injection
from stablecast.live.transport import LARGEST_ON_LOOPBACK
from stablecast.membership.capacity import ANY_NUMBER

GROUP = "demo"
MEMBERS_MOST = 64
LOSS_MOST = 0.5
TRAFFIC_S = 4.0
"""How long traffic takes if no rate is asked for."""
DEADLINE_S = 60.0
"""How long a demo may take beside its traffic."""
FIRST_KILL, LAST_KILL = 0.5, 0.8
"""Shares of the messages after which members are killed."""
AHEAD = 0.1
"""The share that may be sent beyond a kill before it is done, so that there is traffic after it too."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What may be asked of a demo."""

    members: int = 8
    messages: int = 2000
    """Of all members together."""
    loss: float = 0.1
    """How probably a datagram is lost on its way to one member."""
    kill: int = 1
    """Members that are killed."""
    protocol: str = "s_coord"
    """A name, or the path of a file that defines a protocol."""
    set: tuple[str, ...] = ()
    """Options of the protocol, each as ``name=value``."""
    zones: int = 0
    """Zones that members are in, one after the other; 0 for none."""
    adaptive: bool = False
    """Whether the first member searches for a good step."""
    fan_out: str = AUTO
    """Who sends the copies of what goes to all, as ``join`` takes it."""
    delivery: str = "reliable"
    """How messages come to all, as ``join`` takes it."""
    seed: int = 0
    size: int = 100
    """Bytes of a message."""
    rate: float | None = None
    """Messages a second, of all members together; None for what takes a few seconds."""
    duplicate: float = 0.0
    reorder: float = 0.0
    deadline: float | None = None
    """Seconds after which a demo has failed; None for a minute beside its traffic."""

    def __post_init__(self) -> None:
        _check_range("--members", self.members, 2, MEMBERS_MOST)
        _check_range("--messages", self.messages, 1, 10_000_000)
        _check_range("--loss", self.loss, 0, LOSS_MOST)
        # A part with less than half of the members would go on under another name.
        _check_range("--kill", self.kill, 0, self.members // 2)
        _check_range("--zones", self.zones, 0, self.members)
        _check_range("--seed", self.seed, 0, 2**63 - 1)
        _check_range("--size", self.size, 0, LARGEST_PAYLOAD)
        _check_range("--duplicate", self.duplicate, 0, 1)
        _check_range("--reorder", self.reorder, 0, 1)
        _check_range("--rate", 1 if self.rate is None else self.rate, 0.1, 10_000_000)
        _check_range("--deadline", 1 if self.deadline is None else self.deadline, 1, 86_400)
        most = members_most(self.choice, LARGEST_ON_LOOPBACK)
        if most != ANY_NUMBER:
            _check_range(f"--members with protocol '{self.told.protocol_name}'", self.members, 2, most)

    @cached_property
    def told(self) -> Options:
        """What every member is told of its group."""
        return Options(
            group=GROUP,
            protocol=absolute(self.protocol),
            protocol_options=self.protocol_options,
            delivery=self.delivery,
            fan_out=self.fan_out,
        )

    @property
    def choice(self) -> Choice | None:
        """The protocol with its options; None in bimodal delivery."""
        return self.told.choice

    @property
    def protocol_options(self) -> dict[str, Any]:
        """The options of the protocol as ``join`` takes them."""
        return read_options(absolute(self.protocol), self.set)

    @property
    def rate_per_s(self) -> float:
        """Messages a second, of all members together."""
        return self.messages / TRAFFIC_S if self.rate is None else self.rate

    @property
    def deadline_s(self) -> float:
        """Seconds after which the demo has failed."""
        if self.deadline is not None:
            return self.deadline
        return DEADLINE_S + 4 * self.messages / self.rate_per_s

    def command(self) -> str:
        """Return the command that does the same again."""
        words = ["stablecast", "demo"]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "set":
                words += [word for each in self.set for word in ("--set", each)]
            elif field.name == "adaptive":
                words += ["--adaptive"] if value else []
            elif value != field.default or field.name in ("members", "messages", "protocol", "seed"):
                words += [
                    f"--{field.name.replace('_', '-')}",
                    f"{value:g}" if isinstance(value, float) else str(value),
                ]
        return shlex.join(words)


def _check_range(what: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InvalidInput(f"{what} {value:,} is not accepted (accepted: {least:,} to {most:,})")


@dataclass(frozen=True)
class Kill:
    """A member that is killed once the members that live have this share of each other's messages."""

    member: str
    share: float


@dataclass(frozen=True)
class Plan:
    """Who does what."""

    options: DemoOptions
    shares: dict[str, int]
    """Messages of each member."""
    kills: tuple[Kill, ...]
    """In turn."""

    @property
    def names(self) -> list[str]:
        """The members' names."""
        return list(self.shares)

    @property
    def survivors(self) -> list[str]:
        """Who is not killed."""
        killed = {kill.member for kill in self.kills}
        return [name for name in self.shares if name not in killed]

    def allowance(self, name: str, kills_done: int) -> int:
        """Return how many messages a member may send until the next kill is done."""
        if kills_done >= len(self.kills):
            return self.shares[name]
        share = min(1.0, self.kills[kills_done].share + AHEAD)
        return math.ceil(self.shares[name] * share)

    def zone(self, name: str) -> str:
        """Return the zone that a member is in; empty if there are none."""
        options = self.options
        return f"zone{self.names.index(name) * options.zones // options.members + 1}" if options.zones else ""

    def injection(self, name: str) -> Injection:
        """Return the faults of what a member sends."""
        options = self.options
        place = self.names.index(name)
        return Injection(
            loss=options.loss,
            duplicate=options.duplicate,
            reorder=options.reorder,
            seed=options.seed * MEMBERS_MOST + place,
        )


def make_plan(options: DemoOptions) -> Plan:
    """Draw a demo's plan from its seed."""
    rng = random.Random(options.seed)
    width = len(str(options.members))
    names = [f"m{k:0{width}}" for k in range(1, options.members + 1)]
    each, more = divmod(options.messages, options.members)
    shares = {name: each + (k < more) for k, name in enumerate(names)}
    step = (LAST_KILL - FIRST_KILL) / max(options.kill, 1)
    kills = [
        Kill(name, FIRST_KILL + (k + 0.5 * rng.random()) * step if k else FIRST_KILL)
        for k, name in enumerate(rng.sample(names, options.kill))
    ]
    return Plan(options, shares, tuple(kills))


def payload_of(name: str, number: int, size: int) -> bytes:
    """Return a member's message of that number; no two are alike if there is room for that."""
    word = f"{name}:{number} ".encode()
    return (word * (size // len(word) + 1))[:size]
