"""The options of one run, flat: what the command line, a sweep's grid and a row of results all speak."""

from __future__ import annotations

import dataclasses
import math
import shlex
from dataclasses import dataclass
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.protocols import protocol as find_protocol
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.costs import costs as make_costs
from stablecast.simulate.faults import failing_members
from stablecast.simulate.setup import Setup, Traffic, Trigger
from stablecast.simulate.topologies.registry import topology as make_topology

PS_PER_S = 10**12
PS_PER_MS = 10**9
COSTS = (
    "bandwidth_bps",
    "propagation_us",
    "router_us",
    "router",
    "processor",
    "send_us",
    "send_us_per_byte",
    "receive_factor",
    "header_bytes",
    "entry_bytes",
    "queue_limit",
    "link_loss",
    "duplicate",
    "reorder",
    "detour_us",
)
SHAPE = ("degree", "height", "fill", "nodes", "members", "edge_probability", "extra_links", "delay_max_us")
TRAFFIC = tuple(field.name for field in dataclasses.fields(Traffic))
TRIGGER = ("executions", "period_ms", "threshold", "retry_ms")
RUN = (
    "senders",
    "receivers",
    "seed",
    "changed_only",
    "tracked",
    "loss_until_ms",
    "until_ms",
    "omissions",
    "stop_at_first",
    "admit_per_round",
    "detect_ms",
    "placement",
    "routes",
    "sample_ms",
)
PAPER_COSTS = {"random-graph": "links-only"}
"""Costs of the paper that a topology is from, where they are not those of the first one."""
RELAY = "relay"
TREE_DEGREES = {"network": 0, "log": -1}
CLOCKS = {"physical": 0, "logical": 1, "hybrid": 2}
ACKS_TO = {"all": 0, "senders": 1}
KNOWS = {"all": 0, "own": 1}
POLICIES = {"rounds": 0, "bufferers": 1, "two-buffers": 2, "until-stable": 3}
HASHES = {"mix": 0, "shuffle": 1, "crc16": 2}
SHARES = {"piggyback": 1, "multicast": 2, "both": 3}


