"""What to simulate of a live group: its members, their network, what they send, and what happens to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.engine.attached import members_most
from stablecast.engine.auto import GOALS, SOONEST
from stablecast.engine.choice import check_receivers
from stablecast.engine.degrees import AUTO
from stablecast.engine.options import POLICIES, Options
from stablecast.engine.pace import PaceOptions
from stablecast.errors import InvalidInput
from stablecast.membership.view import PATTERNS_MOST
from stablecast.multicast.delivery import RELIABLE
from stablecast.protocols.contract import Protocol
from stablecast.simulate.costs import Costs
from stablecast.simulate.faults import Schedule, read_schedule
from stablecast.simulate.knobs import NETWORK, RUN, check_knobs, knob
from stablecast.simulate.source_trees import SHARED_TREE
from stablecast.simulate.topologies import Topology

LIVE = "Live members"
STARTS = ("joined", "joining")
DELIVERS = ("received", "stable", "nothing")


@dataclass(frozen=True, kw_only=True)
class Membership:
    """What each member of the group is told: as in ``stablecast.join``."""

    buffer_bytes: int = knob(
        Options.buffer_bytes, "Most bytes of unstable messages, of all senders together.", panel=LIVE
    )
    delivery: str = knob(
        RELIABLE,
        "How messages come to all: reliable, or bimodal, with values such as bimodal:p_fail=0.0001.",
        panel=LIVE,
    )
    deliver: str = knob(
        Options.deliver,
        "When members deliver a message: received, stable, or nothing.",
        panel=LIVE,
        words=lambda: DELIVERS,
    )
    policy: str = knob(
        Options.policy,
        "Who keeps what: everyone until it is stable (until-stable), or a few (two-buffers).",
        panel=LIVE,
        words=lambda: POLICIES,
    )
    copies: int = knob(
        Options.copies, "Members that keep a message until it is stable, with two-buffers.", panel=LIVE
    )
    short_s: float = knob(
        Options.short_s, "Seconds for which the others keep it, with two-buffers.", panel=LIVE, above=0
    )
    fail_after: float = knob(
        Options.fail_after, "Seconds of silence after which a member counts as failed.", panel=LIVE, above=0
    )
    alive_every: float = knob(
        Options.alive_every, "Seconds between two rounds of signs of life.", panel=LIVE, above=0
    )
    pace_step_s: float | None = knob(
        None,
        "Seconds between two steps of the protocol; with --adaptive the least.",
        panel=LIVE,
        above=0,
        implied="by the group's size",
    )
    adaptive: bool = knob(
        False, "Let the first member search for a good step while the group runs.", panel=LIVE
    )
    trigger_bytes: int = knob(
        PaceOptions.trigger_bytes,
        "Unstable bytes that begin a step of the protocol before its time.",
        panel=LIVE,
        least=1,
    )
    fan_out: str = knob(
        AUTO,
        "Who sends the copies of what goes to all: the sender (direct), it so many and those who get them the"
        " rest (a number), or one or the other by the size of the group (auto).",
        panel=LIVE,
    )
    goal: str = knob(
        SOONEST,
        "What a group with protocol auto, which decides at view changes, looks for: soonest or least-bytes.",
        panel=LIVE,
        words=lambda: GOALS,
    )
    largest: int = knob(1400, "Most bytes of a datagram.", panel=LIVE, least=512, most=65_000)

    def __post_init__(self) -> None:
        check_knobs(self)


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """One run, whole: the same set-up and seed give the same run everywhere."""

    protocol: str | Protocol
    """A name of the registry, the path of a file that defines one, or a protocol itself."""
    topology: Topology
    costs: Costs
    params: Mapping[str, Any] = field(default_factory=dict)
    """Options of the protocol, by the names and in the units of ``stablecast simulate``."""
    membership: Membership = field(default_factory=Membership)
    senders: int | None = None
    receivers: int | None = None
    seed: int = 0
    rate_per_s: float = 10.0
    data_bytes: int = 1000
    faults: str = ""
    loss_until_ms: float | None = None
    routes: str = "hops"
    multicast_tree: str = SHARED_TREE
    seconds: float = knob(10.0, "Simulated seconds for which the senders send.", panel=RUN, above=0)
    settle_s: float = knob(
        60.0,
        "Further simulated seconds, at most, until everything that was sent is stable.",
        panel=RUN,
        least=0,
    )
    start: str = knob(
        "joined",
        "How members begin: joined, all in one view; joining, each through the first one.",
        panel=LIVE,
        words=lambda: STARTS,
    )
    ip_multicast: bool = knob(
        False, "What goes to all is one datagram on the network's multicast tree.", panel=NETWORK
    )
    timer_us: float = knob(
        0.0,
        "Microseconds in whole ones of which members wait for their timers, as event loops do (1000: those of"
        " asyncio on Linux); 0 for exact timers.",
        panel=LIVE,
        least=0,
    )
    cores: int = knob(
        0,
        "Processor cores that all members share, as processes of one machine do; 0: each member has a"
        " processor of its own.",
        panel=LIVE,
        least=0,
    )
    clock_skew_ms: float = knob(
        0.0,
        "Most that the clocks on two members' walls differ; protocols with hybrid clocks read them.",
        panel=LIVE,
        least=0,
    )
    encrypted: bool = knob(
        False,
        "Seal datagrams with a cipher, as members do: slower, with the same result.",
        panel=RUN,
    )

    def __post_init__(self) -> None:
        check_knobs(self)
        members = self.schedule.initial
        if self.cores and (self.costs.hosts_free or self.costs.host_model != "serial"):
            raise InvalidInput(
                f"cores {self.cores} are not accepted with hosts that take no time or have several processors"
                " (accepted: --host-model serial, and --send-us above 0)"
            )
        if self.senders is not None and not 1 <= self.senders <= members:
            raise InvalidInput(
                f"{self.senders} senders in a group of {members} members (accepted: 1 to {members})"
            )
        if self.receivers is not None:
            self._check_receivers(self.receivers, members)
        most = members_most(self.options.choice, self.membership.largest)
        if most and self.topology.member_count > most:
            raise InvalidInput(
                f"{self.options.protocol_name} has groups of {most} members at most with datagrams of"
                f" {self.membership.largest} bytes (accepted: fewer members, or a larger --largest)"
            )

    def _check_receivers(self, receivers: int, members: int) -> None:
        if not 1 <= receivers < members:
            raise InvalidInput(
                f"{receivers} receivers of each sender in a group of {members} members (accepted: 1 to"
                f" {members - 1}, or none for all)"
            )
        if self.schedule.initial < self.topology.member_count:
            raise InvalidInput(
                "receivers are drawn among members that are there from the start (leave joins out)"
            )
        if self.sender_count > PATTERNS_MOST:
            raise InvalidInput(
                f"members can name {PATTERNS_MOST} senders to receive from, and {self.sender_count} send"
                f" (accepted: --senders up to {PATTERNS_MOST}, or no receivers)"
            )
        if self.options.choice is None:
            raise InvalidInput("receivers are not accepted with bimodal delivery (accepted: no receivers)")
        check_receivers(self.options.choice.protocol)

    def receives(self, names: Sequence[str]) -> list[bool | list[str]]:
        """Return what each member receives: of each sender, so many others do, drawn by the seed."""
        if self.receivers is None:
            return [True] * len(names)
        rng = np.random.default_rng([self.seed, 0x61756469])
        heard: list[bool | list[str]] = [[] for _ in names]
        for sender in self.sender_members().tolist():
            others = np.delete(np.arange(len(names)), sender)
            for member in sorted(rng.choice(others, self.receivers, replace=False).tolist()):
                of_member = heard[member]
                assert isinstance(of_member, list)
                of_member.append(names[sender])
        return heard

    @cached_property
    def options(self) -> Options:
        """What every member is told; names and zones are added by who makes the members."""
        told = self.membership
        return Options(
            group="simulated",
            protocol=self.protocol,
            protocol_options=dict(self.params),
            buffer_bytes=told.buffer_bytes,
            delivery=told.delivery,
            deliver=told.deliver,
            policy=told.policy,
            copies=told.copies,
            short_s=told.short_s,
            fail_after=told.fail_after,
            alive_every=told.alive_every,
            fan_out=told.fan_out,
            goal=told.goal,
            pace=PaceOptions(
                step_s=told.pace_step_s, adaptive=told.adaptive, trigger_bytes=told.trigger_bytes
            ),
        )

    @cached_property
    def schedule(self) -> Schedule:
        """The faults, read."""
        return read_schedule(self.faults, self.topology.member_count, pauses=True)

    def zone_of(self, member: int) -> str:
        """Return the zone that a member is in: its site, if the network has sites."""
        return f"site{self.topology.sites[member]}" if self.topology.sites else ""

    @property
    def sender_count(self) -> int:
        """Number of members that send; of those that are there from the start."""
        return self.schedule.initial if self.senders is None else self.senders

    def sender_members(self) -> NDArray[np.int64]:
        """Return the members that send, spread evenly over the group, member 0 first."""
        return np.arange(self.sender_count) * self.schedule.initial // self.sender_count
