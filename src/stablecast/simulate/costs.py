"""Cost presets: what links, routers and hosts take of a message's time, each figure with its source.

Times are given in microseconds and kept in whole picoseconds, so that the papers' figures (0.1175 µs for each
byte sent, 266.67 µs for a byte at 30 kbps) leave no rounding that a nanosecond could show.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stablecast.errors import InvalidInput, unknown_name
from stablecast.simulate.knobs import COSTS, FAULTS, check_knobs, knob

PS_PER_US = 1_000_000
ROUTERS = ("delay", "serial")
PROCESSORS = ("separate", "shared")
HOST_MODELS = ("serial", "per-link", "delay")


def _cost(default: float | str, help: str, **more: Any) -> Any:
    """Declare a figure that a preset has unless its option changes it."""
    return knob(default, help, implied="as the preset has it", **more)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a message costs on its way; every field is an option of ``stablecast simulate``."""

    bandwidth_bps: float = _cost(100e6, "Bits per second of each direction of a link.", panel=COSTS, above=0)
    propagation_us: float = _cost(
        0.0,
        "Microseconds from the last bit of a message leaving a link to its arrival at the other end.",
        panel=COSTS,
        least=0,
    )
    router_us: float = _cost(
        1000.0,
        "Microseconds that a node takes to forward a message; none at its source and its destination.",
        panel=COSTS,
        least=0,
    )
    router: str = _cost(
        "delay",
        "How nodes forward messages: delay, any number at a time; serial, one after the other.",
        panel=COSTS,
        words=lambda: ROUTERS,
    )
    processor: str = _cost(
        "separate",
        "The processor of a serial router: a separate one, or shared with the host on the same node.",
        panel=COSTS,
        words=lambda: PROCESSORS,
    )
    host_model: str = _cost(
        "serial",
        "How hosts send and receive: serial, one packet after the other; per-link, the same for each link;"
        " delay, any number at a time.",
        panel=COSTS,
        words=lambda: HOST_MODELS,
    )
    send_us: float = _cost(
        338.0, "Microseconds of the host to send a message: the fixed part.", panel=COSTS, least=0
    )
    send_us_per_byte: float = _cost(
        47 / 400,
        "Microseconds of the host to send a message: for each byte, header included.",
        panel=COSTS,
        least=0,
    )
    receive_factor: float = _cost(
        1.1,
        "Time of the host to receive a message, as a multiple of the time to send it.",
        panel=COSTS,
        least=0,
    )
    header_bytes: int = _cost(32, "Bytes of a message that carries nothing.", panel=COSTS, least=0)
    mtu_bytes: int = _cost(
        0,
        "Bytes of the largest packet, header included, that messages are cut into; 0 for whole messages.",
        panel=COSTS,
        least=0,
    )
    entry_bytes: int = _cost(4, "Bytes of a sequence number.", panel=COSTS, least=0)
    queue_limit: int = _cost(
        0,
        "Packets that a link holds, the one in transmission included; 0 for no limit.",
        panel=COSTS,
        least=0,
    )
    link_loss: float = _cost(
        0.0,
        "Probability that a packet is lost on a link, after taking its time there.",
        panel=FAULTS,
        least=0,
        most=1,
    )
    duplicate: float = _cost(
        0.0,
        "Probability that a message comes to a member a second time, --detour-us after the first.",
        panel=FAULTS,
        least=0,
        most=1,
    )
    reorder: float = _cost(
        0.0,
        "Probability that a message comes to a member --detour-us late, so that others overtake it.",
        panel=FAULTS,
        least=0,
        most=1,
    )
    detour_us: float = _cost(
        1000.0,
        "Microseconds that a message is late which comes a second time, or is overtaken.",
        panel=FAULTS,
        least=0,
    )

    def __post_init__(self) -> None:
        check_knobs(self)
        if 0 < self.mtu_bytes <= self.header_bytes:
            raise InvalidInput(
                f"mtu_bytes {self.mtu_bytes} leaves no room behind a header of {self.header_bytes} bytes"
                f" (accepted: 0 for whole messages, or above {self.header_bytes})"
            )
        if self.router == "serial" and self.processor == "shared" and self.host_model != "serial":
            raise InvalidInput(
                f"a router cannot share the processor of a {self.host_model} host, which has not just one"
                " (accepted: host_model 'serial', or processor 'separate')"
            )

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
    "lan": (
        Costs(
            bandwidth_bps=1e9,
            propagation_us=25,
            router_us=0,
            send_us=10,
            send_us_per_byte=0.001,
            receive_factor=4,
            header_bytes=46,
        ),
        "1 Gbps links of 25 µs; serial hosts that take 10 µs to send a datagram and 40 µs to receive one: the"
        " right order for a live member, not measured",
    ),
}


def costs(name: str, **changes: float | int | str) -> Costs:
    """Return a preset, or the costs of a file, with some of its figures changed."""
    from stablecast.simulate.cost_file import is_cost_file, read_cost_file  # it reads presets

    if is_cost_file(name):
        return dataclasses.replace(read_cost_file(name).costs, **changes)  # type: ignore[arg-type]
    if name not in PRESETS:
        raise unknown_name("cost preset", name, PRESETS)
    return dataclasses.replace(PRESETS[name][0], **changes)  # type: ignore[arg-type]
