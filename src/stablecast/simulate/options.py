"""The options of one run, flat: what the command line, a sweep's grid and a row of results all speak."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from typing import Any

from stablecast.simulate.costs import costs as make_costs
from stablecast.simulate.setup import Setup, Traffic, Trigger
from stablecast.simulate.topologies.registry import topology as make_topology

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
)
SHAPE = ("degree", "height", "fill", "nodes", "members")
TRAFFIC = tuple(field.name for field in dataclasses.fields(Traffic))
TRIGGER = ("executions", "period_ms", "threshold", "retry_ms")
RUN = ("senders", "seed", "changed_only", "tracked", "loss_until_ms", "until_ms")


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
    senders: int | None = None
    tracked: int | None = None
    seed: int = 0
    costs: str = "lan1997"
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
        implied = "periodic" if self.messages and self.executions is None else "immediate"
        return Setup(
            protocol=self.protocol,
            topology=make_topology(self.topology, **self._values(SHAPE), seed=self.seed),
            costs=make_costs(self.costs, **changes),
            traffic=Traffic(**self._values(TRAFFIC)),
            trigger=Trigger(kind=self.trigger or implied, **self._values(TRIGGER)),
            **self._values(RUN),
        )

    def _values(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}