@dataclass(frozen=True, kw_only=True)
class Options:
    """One run by the names of ``stablecast simulate``; each field's meaning is in its help."""

    protocol: str
    topology: str = "tree"
    degree: int | None = None
    height: int | None = None
    fill: int | None = None
    nodes: int | None = None
    members: int | None = None
    edge_probability: float | None = None
    extra_links: int | None = None
    delay_max_us: float | None = None
    routes: str = "hops"
    placement: str | None = None
    cast: str | None = None
    senders: int | None = None
    receivers: int | None = None
    tracked: int | None = None
    seed: int = 0
    costs: str | None = None
    bandwidth_bps: float | None = None
    propagation_us: float | None = None
    router_us: float | None = None
    router: str | None = None
    processor: str | None = None
    send_us: float | None = None
    send_us_per_byte: float | None = None
    receive_factor: float | None = None
    header_bytes: int | None = None
    entry_bytes: int | None = None
    queue_limit: int | None = None
    link_loss: float | None = None
    duplicate: float | None = None
    reorder: float | None = None
    detour_us: float | None = None
    loss_until_ms: float | None = None
    until_ms: float | None = None
    messages: int = 0
    rate_per_s: float = 10.0
    data_bytes: int = 1000
    buffer: int = 64
    data_loss: float = 0.0
    nak_ms: float = 50.0
    heartbeat_ms: float = 100.0
    sender_groups: int | None = None
    piggyback_ms: float = 0.0
    changed_only: bool = False
    trigger: str | None = None
    executions: int | None = None
    period_ms: float = 100.0
    threshold: int = 32
    retry_ms: float = 0.0
    resend_ms: float = 0.0
    tree_degree: str | None = None
    pause_ms: float | None = None
    free_bitmap: bool = False
    subgroup: int | None = None
    step_s: float | None = None
    share: str | None = None
    threshold_steps: int | None = None
    quiet_steps: int | None = None
    local_size: int | None = None
    controllers: int | None = None
    controller_step_s: float | None = None
    nearby: bool = False
    clock: str | None = None
    skew_us: float | None = None
    drift_ppm: float | None = None
    sync_s: float | None = None
    send_every_ms: float | None = None
    ack_every_ms: float | None = None
    ack_to: str | None = None
    know: str | None = None
    stamp_bytes: int | None = None
    policy: str | None = None
    copies: float | None = None
    hash: str | None = None
    gossip_every_ms: float | None = None
    keep_rounds: int | None = None
    short_rounds: int | None = None
    budget_messages: int | None = None
    budget_bytes: int | None = None
    send_omission: float = 0.0
    no_recast: bool = False
    no_push: bool = False
    omissions: int = 0
    stop_at_first: bool = False
    admit_per_round: int = 0
    faults: str = ""
    fail_neighbours: int = 0
    fail_random: int = 0
    fail_at_ms: float = 0.0
    detect_ms: float = 0.0
    sample_ms: float = 1.0

    def given(self) -> dict[str, Any]:
        """Return what differs from the defaults, the protocol first."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.default is dataclasses.MISSING or getattr(self, field.name) != field.default
        }

    def command(self) -> str:
        """Return the command that runs exactly this."""
        words = ["stablecast", "simulate", self.protocol]
        for name, value in self.given().items():
            if name != "protocol":
                flag = f"--{name.replace('_', '-')}"
                words += [flag] if value is True else [flag, str(value)]
        return shlex.join(words)

    def setup(self) -> Setup:
        """Build the set-up; what does not fit together is refused there."""
        changes = {name: value for name, value in self._values(COSTS).items() if value is not None}
        protocol = find_protocol(self.protocol)
        by_timers, messages = protocol.autonomous, self.messages or protocol.messages
        implied = "periodic" if messages and self.executions is None and not by_timers else "immediate"
        topology = make_topology(self.topology, **self._values(SHAPE), seed=self.seed)
        preset = self.costs or PAPER_COSTS.get(self.topology, "lan1997")
        return Setup(
            protocol=self.protocol,
            topology=topology,
            costs=make_costs(preset, **changes),
            traffic=Traffic(**(self._values(TRAFFIC) | {"messages": 0 if protocol.delivers else messages})),
            trigger=Trigger(kind=self.trigger or implied, **self._values(TRIGGER)),
            params=self._params() | (self._delivery(messages) if protocol.delivers else {}),
            faults=self._faults(topology.member_count),
            cast=None if self.cast == RELAY else self.cast,
            **(self._values(RUN) | {"senders": self.senders or (1 if protocol.delivers else None)}),
        )

    def _faults(self, members: int) -> str:
        """Return the schedule, with the members that were asked to fail added to it."""
        if not (self.fail_neighbours or self.fail_random):
            return self.faults
        failing = failing_members(
            members, neighbours=self.fail_neighbours, others=self.fail_random, seed=self.seed
        )
        if not (math.isfinite(self.fail_at_ms) and self.fail_at_ms >= 0):
            raise InvalidInput(f"fail_at_ms {self.fail_at_ms} is not accepted (accepted: 0 or more)")
        step = f"crash {','.join(map(str, failing))} at {self.fail_at_ms:.9f}"
        return f"{self.faults}; {step}" if self.faults else step

    def _params(self) -> dict[str, int]:
        """Return the protocol's own parameters in its units."""
        params = {"subgroup": self.subgroup, "threshold": self.threshold_steps, "quiet": self.quiet_steps}
        params |= {"nearby": 1} if self.nearby else {}
        params |= {"local_size": self.local_size, "controllers": self.controllers}
        params |= {"free_bitmap": 1} if self.free_bitmap else {}
        params["tree_degree"] = self._tree_degree()
        params["relay"] = self._relay()
        for name, ms in (("resend", self.resend_ms or None), ("pause", self.pause_ms)):
            if ms is not None:
                if not (math.isfinite(ms) and ms >= 0):
                    raise InvalidInput(f"{name}_ms {ms} is not accepted (accepted: 0 or more)")
                params[name] = round(ms * PS_PER_MS)
        for name, seconds in (("step", self.step_s), ("controller_step", self.controller_step_s)):
            if seconds is not None:
                if not (math.isfinite(seconds) and seconds > 0):
                    raise InvalidInput(f"{name}_s {seconds} is not accepted (accepted: seconds above 0)")
                params[name] = round(seconds * PS_PER_S)
        for name, chosen, accepted in (
            ("share", self.share, SHARES),
            ("clock", self.clock, CLOCKS),
            ("ack_to", self.ack_to, ACKS_TO),
            ("know", self.know, KNOWS),
            ("policy", self.policy, POLICIES),
            ("hash", self.hash, HASHES),
        ):
            if chosen is not None:
                if chosen not in accepted:
                    raise unknown_name(name, chosen, accepted)
                params[name] = accepted[chosen]
        params["stamp_bytes"] = self.stamp_bytes
        params |= {"keep_rounds": self.keep_rounds, "short_rounds": self.short_rounds}
        if self.copies is not None:
            if not (math.isfinite(self.copies) and self.copies > 0):
                raise InvalidInput(f"copies {self.copies} is not accepted (accepted: a number above 0)")
            params["copies"] = round(self.copies * 1000)
        for name, value, unit_ps in (
            ("send_every_ms", self.send_every_ms, PS_PER_MS),
            ("ack_every_ms", self.ack_every_ms, PS_PER_MS),
            ("gossip_every_ms", self.gossip_every_ms, PS_PER_MS),
            ("sync_s", self.sync_s, PS_PER_S),
        ):
            if value is not None:
                if not (math.isfinite(value) and value > 0):
                    raise InvalidInput(f"{name} {value} is not accepted (accepted: a number above 0)")
                params[name.rpartition("_")[0]] = max(1, round(value * unit_ps))
        for name, value, unit in (("skew_us", self.skew_us, PS_PER_US), ("drift_ppm", self.drift_ppm, 1000)):
            if value is not None:
                if not (math.isfinite(value) and value >= 0):
                    raise InvalidInput(
                        f"{name} {value} is not accepted (accepted: a finite number, 0 or more)"
                    )
                params[name.rpartition("_")[0]] = round(value * unit)
        return {name: value for name, value in params.items() if value is not None}

    def _delivery(self, messages: int) -> dict[str, int]:
        """Return what a protocol that delivers messages itself is told of traffic, losses and budgets."""
        traffic = Traffic(**(self._values(TRAFFIC) | {"messages": messages}))  # checks them
        if not 0 <= self.send_omission < 1:
            raise InvalidInput(f"send_omission {self.send_omission} is not accepted (accepted: 0 to below 1)")
        params = {
            "messages": messages,
            "interval": max(1, round(PS_PER_S / traffic.rate_per_s)),
            "data_bytes": traffic.data_bytes,
            "receive_loss": round(traffic.data_loss * 1e9),
            "send_omission": round(self.send_omission * 1e9),
            "push": int(not self.no_push),
        }
        params |= {"recast": 0} if self.no_recast else {}
        budgets = [self.budget_messages] if self.budget_messages is not None else []
        if self.budget_bytes is not None:
            budgets.append(self.budget_bytes // max(traffic.data_bytes, 1))
        if budgets:
            if min(budgets) < 1:
                raise InvalidInput(
                    "a budget must have room for one message (give budget_messages of 1 or more)"
                )
            params["budget"] = min(budgets)
        return params

    def _relay(self) -> int | None:
        """Tell whether members pass messages to all on: as asked, if the protocol can, or if it was asked."""
        can = any(parameter.name == "relay" for parameter in find_protocol(self.protocol).parameters)
        return int(self.cast == RELAY) if self.cast is not None and (can or self.cast == RELAY) else None

    def _tree_degree(self) -> int | None:
        if self.tree_degree is None or self.tree_degree in TREE_DEGREES:
            return None if self.tree_degree is None else TREE_DEGREES[self.tree_degree]
        if not self.tree_degree.isdecimal() or int(self.tree_degree) < 1:
            raise InvalidInput(
                f"tree_degree '{self.tree_degree}' is not accepted (accepted: 1 or more, log, network)"
            )
        return int(self.tree_degree)

    def _values(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}
