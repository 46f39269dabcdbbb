"""What to simulate: a protocol on a topology with costs, and the traffic and trigger around it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput, unknown_name
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols.contract import Protocol, Sizes
from stablecast.simulate.costs import Costs
from stablecast.simulate.faults import CRASH, LEAVE, Schedule, read_schedule, with_detector
from stablecast.simulate.routes import POLICIES
from stablecast.simulate.topologies import Topology
from stablecast.theory.epidemic import spread_rounds

TRIGGERS = ("immediate", "periodic", "pressure")
PLACEMENTS = ("network", "random")
CASTS = ("multicast", "unicast")
TRACKED_ENTRIES_MAX = 16_000_000
TRACKED_ALWAYS = 64
KEPT_FOR = 0.001
"""Messages are kept for as many rounds as it takes until, from a single member, all but this share of them
have come to everyone."""


def sender_members(setup: Setup) -> NDArray[np.int64]:
    """Return the members that send, spread evenly over the group, member 0 first."""
    senders = setup.sender_count
    return np.arange(senders) * setup.topology.member_count // senders


def sender_columns(setup: Setup) -> NDArray[np.int64]:
    """Return the column that each sender's messages are numbered in."""
    senders = setup.sender_count
    return np.arange(senders) * setup.column_count // senders


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Data messages that the senders multicast while the protocol runs."""

    messages: int = 0
    """Messages of each sender; 0 for none."""
    rate_per_s: float = 10.0
    """Messages per second of each sender while its buffer has room."""
    data_bytes: int = 1000
    """Payload of a message; the header comes on top."""
    buffer: int = 64
    """Unstable messages that a sender may have before it has to wait (the paper's g)."""
    data_loss: float = 0.0
    """Probability that a receiver loses a multicast data message (the paper's 1 - alpha)."""
    nak_ms: float = 50.0
    """How long a receiver waits before it asks again for a missing message."""
    heartbeat_ms: float = 100.0
    """How long an idle sender with unstable messages waits before it repeats its last number."""
    sender_groups: int | None = None
    """Number of sequences that the senders share; None for one each."""
    piggyback_ms: float = 0.0
    """How long a stability message may wait to ride on a data message; 0 for no riding."""

    def __post_init__(self) -> None:
        for name in (
            "messages",
            "rate_per_s",
            "data_bytes",
            "data_loss",
            "nak_ms",
            "heartbeat_ms",
            "piggyback_ms",
        ):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidInput(f"{name} {value} is not accepted (accepted: a finite number, 0 or more)")
        for name in ("rate_per_s", "nak_ms", "heartbeat_ms", "buffer"):
            if getattr(self, name) <= 0:
                raise InvalidInput(
                    f"{name} {getattr(self, name)} is not accepted (accepted: a number above 0)"
                )
        if self.data_loss >= 1:
            raise InvalidInput(f"data_loss {self.data_loss} lets nothing through (accepted: 0 to below 1)")


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """When the first member starts an execution."""

    kind: str = "immediate"
    """``immediate``: one after the other; ``periodic``: by ``period_ms``; ``pressure``: at ``threshold``."""
    executions: int | None = None
    """How many; None for one without data traffic, and with it for as many as make everything stable."""
    period_ms: float = 100.0
    """Time between starts of the periodic trigger (the papers' Δ)."""
    threshold: int = 32
    """Messages in the first member's output buffer that start an execution (the paper's X)."""
    retry_ms: float = 0.0
    """Start anew when an execution is not over after this time; 0 for never."""

    def __post_init__(self) -> None:
        if self.kind not in TRIGGERS:
            raise unknown_name("trigger", self.kind, TRIGGERS)
        if self.executions is not None and self.executions < 1:
            raise InvalidInput(f"{self.executions} executions are not accepted (accepted: 1 or more)")
        if not math.isfinite(self.period_ms) or self.period_ms <= 0:
            raise InvalidInput(
                f"period_ms {self.period_ms} is not accepted (accepted: a finite number above 0)"
            )
        if self.threshold < 1:
            raise InvalidInput(f"threshold {self.threshold} is not accepted (accepted: 1 or more)")
        if not math.isfinite(self.retry_ms) or self.retry_ms < 0:
            raise InvalidInput(
                f"retry_ms {self.retry_ms} is not accepted (accepted: a finite number, 0 or more)"
            )


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run, whole: the same set-up and seed give the same run everywhere."""

    protocol: str | Protocol
    """A name of the registry, or a protocol of one's own."""
    topology: Topology
    costs: Costs = field(default_factory=Costs)
    senders: int | None = None
    """Members that send; None for all."""
    receivers: int | None = None
    """Members that each sender's messages are for, drawn by the seed; None for all."""
    seed: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    trigger: Trigger = field(default_factory=Trigger)
    changed_only: bool = False
    """Count only changed entries of an array on the wire, each with its place."""
    tracked: int | None = None
    """Senders whose numbers are simulated; None for all, or as many as fit the memory without traffic."""
    loss_until_ms: float | None = None
    """When losses end; None for never."""
    until_ms: float | None = None
    """Give up at this simulated time; None for never."""
    params: Mapping[str, int] = field(default_factory=dict)
    """The protocol's own parameters, by name; those that are not given have its defaults."""
    omissions: int = 0
    """Messages of a protocol that runs by timers that are dropped at their senders in each step."""
    stop_at_first: bool = False
    """End the run when the first member knows the result of the last execution."""
    admit_per_round: int = 0
    """Admission control: members that may join in one round, the others wait for the next; 0 for any."""
    faults: str = ""
    """What happens to members, see :mod:`stablecast.simulate.faults`."""
    detect_ms: float = 0.0
    """How long after a crash a failure detector tells all others of it; negative for never."""
    placement: str | None = None
    """How members are numbered: along the ``network`` or at ``random``; None as the protocol has it."""
    cast: str | None = None
    """How a message to all travels: ``multicast`` or ``unicast``; None as the protocol or network has it."""
    routes: str = "hops"
    """Which way messages take on a graph: fewest ``hops`` or least ``delay``."""
    sample_ms: float = 1.0
    """How often the messages on all links are counted."""

    def __post_init__(self) -> None:
        members = self.topology.member_count
        self._check_protocol()
        self._check_network()
        if self.senders is not None and not 1 <= self.senders <= members:
            raise InvalidInput(
                f"{self.senders} senders in a group of {members} members (accepted: 1 to {members})"
            )
        self._check_data()
        groups = self.traffic.sender_groups
        if groups is not None and not 1 <= groups <= self.sender_count:
            raise InvalidInput(
                f"{groups} sender groups of {self.sender_count} senders (accepted: 1 to {self.sender_count})"
            )
        if not 0 <= self.seed < 2**63:
            raise InvalidInput(f"seed {self.seed} is not accepted (accepted: 0 to 2^63 - 1)")
        if self.loss_until_ms is not None and not (
            math.isfinite(self.loss_until_ms) and self.loss_until_ms >= 0
        ):
            raise InvalidInput(f"loss_until_ms {self.loss_until_ms} is not accepted (accepted: 0 or more)")
        if self.until_ms is not None and not (math.isfinite(self.until_ms) and self.until_ms > 0):
            raise InvalidInput(f"until_ms {self.until_ms} is not accepted (accepted: a number above 0)")
        if self.trigger.kind == "pressure":
            self._check_pressure()
        if groups is not None and (self.costs.link_loss > 0 or self.costs.queue_limit > 0):
            raise InvalidInput(
                "sender groups need links that lose nothing (leave out link_loss and queue_limit)"
            )
        endless = self.trigger.executions is None and not self.found_protocol.autonomous
        if self.trigger.kind == "immediate" and self.traffic.messages > 0 and endless:
            raise InvalidInput("with data traffic the immediate trigger needs a number of executions")
        if self.tracked is not None and not 1 <= self.tracked <= self.column_count:
            raise InvalidInput(
                f"tracked {self.tracked} of {self.column_count} numbers (accepted: 1 to {self.column_count})"
            )
        if self.traffic.messages > 0 and self.tracked not in (None, self.column_count):
            raise InvalidInput("with data traffic every sender is tracked (leave tracked out)")

    def _check_protocol(self) -> None:
        protocol = self.found_protocol
        protocol.parameter_values(self.params)
        if protocol.check is not None:
            protocol.check(self.sizes)
        if self.omissions < 0:
            raise InvalidInput(f"{self.omissions} omissions are not accepted (accepted: 0 or more)")
        if self.admit_per_round < 0:
            raise InvalidInput(
                f"admit_per_round {self.admit_per_round} is not accepted (accepted: 0 or more)"
            )
        if self.changed_only and protocol.side(self.sizes) > 0:
            raise InvalidInput(f"{protocol.name} sends more than arrays (leave changed_only out)")
        joins = self.schedule.initial < self.topology.member_count
        if joins and self.param("threshold", 0) == 0:
            raise InvalidInput(
                f"members cannot join later in {protocol.name} (accepted: gsgc with a threshold above 0)"
            )
        if protocol.autonomous and self.trigger.kind != "immediate":
            raise InvalidInput(f"{protocol.name} needs no trigger (leave trigger out)")

    def _check_data(self) -> None:
        protocol, members = self.found_protocol, self.topology.member_count
        if self.receivers is not None:
            if not 1 <= self.receivers < members:
                raise InvalidInput(
                    f"{self.receivers} receivers of each sender in a group of {members} members (accepted:"
                    f" 1 to {members - 1}, or none for all)"
                )
            if not protocol.groups_may_differ:
                raise InvalidInput(f"{protocol.name} needs all members as receivers (leave receivers out)")
        if protocol.delivers and self.traffic.messages > 0:
            raise InvalidInput(f"{protocol.name} sends messages itself (give them as its parameter)")
        if protocol.roundless and not protocol.delivers:
            if self.traffic.messages == 0:
                raise InvalidInput(f"{protocol.name} acknowledges data (give messages above 0)")
            if self.trigger.executions is not None:
                raise InvalidInput(f"{protocol.name} has no executions (leave executions out)")
            if self.traffic.sender_groups is not None:
                raise InvalidInput(f"{protocol.name} needs numbers of each sender (leave sender_groups out)")
            if self.traffic.piggyback_ms > 0:
                raise InvalidInput(f"{protocol.name} has nothing that rides (leave piggyback_ms out)")

    def _check_network(self) -> None:
        for what, value, accepted in (
            ("placement", self.placement, PLACEMENTS),
            ("cast", self.cast, CASTS),
            ("routes", self.routes, POLICIES),
        ):
            if value is not None and value not in accepted:
                raise unknown_name(what, value, accepted)
        if not (math.isfinite(self.sample_ms) and self.sample_ms >= 0.001):
            raise InvalidInput(f"sample_ms {self.sample_ms} is not accepted (accepted: 0.001 or more)")
        if not math.isfinite(self.detect_ms):
            raise InvalidInput(f"detect_ms {self.detect_ms} is not accepted (accepted: a finite number)")
        if self.changed_only and self.guarded:
            raise InvalidInput(
                "changed_only needs messages that come once and members that stay"
                " (leave it out, or resend_ms, duplicate, reorder and faults)"
            )
        fails = any(fault.what in (CRASH, LEAVE) for fault in self.schedule.faults)
        if fails and self.param("resend", 0) > 0 and not self.is_told and self.until_ms is None:
            raise InvalidInput("resends to members that are gone go on for ever (give until_ms or detect_ms)")

    def _check_pressure(self) -> None:
        if self.traffic.messages == 0:
            raise InvalidInput("the pressure trigger needs data traffic (give messages above 0)")
        if self.trigger.threshold > self.column_buffer:
            raise InvalidInput(
                f"threshold {self.trigger.threshold} is never reached by a buffer of {self.column_buffer}"
                f" messages (accepted: 1 to {self.column_buffer})"
            )

    @property
    def found_protocol(self) -> Protocol:
        """The protocol itself, found by its name where only that was given."""
        return find_protocol(self.protocol) if isinstance(self.protocol, str) else self.protocol

    @cached_property
    def schedule(self) -> Schedule:
        """The faults, read, with what a failure detector tells of them."""
        read = read_schedule(self.faults, self.topology.member_count)
        return with_detector(read, self.topology.member_count, self.detect_ms) if self.is_told else read

    @property
    def is_told(self) -> bool:
        """Whether members are told of crashes."""
        return self.found_protocol.told and self.detect_ms >= 0

    @property
    def placed(self) -> str:
        """How members are numbered."""
        return self.placement or self.found_protocol.placement

    @property
    def one_by_one(self) -> bool:
        """Whether a message to all is one message to each."""
        return (self.cast or self.found_protocol.cast or self.topology.cast) == "unicast"

    @property
    def guarded(self) -> bool:
        """Whether messages may come twice, be sent again, or their senders be gone."""
        comes_twice = self.costs.has_detours or self.param("resend", 0) > 0
        return comes_twice or bool(self.schedule.faults)

    @property
    def param_values(self) -> tuple[int, ...]:
        """The protocol's parameters, in its order."""
        given = dict(self.params)
        names = [parameter.name for parameter in self.found_protocol.parameters]
        if "initial" in names and self.schedule.initial < self.topology.member_count:
            given["initial"] = self.schedule.initial
        if "rounds" in names:
            given["rounds"] = self.execution_count
        if "name_bytes" in names:
            given["name_bytes"] = self.costs.entry_bytes
        if "keep_rounds" in names and given.get("keep_rounds", 0) == 0:
            given["keep_rounds"] = spread_rounds(max(self.topology.member_count, 2), KEPT_FOR)
        return self.found_protocol.parameter_values(given)

    def param(self, name: str, default: int) -> int:
        """Return a parameter's value, or the default for a protocol that has none of that name."""
        names = [parameter.name for parameter in self.found_protocol.parameters]
        return self.param_values[names.index(name)] if name in names else default

    @property
    def sizes(self) -> Sizes:
        """What the sizes of the protocol's arrays and messages follow from."""
        return Sizes(
            self.topology.member_count,
            self.tracked_count,
            self.column_count,
            self.costs.entry_bytes,
            self.param_values,
            self.guarded,
            tuple(sender_members(self).tolist()) if self.column_count == self.sender_count else (),
            self.audiences,
        )

    @cached_property
    def audiences(self) -> tuple[tuple[int, ...], ...]:
        """For each sender, the members that its messages are for; empty if that is everyone."""
        if self.receivers is None:
            return ()
        rng = np.random.default_rng([self.seed, 0x61756469])
        members, drawn = self.topology.member_count, []
        for leader in sender_members(self).tolist():
            others = np.delete(np.arange(members), leader)
            drawn.append(tuple(sorted(rng.choice(others, self.receivers, replace=False).tolist())))
        return tuple(drawn)

    @property
    def protocol_name(self) -> str:
        """The protocol's name."""
        return self.protocol if isinstance(self.protocol, str) else self.protocol.name

    @property
    def sender_count(self) -> int:
        """Number of members that send."""
        return self.topology.member_count if self.senders is None else self.senders

    @property
    def column_count(self) -> int:
        """Number of sequences on the wire: one for each sender, or for each group of senders."""
        groups = self.traffic.sender_groups
        return self.sender_count if groups is None else groups

    @property
    def column_buffer(self) -> int:
        """Messages of one sequence that may be unstable: the buffers of all senders that share it."""
        return self.traffic.buffer * -(-self.sender_count // self.column_count)

    @property
    def tracked_count(self) -> int:
        """Number of sequences whose values are simulated."""
        if self.tracked is not None:
            return self.tracked
        columns, members = self.column_count, self.topology.member_count
        if self.traffic.messages > 0 or columns <= TRACKED_ALWAYS:
            return columns
        return min(columns, max(1, TRACKED_ENTRIES_MAX // members))

    @property
    def execution_count(self) -> int:
        """Executions to run, 0 for as many as make all data stable."""
        if self.trigger.executions is not None:
            return self.trigger.executions
        return 0 if self.traffic.messages > 0 else 1

    @property
    def lossy(self) -> bool:
        """Whether anything can get lost."""
        losing = self.costs.link_loss > 0 or self.costs.queue_limit > 0 or self.traffic.data_loss > 0
        return losing or self.faulty

    @property
    def faulty(self) -> bool:
        """Whether members come and go, or may be taken for gone."""
        return bool(self.schedule.faults) or self.param("threshold", 0) > 0

    def replace(self, **changes: object) -> Setup:
        """Return the same set-up with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
