"""What to simulate: a protocol on a topology with costs, and the traffic and trigger around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.protocols import protocol as find_protocol
from stablecast.protocols import protocol_names
from stablecast.protocols.contract import Protocol, Role, Sizes
from stablecast.simulate.connecting import changes_of, drawn_changes, with_connections
from stablecast.simulate.costs import Costs
from stablecast.simulate.faults import CRASH, LEAVE, Schedule, read_schedule, with_detector
from stablecast.simulate.knobs import FAULTS, NETWORK, RUN, STRUCTURE, TRAFFIC, TRIGGER, check_knobs, knob
from stablecast.simulate.routes import POLICIES
from stablecast.simulate.senders import sender_members
from stablecast.simulate.source_trees import SHARED_TREE, TREES
from stablecast.simulate.topologies import Topology

PIGGYBACKS = ("all", "bytes", "time", "both")
TRIGGERS = ("immediate", "periodic", "pressure")
NEAR = "near"
PLACEMENTS = ("network", "random", NEAR)
RELAY = "relay"
CASTS = ("multicast", "unicast", RELAY)
TRACKED_ENTRIES_MAX = 16_000_000
TRACKED_ALWAYS = 64
SEED_MAX = 2**63 - 1


def _joinable() -> str:
    """Return which protocols members can join while they run, and with what."""
    free = protocol_names(lambda found: found.hears_of_joins)
    names = protocol_names(lambda found: found.having(Role.INITIAL) and not found.hears_of_joins)
    options = {p.option_name for name in names for p in find_protocol(name).having(Role.SILENCE)}
    return f"accepted: {', '.join(free)}; {', '.join(names)} with {', '.join(sorted(options))} above 0"


def _read_rate(word: str) -> float:
    try:
        rate = float(word)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise InvalidInput(f"first_rates_per_s has {word!r} (accepted: numbers above 0, as in '1000,50')")
    return rate


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Data messages that the senders multicast while the protocol runs."""

    messages: int = knob(
        0,
        "Data messages that each sender multicasts; 0 for no data traffic, except for protocols that are of"
        " no use without it.",
        panel=TRAFFIC,
        least=0,
    )
    rate_per_s: float = knob(
        10.0, "Messages per second of each sender, while its buffer has room.", panel=TRAFFIC, above=0
    )
    first_rates_per_s: str = knob(
        "",
        "Messages per second of the first senders, where they differ: '1000' or '1000,50'. They send for as"
        " long as the others, and so more or fewer messages.",
        panel=TRAFFIC,
    )
    data_bytes: int = knob(
        1000, "Payload of a data message in bytes; the header comes on top.", panel=TRAFFIC, least=0
    )
    buffer: int = knob(
        64, "Unstable messages that a sender may have before it has to wait.", panel=TRAFFIC, above=0
    )
    data_loss: float = knob(
        0.0,
        "Probability that a receiver loses a multicast data message.",
        panel=TRAFFIC,
        least=0,
        below=1,
    )
    nak_ms: float = knob(
        50.0,
        "Milliseconds that a receiver waits before it asks again for a missing message.",
        panel=TRAFFIC,
        above=0,
    )
    heartbeat_ms: float = knob(
        100.0,
        "Milliseconds that an idle sender with unstable messages waits before it repeats its last number.",
        panel=TRAFFIC,
        above=0,
    )
    sender_groups: int | None = knob(
        None, "Number of sequences that the senders share.", panel=TRAFFIC, implied="one for each sender"
    )
    piggyback_ms: float = knob(
        0.0,
        "Milliseconds that a stability message may wait to travel inside a data message; 0 for never.",
        panel=TRAFFIC,
        least=0,
    )
    piggyback: str = knob(
        "all",
        "Which stability messages travel inside data: all; those that save bytes on all hops, or time of all"
        " hosts, by that; or those that save one of both and lose neither.",
        panel=TRAFFIC,
        words=lambda: PIGGYBACKS,
    )

    def __post_init__(self) -> None:
        check_knobs(self)
        _ = self.first_rates  # refuses what is no rate

    @cached_property
    def first_rates(self) -> tuple[float, ...]:
        """The rates of the first senders, read."""
        words = self.first_rates_per_s.split(",") if self.first_rates_per_s else []
        return tuple(_read_rate(word) for word in words)

    @property
    def interval_ps(self) -> int:
        """Picoseconds between two messages of a sender."""
        return max(1, round(1e12 / self.rate_per_s))


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """When the first member starts an execution."""

    kind: str = knob(
        "immediate",
        "When the first member starts an execution: immediate, one after the other; periodic, every"
        " --period-ms; pressure, when its output buffer has --threshold messages.",
        panel=TRIGGER,
        option="trigger",
        words=lambda: TRIGGERS,
        implied="periodic with data traffic, otherwise immediate",
    )
    executions: int | None = knob(
        None,
        "Executions of the protocol.",
        panel=TRIGGER,
        least=1,
        implied="1, or with data traffic as many as make everything stable",
    )
    period_ms: float = knob(
        100.0, "Milliseconds between two starts of the periodic trigger.", panel=TRIGGER, above=0
    )
    threshold: int = knob(
        32,
        "Messages in the first member's output buffer at which the pressure trigger starts an execution.",
        panel=TRIGGER,
        least=1,
    )
    retry_ms: float = knob(
        0.0,
        "Milliseconds after which an execution that is not over is started anew; 0 for never.",
        panel=TRIGGER,
        least=0,
    )

    def __post_init__(self) -> None:
        check_knobs(self)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run, whole: the same set-up and seed give the same run everywhere."""

    protocol: str | Protocol
    """A name of the registry, the path of a file that defines one, or a protocol itself."""
    topology: Topology
    costs: Costs = field(default_factory=Costs)
    senders: int | None = knob(None, "Members that send data.", panel=NETWORK, implied="all members")
    receivers: int | None = knob(
        None,
        "Members that each sender's messages are for, drawn by the seed, without the sender itself.",
        panel=NETWORK,
        implied="all members",
    )
    seed: int = knob(0, "The seed of everything that is drawn at random.", panel=RUN, least=0, most=SEED_MAX)
    traffic: Traffic = field(default_factory=Traffic)
    delivery: Traffic | None = None
    """For a protocol that delivers messages itself, what it sends; None for its defaults."""
    trigger: Trigger = field(default_factory=Trigger)
    changed_only: bool = knob(
        False,
        "Send only those entries of an array that have changed, each with its place.",
        panel=TRAFFIC,
    )
    tracked: int | None = knob(
        None,
        "Senders whose sequence numbers are simulated; all are counted on the wire.",
        panel=RUN,
        implied="all, or without data traffic as many as fit the memory",
    )
    loss_until_ms: float | None = knob(
        None, "Simulated milliseconds at which losses end.", panel=FAULTS, least=0, implied="never"
    )
    until_ms: float | None = knob(
        None, "Simulated milliseconds at which the run is given up.", panel=RUN, above=0, implied="never"
    )
    params: Mapping[str, Any] = field(default_factory=dict)
    """The protocol's own parameters by the names and in the units of its options, ``{"resend_ms": 20}``;
    those that are not given have its defaults."""
    omissions: int = knob(
        0,
        "Messages of a protocol that runs by timers that are dropped at their senders in each step.",
        panel=FAULTS,
        least=0,
    )
    stop_at_first: bool = knob(
        False, "End the run when the first member knows the result of the last execution.", panel=RUN
    )
    faults: str = knob(
        "",
        "What happens to members, with times in milliseconds: 'crash 3 at 5000; leave 4,7 at 6000; join 2 at"
        " 9000; partition 0-49 from 1000 to 8000; connect 7 to 0 at 500; disconnect 7 from 0 at 900; drop"
        " 3 by 0 at 950'.",
        panel=FAULTS,
    )
    detect_ms: float = knob(
        0.0,
        "Milliseconds after a crash or a join at which all other members are told of it, and after the end of"
        " a connection at which its other side is; below 0 for never.",
        panel=FAULTS,
    )
    detect_spread_ms: float = knob(
        0.0,
        "Each member is told up to so many milliseconds later, drawn by the seed.",
        panel=FAULTS,
        least=0,
    )
    connects_per_s: float = knob(
        0.0,
        "Receivers that connect to a sender in a second, in the whole group, drawn by the seed while senders"
        " have something to send; besides those of --receivers.",
        panel=FAULTS,
        least=0,
    )
    connected_ms: float = knob(
        500.0,
        "Milliseconds after which such a receiver disconnects, on average; drawn by the seed.",
        panel=FAULTS,
        above=0,
    )
    placement: str | None = knob(
        None,
        "How members are numbered: along the network; at random; or near, so that members that the protocol"
        " links are close to each other in the network.",
        panel=STRUCTURE,
        words=lambda: PLACEMENTS,
        implied="as the protocol has it",
    )
    cast: str | None = knob(
        None,
        "How a message to all travels: multicast, hop by hop along a tree; unicast, one message to each;"
        " relay, from member to member along the protocol's own tree.",
        panel=NETWORK,
        words=lambda: CASTS,
        implied="as the protocol or the network has it",
    )
    routes: str = knob(
        "hops",
        "Which way messages take on a graph: fewest hops, or least delay.",
        panel=NETWORK,
        words=lambda: POLICIES,
    )
    multicast_tree: str = knob(
        SHARED_TREE,
        "Which tree a multicast takes on a graph: one shared by all sources, or one for each source, of"
        " shortest paths.",
        panel=NETWORK,
        words=lambda: TREES,
    )
    sample_ms: float = knob(
        1.0, "Milliseconds between two counts of the messages on all links.", panel=RUN, least=0.001
    )

    def __post_init__(self) -> None:
        members = self.topology.member_count
        check_knobs(self)
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
        if self.trigger.kind == "pressure":
            self._check_pressure()
        costs = self.costs
        if groups is not None and (costs.link_loss > 0 or costs.queue_limit > 0 or costs.duplicate > 0):
            raise InvalidInput(
                "sender groups need links that lose and repeat nothing"
                " (leave out link_loss, queue_limit and duplicate)"
            )
        endless = self.trigger.executions is None and not self.found_protocol.runs.by_timers
        if self.trigger.kind == "immediate" and self.traffic.messages > 0 and endless:
            raise InvalidInput("with data traffic the immediate trigger needs a number of executions")
        if self.tracked is not None and not 1 <= self.tracked <= self.column_count:
            raise InvalidInput(
                f"tracked {self.tracked} of {self.column_count} numbers (accepted: 1 to {self.column_count})"
            )
        if self.traffic.messages > 0 and self.tracked not in (None, self.column_count):
            raise InvalidInput("with data traffic every sender is tracked (leave tracked out)")
        self.found_protocol.check_sizes(self.sizes)

    def _check_protocol(self) -> None:
        protocol = self.found_protocol
        if self.cast == RELAY and not protocol.having(Role.RELAY):
            raise InvalidInput(f"{protocol.name} cannot relay (accepted: cast multicast or unicast)")
        if self.placed == NEAR and protocol.links is None:
            raise InvalidInput(
                f"{protocol.name} has no links between members that could be near"
                " (accepted: placement network or random)"
            )
        silence = self.param(Role.SILENCE, 0)  # refuses parameters that are not accepted
        if self.changed_only and protocol.declaration.row_width(self.sizes) > self.tracked_count:
            raise InvalidInput(f"{protocol.name} sends more than arrays (leave changed_only out)")
        if self.schedule.initial < self.topology.member_count:
            self._check_joins(silence)
        if self.param(Role.FILL, 0) > 0 and self.traffic.messages == 0:
            option = protocol.having(Role.FILL)[0].option_name
            raise InvalidInput(f"{option} needs data traffic (give messages above 0)")
        self._check_connections()
        if protocol.runs.by_timers and self.trigger.kind != "immediate":
            raise InvalidInput(f"{protocol.name} needs no trigger (leave trigger out)")

    def _check_connections(self) -> None:
        if not self.has_channels:
            return
        if not self.found_protocol.connects:
            names = ", ".join(protocol_names(lambda found: found.connects))
            raise InvalidInput(
                f"receivers cannot connect to senders in {self.protocol_name} (accepted: {names})"
            )
        if self.receivers is None:
            raise InvalidInput("receivers connect to senders that they do not receive from (give receivers)")

    def _check_joins(self, silence: int) -> None:
        protocol = self.found_protocol
        if silence == 0 and not protocol.hears_of_joins:
            raise InvalidInput(f"members cannot join later in {protocol.name} ({_joinable()})")
        late = [m for m in sender_members(self).tolist() if m >= self.schedule.initial]
        if protocol.runs.delivers and late:
            raise InvalidInput(
                f"member {late[0]} sends, and cannot join later in {protocol.name} (accepted: senders among"
                f" members 0 to {self.schedule.initial - 1})"
            )

    def _check_data(self) -> None:
        protocol, members = self.found_protocol, self.topology.member_count
        first = len((self.delivery or self.traffic).first_rates)
        if first and protocol.runs.delivers:
            raise InvalidInput(
                f"all senders of {protocol.name} have the same rate (leave first_rates_per_s out)"
            )
        if first > self.sender_count:
            raise InvalidInput(
                f"first_rates_per_s has {first} rates for {self.sender_count} senders (accepted: as many or"
                " fewer)"
            )
        if self.receivers is not None:
            if not 1 <= self.receivers < members:
                raise InvalidInput(
                    f"{self.receivers} receivers of each sender in a group of {members} members (accepted:"
                    f" 1 to {members - 1}, or none for all)"
                )
            if not protocol.runs.groups_may_differ:
                raise InvalidInput(f"{protocol.name} needs all members as receivers (leave receivers out)")
        if protocol.runs.delivers and self.traffic.messages > 0:
            raise InvalidInput(f"{protocol.name} sends messages itself (give them as delivery)")
        if self.delivery is not None and not protocol.runs.delivers:
            raise InvalidInput(f"{protocol.name} delivers no messages itself (give them as traffic)")
        if not protocol.runs.in_rounds and not protocol.runs.delivers:
            if self.traffic.messages == 0:
                raise InvalidInput(f"{protocol.name} acknowledges data (give messages above 0)")
            if self.trigger.executions is not None:
                raise InvalidInput(f"{protocol.name} has no executions (leave executions out)")
            if self.traffic.sender_groups is not None:
                raise InvalidInput(f"{protocol.name} needs numbers of each sender (leave sender_groups out)")

    def _check_network(self) -> None:
        fails = any(fault.what in (CRASH, LEAVE) for fault in self.schedule.faults)
        if fails and self.param(Role.RESEND, 0) > 0 and not self.is_told and self.until_ms is None:
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
        return find_protocol(self.protocol)

    @cached_property
    def schedule(self) -> Schedule:
        """The faults, read, with what a failure detector tells of them."""
        members = self.topology.member_count
        read = read_schedule(self.faults, members)
        if self.has_channels and self.receivers is not None:
            read = self._connected(read)
        if not self.is_told:
            return read
        return with_detector(read, members, self.detect_ms, spread_ms=self.detect_spread_ms, seed=self.seed)

    def _connected(self, read: Schedule) -> Schedule:
        """Add what is drawn of connections, and what is told of them."""
        leaders = sender_members(self).tolist()
        drawn = []
        if self.connects_per_s > 0:
            drawn = drawn_changes(
                leaders,
                self.audiences,
                self.topology.member_count,
                per_s=self.connects_per_s,
                lasting_ms=self.connected_ms,
                until_ms=1000 * self.traffic.messages / self.traffic.rate_per_s,
                seed=self.seed,
            )
        both = dataclasses.replace(read, faults=tuple(sorted([*read.faults, *drawn])))
        return with_connections(both, leaders, self.audiences, self.detect_ms)

    @cached_property
    def has_channels(self) -> bool:
        """Whether receivers connect to senders, or disconnect from them, during the run."""
        asked = changes_of(read_schedule(self.faults, self.topology.member_count))
        return self.connects_per_s > 0 or bool(asked)

    @property
    def is_lenient(self) -> bool:
        """Whether what is called stable too early is counted, and does not end the run."""
        return self.param(Role.UNSAFE, 0) > 0

    @property
    def is_told(self) -> bool:
        """Whether members are told of crashes and joins."""
        return self.found_protocol.told and self.detect_ms >= 0

    @property
    def placed(self) -> str:
        """How members are numbered."""
        return self.placement or self.found_protocol.runs.placement

    @property
    def one_by_one(self) -> bool:
        """Whether a message to all is one message to each."""
        asked = None if self.cast == RELAY else self.cast
        return (asked or self.found_protocol.runs.cast or self.topology.cast) == "unicast"

    @property
    def guarded(self) -> bool:
        """Whether messages may come twice, be sent again, or their senders be gone."""
        comes_twice = self.costs.has_detours or self.param(Role.RESEND, 0) > 0
        return comes_twice or bool(self.schedule.faults)

    @cached_property
    def param_values(self) -> dict[str, int]:
        """The protocol's parameters by name, as kernels see them."""
        protocol = self.found_protocol
        given = protocol.encode(self.params)
        for role, value in self._set_by_the_run().items():
            given |= {parameter.name: value for parameter in protocol.having(role)}
        return protocol.parameter_values(given, self.topology.member_count)

    def _set_by_the_run(self) -> dict[Role, int]:
        """Return what the run sets, by role, as kernels see it."""
        values = {Role.EXECUTIONS: self.execution_count, Role.ENTRY_BYTES: self.costs.entry_bytes}
        if self.schedule.initial < self.topology.member_count:
            values[Role.INITIAL] = self.schedule.initial
        if self.has_channels:
            values[Role.CHANNELS] = 1
        if self.cast is not None:
            values[Role.RELAY] = int(self.cast == RELAY)
        if self.delivery is not None:
            values |= {
                Role.MESSAGES: self.delivery.messages,
                Role.INTERVAL: self.delivery.interval_ps,
                Role.DATA_BYTES: self.delivery.data_bytes,
                Role.DATA_LOSS: round(self.delivery.data_loss * 1e9),
            }
        return values

    def param(self, role: Role, default: int) -> int:
        """Return the parameter of a role, the default for a protocol that has none."""
        return self.found_protocol.value_of(role, self.param_values, default)

    @cached_property
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
        return self.found_protocol.name

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
        return bool(self.schedule.faults) or self.param(Role.SILENCE, 0) > 0

    @property
    def handlers(self) -> int:
        """Late-join handlers: how many of the first members keep all data messages."""
        if self.param(Role.SILENCE, 0) == 0:
            return 0
        return min(self.param(Role.HANDLERS, 0), self.schedule.initial)

    @property
    def may_miss(self) -> bool:
        """Whether a message may be lost or overtaken by a later one, so that a receiver lacks it."""
        return self.lossy or self.costs.has_detours or self.traffic.piggyback_ms > 0

    def replace(self, **changes: object) -> Setup:
        """Return the same set-up with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
