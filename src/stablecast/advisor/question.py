"""A question to the advisor: a group's size, its traffic, its network, and what is asked for.

The model
    Every member has a link of its own to a switch, as in the topology ``star``.  So the way between two
    members has two links: a round trip is four propagations, and a datagram that two members lose with
    probability p is lost on each link with ``1 - sqrt(1 - p)``.
Times
    A run sends for as long as it takes for ``MESSAGES`` messages, so that a 99th percentile is one.  Its end
    is no cheaper than its middle: bytes are counted until everything is stable.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from stablecast.advisor.goals import ACCEPTED, SOONEST, Goal, read_goal
from stablecast.advisor.intervals import Interval
from stablecast.engine.options import BUFFER_LEAST, LARGEST_PAYLOAD
from stablecast.engine.options import Options as EngineOptions
from stablecast.errors import InvalidInput
from stablecast.simulate.cost_file import CostFile, is_cost_file, read_cost_file
from stablecast.simulate.costs import PRESETS, Costs
from stablecast.simulate.costs import costs as make_costs
from stablecast.simulate.knobs import COSTS, NETWORK, TRAFFIC, check_knobs, knob

GROUP, GOAL = "Group", "Goal"
MESSAGES = 100
"""Messages of a run in a group of up to ``SMALL``; half as many in one of twice the size and more."""
SMALL = 24
SECONDS_LEAST, SECONDS_MOST = 0.3, 10.0
TRIPS_LEAST = 10.0
"""Round trips that a run takes at least."""
SETTLE_S = 5.0
SETTLE_TRIPS = 100.0
BEFORE_CRASH_S = 1.0
AFTER_CRASH_S = 1.5
"""Beyond the silence after which a member counts as failed, for the group to agree and go on."""
MIB = 1 << 20
MEMBERS_MOST = 100_000
LOSS_MOST = 0.5
RTT_MOST_MS = 10_000
LINKS_OF_A_WAY = 2


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the advisor is asked; every field is an option of ``stablecast advise``."""

    members: int = knob(8, "Members of the group.", panel=GROUP, least=2, most=MEMBERS_MOST)
    rate_per_s: float = knob(100.0, "Messages a second of the whole group.", panel=TRAFFIC, above=0, most=1e7)
    message_bytes: int = knob(
        1000, "Bytes of a message.", panel=TRAFFIC, option="bytes", least=1, most=LARGEST_PAYLOAD
    )
    senders: int | None = knob(
        None, "Members that send, all equally often.", panel=TRAFFIC, least=1, implied="all"
    )
    loss: float | None = knob(
        None,
        "Share of datagrams that are lost on the way from one member to another.",
        panel=NETWORK,
        least=0,
        most=LOSS_MOST,
        implied="as the costs have it",
    )
    rtt_ms: float | None = knob(
        None,
        "Milliseconds of a round trip between two members, without what their machines take.",
        panel=NETWORK,
        least=0,
        most=RTT_MOST_MS,
        implied="as the costs have it",
    )
    bandwidth_bps: float | None = knob(
        None,
        "Bits per second of each direction of a member's link.",
        panel=NETWORK,
        above=0,
        implied="as the costs have it",
    )
    buffer_mib: float = knob(
        EngineOptions.buffer_bytes / MIB,
        "MiB of unstable messages, of all senders together, that a member may keep.",
        panel=GROUP,
        least=BUFFER_LEAST / MIB,
        most=1 << 20,
    )
    crashes: bool = knob(False, "One member crashes in each run.", panel=GROUP)
    costs: str = knob(
        "lan",
        f"What datagrams cost: {', '.join(PRESETS)}, or a file of 'stablecast calibrate'.",
        panel=COSTS,
        words=lambda: PRESETS,
        file=is_cost_file,
    )
    goal: str = knob(SOONEST, f"What to look for: {ACCEPTED}.", panel=GOAL)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidInput(f"{each.name} {value} is not accepted (accepted: a finite number)")
        check_knobs(self)
        if self.senders is not None and self.senders > self.members:
            raise InvalidInput(
                f"{self.senders} senders in a group of {self.members} members (accepted: 1 to {self.members})"
            )
        if self.crashes and self.members < 3:
            raise InvalidInput(
                f"a group of {self.members} members is no group after a crash (accepted: 3 or more members)"
            )
        if self.message_bytes > self.buffer_mib * MIB:
            raise InvalidInput(
                f"a message of {self.message_bytes} bytes does not fit into {self.buffer_mib:g} MiB"
                " (accepted: larger buffers)"
            )
        read_goal(self.goal)
        self._check_network()

    def _check_network(self) -> None:
        """Refuse costs with a network that an option could not ask for."""
        if self.lost_share > LOSS_MOST:
            raise InvalidInput(
                f"costs '{self.costs}': of all datagrams {self.lost_share:.3g} are lost between two members"
                f" (accepted: up to {LOSS_MOST:g}; --loss says another)"
            )
        if self.trip_s * 1e3 > RTT_MOST_MS:
            raise InvalidInput(
                f"costs '{self.costs}': a round trip takes {self.trip_s * 1e3:.6g} ms (accepted: up to"
                f" {RTT_MOST_MS:,}; --rtt-ms says another)"
            )

    @cached_property
    def wanted(self) -> Goal:
        """The goal, read."""
        return read_goal(self.goal)

    @cached_property
    def aimed(self) -> Goal:
        """The goal for simulated times: lower where real ones are longer in the mean."""
        slower = max(1.0, self.factor("p99").mid)
        limit = self.wanted.limit_ms
        return self.wanted if limit is None else Goal(self.wanted.name, limit / slower)

    def factor(self, time: str) -> Interval:
        """Return what real times are of simulated ones, as far as a file of costs says: of p50 or p99."""
        checks = {} if self.file is None else self.file.checks
        low, mid, high = (checks.get(f"{time}_{which}", 1.0) for which in ("low", "mid", "high"))
        return Interval(mid, low, high, 0)

    @property
    def senders_there(self) -> int:
        """Members that send."""
        return self.members if self.senders is None else self.senders

    @property
    def buffer_bytes(self) -> int:
        """What a member may keep."""
        return round(self.buffer_mib * MIB)

    @cached_property
    def file(self) -> CostFile | None:
        """The file of costs, if one was named."""
        return read_cost_file(self.costs) if is_cost_file(self.costs) else None

    @cached_property
    def figures(self) -> Costs:
        """What datagrams cost on this network."""
        return make_costs(self.costs, **self._network())

    @property
    def cores(self) -> int:
        """Cores that all members share; 0 if each has a machine of its own."""
        return int(self.file.members.get("cores", 0)) if self.file is not None else 0

    @property
    def trip_s(self) -> float:
        """Seconds of a round trip without what hosts take."""
        return 2 * LINKS_OF_A_WAY * self.figures.propagation_us / 1e6

    @property
    def lost_share(self) -> float:
        """Share of datagrams that do not come."""
        return float(1 - (1 - self.figures.link_loss) ** LINKS_OF_A_WAY)

    @property
    def seconds(self) -> float:
        """For how long a run sends."""
        if self.crashes:
            return round(BEFORE_CRASH_S + EngineOptions.fail_after + AFTER_CRASH_S, 6)
        least = max(SECONDS_LEAST, TRIPS_LEAST * self.trip_s)
        messages = MESSAGES * max(0.5, min(1.0, SMALL / self.members))
        return round(max(least, min(messages / self.rate_per_s, SECONDS_MOST)), 6)

    @property
    def messages(self) -> float:
        """Messages of a run."""
        return self.rate_per_s * self.seconds

    def _network(self) -> dict[str, float]:
        """Return what the question says of the network, as costs."""
        found: dict[str, float] = {}
        if self.bandwidth_bps is not None:
            found["bandwidth_bps"] = self.bandwidth_bps
        if self.rtt_ms is not None:
            found["propagation_us"] = self.rtt_ms * 1e3 / (2 * LINKS_OF_A_WAY)
        if self.loss is not None:
            found["link_loss"] = float(f"{1 - math.sqrt(1 - self.loss):.9g}")
        return found

    def options(self) -> dict[str, Any]:
        """Return the options of ``simulate live`` that do not depend on the advice."""
        costs = {"costs": self.costs} if self.file is None else self.file.options(live=True)
        return {
            **costs,
            **self._network(),
            "members": self.members,
            "senders": self.senders,
            "rate_per_s": self.rate_per_s / self.senders_there,
            "data_bytes": self.message_bytes,
            "buffer_bytes": self.buffer_bytes,
            "seconds": self.seconds,
            "settle_s": round(SETTLE_S + SETTLE_TRIPS * self.trip_s, 6),
        }

    def faults(self, seed: int) -> str:
        """Return what happens in a run: with crashes, another member crashes in each."""
        if not self.crashes:
            return ""
        drawn = hashlib.blake2s(f"crash {seed}".encode(), digest_size=8).digest()
        return f"crash {int.from_bytes(drawn) % self.members} at {BEFORE_CRASH_S * 1e3:g}"

    @property
    def digest(self) -> str:
        """The same for the same runs, whatever their goal and however the costs were named."""
        told = json.dumps([self.options(), self.crashes], sort_keys=True)
        return hashlib.blake2s(told.encode(), digest_size=12).hexdigest()
