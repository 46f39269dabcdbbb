"""Cost presets: what links, routers and hosts take of a message's time, each figure with its source.

Times are given in microseconds and kept in whole picoseconds, so that the papers' figures (0.1175 µs for each
byte sent, 266.67 µs for a byte at 30 kbps) leave no rounding that a nanosecond could show.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from stablecast.errors import InvalidInput, unknown_name

PS_PER_US = 1_000_000
ROUTERS = ("delay", "serial")
PROCESSORS = ("separate", "shared")


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a message costs on its way; every field is an option of ``stablecast simulate``."""

    bandwidth_bps: float = 100e6
    """Bits per second of each direction of a link."""
    propagation_us: float = 0.0
    """Time from the last bit leaving a link to its arrival at the other end."""
    router_us: float = 1000.0
    """Time that a node takes to forward a message; none at its source and its destination."""
    router: str = "delay"
    """``delay``: any number of messages at a time; ``serial``: one after the other."""
    processor: str = "separate"
    """Of a serial router: its own (``separate``) or the one of the host on the same node (``shared``)."""
    send_us: float = 338.0
    """Host time to send a message, fixed part."""
    send_us_per_byte: float = 47 / 400
    """Host time to send a message, for each byte, header included."""
    receive_factor: float = 1.1
    """Host time to receive a message, as a multiple of the time to send it."""
    header_bytes: int = 32
    """Bytes of a message that carries nothing."""
    entry_bytes: int = 4
    """Bytes of a sequence number."""
    queue_limit: int = 0
    """Messages that a link holds, the one in transmission included; 0 for no limit."""
    link_loss: float = 0.0
    """Probability that a message is lost on a link, after taking its time."""
    duplicate: float = 0.0
    """Probability that a message comes to a member a second time, ``detour_us`` after the first."""
    reorder: float = 0.0
    """Probability that a message comes to a member ``detour_us`` late, so that others overtake it."""
    detour_us: float = 1000.0
    """How late a message comes that takes a detour."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str):
                continue
            if not math.isfinite(value) or value < 0:
                raise InvalidInput(
                    f"{field.name} {value} is not a cost (accepted: a finite number, 0 or more)"
                )
        if self.bandwidth_bps == 0:
            raise InvalidInput("bandwidth_bps 0 moves nothing (accepted: a finite number above 0)")
        for name in ("link_loss", "duplicate", "reorder"):
            if getattr(self, name) > 1:
                raise InvalidInput(f"{name} {getattr(self, name)} is not a probability (accepted: 0 to 1)")
        if self.router not in ROUTERS:
            raise unknown_name("router model", self.router, ROUTERS)
        if self.processor not in PROCESSORS:
            raise unknown_name("processor", self.processor, PROCESSORS)

    @property
    def router_ps(self) -> int:
        """Forwarding time in picoseconds."""
        return round(self.router_us * PS_PER_US)

    @property
    def propagation_ps(self) -> int:
        """Propagation time in picoseconds."""
        return round(self.propagation_us * PS_PER_US)

    @property
    def detour_ps(self) -> int:
        """How late a message comes that takes a detour, in picoseconds."""
        return round(self.detour_us * PS_PER_US)

    @property
    def has_detours(self) -> bool:
        """Whether messages may come twice or late."""
        return self.duplicate > 0 or self.reorder > 0

    @property
    def hosts_free(self) -> bool:
        """Whether hosts take no time at all."""
        return self.send_us == 0 and self.send_us_per_byte == 0


LAN_1997 = Costs()
PRESETS: dict[str, tuple[Costs, str]] = {
    "lan1997": (
        LAN_1997,
        "100 Mbps links without propagation delay, 1 ms routers, serial hosts (paper: hierarchical, 5.1)",
    ),
    "links-only": (
        Costs(router_us=0, send_us=0, send_us_per_byte=0),
        "100 Mbps links; hosts and routers take no time",
    ),
    "wan1997": (
        Costs(bandwidth_bps=30e3, propagation_us=5000),
        "30 kbps and 5 ms links, 1 ms routers, serial hosts (paper: gossip, section 4)",
    ),
}


def costs(name: str, **changes: float | int | str) -> Costs:
    """Return a preset, with some of its figures changed."""
    if name not in PRESETS:
        raise unknown_name("cost preset", name, PRESETS)
    return dataclasses.replace(PRESETS[name][0], **changes)  # type: ignore[arg-type]
