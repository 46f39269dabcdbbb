"""How far simulated groups are from real ones here: a few of both, side by side.

A simulation has one cost for every datagram and no kernel, so its times are off by a factor that differs from
group to group.  The groups of ``GROUPS`` are run as processes, and simulated with the costs that were
measured. The ratios are taken to be drawn from one distribution, by their logarithms; the factor of a
further group is then in Student's prediction interval.  The advisor corrects its times by the mean ratio and
widens their intervals by that interval, where a file of costs has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablecast.advisor.calibration.real_group import RealGroup, run_group, times_ms
from stablecast.advisor.intervals import Interval, predict
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live

RATE_PER_S, BYTES = 200.0, 200
GROUPS = (
    ("s_coord", 4, 0.0),
    ("s_coord", 8, 0.0),
    ("explicit", 4, 0.0),
    ("explicit", 8, 0.0),
    ("vector", 6, 0.0),
    ("s_coord", 6, 0.05),
    ("explicit", 6, 0.1),
    ("vector", 5, 0.05),
)
"""Protocol, members and share of datagrams lost of the groups that are compared."""
SIMULATED_S = 2.0


@dataclass(frozen=True)
class Check:
    """One group, real and simulated."""

    protocol: str
    members: int
    loss: float
    real_p50_ms: float
    real_p99_ms: float
    simulated_p50_ms: float
    simulated_p99_ms: float

    @property
    def p50_ratio(self) -> float:
        """What the real median is of the simulated one."""
        return self.real_p50_ms / self.simulated_p50_ms

    @property
    def p99_ratio(self) -> float:
        """The same of the 99th percentile."""
        return self.real_p99_ms / self.simulated_p99_ms


def check_groups(
    options: Mapping[str, Any], seconds: float, say: Callable[[str, int, int], None]
) -> Iterator[Check]:
    """Run the groups, and simulate them with such costs."""
    for done, (protocol, members, loss) in enumerate(GROUPS):
        say(f"{protocol} of {members}, {loss:.0%} lost", done, len(GROUPS))
        real = times_ms(
            run_group(
                RealGroup(
                    members=members,
                    rate_per_s=RATE_PER_S,
                    message_bytes=BYTES,
                    loss=loss,
                    protocol=protocol,
                    seconds=seconds,
                )
            )
        )
        simulated = simulate_live(live_setup(_simulated(options, protocol, members, loss)))
        if not real or simulated.tts_p50_us is None or simulated.tts_p99_us is None:
            continue
        p50, p99 = np.percentile(real, [50, 99])
        yield Check(
            protocol,
            members,
            loss,
            float(p50),
            float(p99),
            simulated.tts_p50_us / 1e3,
            simulated.tts_p99_us / 1e3,
        )


def _simulated(options: Mapping[str, Any], protocol: str, members: int, loss: float) -> dict[str, Any]:
    return {
        **options,
        "protocol": protocol,
        "members": members,
        "rate_per_s": RATE_PER_S / members,
        "data_bytes": BYTES,
        "link_loss": 1 - math.sqrt(1 - loss),
        "seconds": SIMULATED_S,
        "seed": 1,
    }


def ratios(checks: Sequence[Check]) -> dict[str, float]:
    """Return what the files of costs keep: for both times the mean ratio, and where a further one will be."""
    found: dict[str, float] = {}
    for name, values in (
        ("p50", [check.p50_ratio for check in checks]),
        ("p99", [check.p99_ratio for check in checks]),
    ):
        interval: Interval = predict(values)
        found |= {
            f"{name}_low": interval.low,
            f"{name}_mid": math.exp(sum(map(math.log, values)) / len(values)),
            f"{name}_high": interval.high,
        }
    return {name: float(f"{value:.4g}") for name, value in found.items()}
