"""Put together what was measured of a machine and a network, as a file of costs.

Without peers the group is processes of this machine: they share its cores, and have no link between them.
With peers each member has a machine like this one.  The network is the star of the simulations: so the
peers' median round trip, their mean loss and their least bandwidth stand for all, and the file names each.
"""

from __future__ import annotations

import asyncio
import datetime
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from stablecast.advisor.calibration.checks import GROUPS, Check, check_groups, ratios
from stablecast.advisor.calibration.machine import Machine, measure_machine
from stablecast.advisor.calibration.network import Seen, see_all
from stablecast.engine.keys import Keyring
from stablecast.errors import InvalidInput
from stablecast.live.transport import parse_address
from stablecast.simulate.cost_file import SUFFIX, write_cost_file

NO_LINK_BPS = 1e12
"""So fast that nothing waits."""
HEADER_BYTES = {False: 28, True: 46}
"""Of a datagram by IP and UDP; with peers also by Ethernet, its checksum and its gap left out."""
SECONDS = 2.0
STEPS = ("this machine", "the network", "groups")

Say = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What was measured."""

    machine: Machine
    peers: tuple[Seen, ...]
    checks: tuple[Check, ...]

    @property
    def figures(self) -> dict[str, float | int | str]:
        """The costs, by the options of ``simulate``."""
        found: dict[str, float | int | str] = {
            "send_us": _short(self.machine.send_us),
            "send_us_per_byte": 0.0,
            "receive_factor": _short(self.machine.receive_factor),
            "header_bytes": HEADER_BYTES[bool(self.peers)],
        }
        if not self.peers:
            return {**found, "propagation_us": _short(self.machine.way_us / 2), "bandwidth_bps": NO_LINK_BPS}
        known = [peer.bandwidth_bps for peer in self.peers if peer.bandwidth_bps is not None]
        lost = fmean(peer.lost_share for peer in self.peers)
        return {
            **found,
            "propagation_us": _short(250 * median(peer.rtt_ms for peer in self.peers)),
            "bandwidth_bps": _short(min(known, default=NO_LINK_BPS)),
            "link_loss": _short(1 - math.sqrt(1 - lost)),
        }

    @property
    def members(self) -> dict[str, float | int]:
        """What is told of members: their timers, and the cores that they share if they are on one machine."""
        shared: dict[str, float | int] = {} if self.peers else {"cores": self.machine.cores}
        return {"timer_us": self.machine.timer_us, **shared}

    @property
    def ratios(self) -> dict[str, float]:
        """How far real groups are from simulated ones; nothing if no groups were compared."""
        return ratios(self.checks) if len(self.checks) > 2 else {}

    @property
    def measured(self) -> dict[str, Any]:
        """How the figures came about."""
        return {
            "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.node()}, {platform.machine()}, Python {platform.python_version()}",
            "cores": self.machine.cores,
            "way_us": _short(self.machine.way_us),
            "peers": [
                f"{peer.peer}: rtt {peer.rtt_ms:.3f} ms (p95 {peer.rtt_p95_ms:.3f}),"
                f" {peer.lost_share:.2%} lost"
                for peer in self.peers
            ],
            "groups": [
                f"{check.protocol} of {check.members}, {check.loss:.0%} lost: real p50 / p99"
                f" {check.real_p50_ms:.3f} / {check.real_p99_ms:.3f} ms, simulated"
                f" {check.simulated_p50_ms:.3f} / {check.simulated_p99_ms:.3f} ms"
                for check in self.checks
            ],
        }

    def write(self, file: Path) -> None:
        """Write the file of costs."""
        write_cost_file(file, self.figures, self.members, self.measured, self.ratios)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "costs": self.figures,
            "members": self.members,
            "checks": self.ratios,
            "measured": self.measured,
        }


def calibrate(
    peers: Sequence[str] = (),
    *,
    keyring: Keyring | None = None,
    seconds: float = SECONDS,
    checks: bool = True,
    say: Say | None = None,
) -> Calibration:
    """Measure this machine, and the network to peers on which ``stablecast calibrate --serve`` runs.

    Parameters
    ----------
    peers
        Their addresses; without any, groups are processes of this machine.
    keyring
        The group's key, which peers have too.
    seconds
        For how long each group of processes is measured.
    checks
        Whether groups are run on this machine, and simulated, to tell how far apart they are; without peers
        alone.
    say
        Told how it goes.
    """
    if not (math.isfinite(seconds) and 0.1 <= seconds <= 600):
        raise InvalidInput(f"seconds {seconds:g} is not accepted (accepted: 0.1 to 600)")
    tell = say or _silent
    addresses = [parse_address(peer) for peer in peers]
    tell(STEPS[1], 0, 1)
    seen = asyncio.run(see_all(addresses, keyring)) if addresses else []
    tell(STEPS[0], 0, 1)
    machine = measure_machine(seconds)
    found = Calibration(machine=machine, peers=tuple(seen), checks=())
    if peers or not checks:
        return found
    options = {**found.figures, **found.members}
    compared = tuple(check_groups(options, seconds, tell))
    tell(STEPS[2], len(GROUPS), len(GROUPS))
    return Calibration(machine=machine, peers=(), checks=compared)


def check_out(file: Path) -> None:
    """Refuse a file that could not be named as costs, or not be written, before anything is measured."""
    if file.suffix != SUFFIX:
        raise InvalidInput(f"--out '{file}' is not accepted (accepted: a name that ends in {SUFFIX})")
    if not file.parent.is_dir():
        raise InvalidInput(f"--out '{file}' is not accepted: there is no folder '{file.parent}'")


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _silent(what: str, done: int, of: int) -> None:
    """Say nothing."""
