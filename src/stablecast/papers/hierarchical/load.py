"""Section 6's f(r): how long a round of the protocol takes while all members send data at rate r.

The section says that the round-trip time f depends on the rate of data messages, and section 6.1 that the
times without data are a lower bound, f(0).  Here every member of a tree of 121 sends, and the protocol starts
every 100 ms.  A host has to receive what all others send, so there is a rate at which it does nothing else:
the sum of all rates times the time to receive a message is 1.  f grows without bound towards that rate.

Chance has no part in these runs: senders take turns, so all of them repeat themselves exactly.
"""

from __future__ import annotations

from stablecast.papers.curves import curve, panel, rounded
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.paper import Claim, Judgement
from stablecast.papers.statistics import exactly
from stablecast.pipeline.point import Point, simulation
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure
from stablecast.report.table import Table
from stablecast.simulate.costs import costs
from stablecast.theory import group_size

SHAPE = (3, 4, 3)
MEMBERS = group_size(*SHAPE)
RATES = (1, 2, 4, 8, 12, 16)
SECONDS = 3
DATA_BYTES = 500
ROOM = 4_000
"""Messages of output buffer, more than are ever unstable, so that no sender waits."""
UNTIL_MS = 20_000.0
"""When a run is given up whose rounds overload the network, which happens where routers are serial."""


def under_load(protocol: str, rate: int) -> Point:
    """Return data of all members at a rate beside the protocol; at rate 0 one execution alone."""
    degree, height, fill = SHAPE
    if rate == 0:
        return simulation(protocol=protocol, degree=degree, height=height, fill=fill)
    return simulation(
        protocol=protocol,
        degree=degree,
        height=height,
        fill=fill,
        messages=SECONDS * rate,
        rate_per_s=rate,
        data_bytes=DATA_BYTES,
        buffer=ROOM,
        trigger="periodic",
        period_ms=100.0,
        until_ms=UNTIL_MS,
    )


def points_at(rates: tuple[int, ...]) -> list[Point]:
    """Return the runs at some rates, and without data."""
    return [under_load(protocol, rate) for protocol in PROTOCOLS for rate in (0, *rates)]


def points(full: bool) -> list[Point]:
    """Return all of them."""
    return points_at(RATES)


def saturation_per_s() -> float:
    """Return the rate at which a host of the main reading does nothing but receive."""
    lan = costs("lan1997")
    each_us = lan.receive_factor * (lan.send_us + lan.send_us_per_byte * (lan.header_bytes + DATA_BYTES))
    return 1e6 / (MEMBERS * each_us)


def _made(runs: Runs) -> list[int]:
    """Return the rates that were run, 0 among them."""
    made = [rate for rate in (0, *RATES) if all(under_load(name, rate) in runs for name in PROTOCOLS)]
    if len(made) < 2 or made[0] != 0:
        raise MissingRun(f"this run was not made: {under_load(PROTOCOLS[0], RATES[0]).replay}")
    return made


def f_ms(runs: Runs, protocol: str, rate: int) -> float:
    """Return f(r): the mean over a run's executions of the round trip at the first member."""
    us = runs[under_load(protocol, rate)].result.rtt_root_us
    assert us is not None
    return us / 1000


def round_trips_under_load(runs: Runs) -> Table:
    """f(r) for every protocol: on average over a run's executions, and the longest."""
    rows = [
        (
            protocol,
            rate,
            rounded(f_ms(runs, protocol, rate)),
            rounded(runs[under_load(protocol, rate)].result.round_trip_max_us / 1000),
            runs[under_load(protocol, rate)].result.executions,
            round(f_ms(runs, protocol, rate) / f_ms(runs, protocol, 0), 2),
        )
        for protocol in PROTOCOLS
        for rate in _made(runs)
    ]
    return Table(
        key="load",
        title=f"f(r): round-trip time under data traffic ({MEMBERS} members, all send {DATA_BYTES} bytes)",
        columns=("protocol", "r [messages/s]", "f(r) [ms]", "longest [ms]", "executions", "f(r)/f(0)"),
        rows=tuple(rows),
        note=f"r is each member's rate. At {saturation_per_s():.1f}/s hosts do nothing but receive. Means"
        " over the executions of a run; chance has no part in it. The longest is from the start, f from the"
        " first member's taking part.",
    )


TABLES = (round_trips_under_load,)


def judge_load(runs: Runs) -> Judgement:
    """H11."""
    rates = _made(runs)
    times = {name: [f_ms(runs, name, rate) for rate in rates] for name in PROTOCOLS}
    rising = [name for name, found in times.items() if found == sorted(found) and found[-1] > found[0]]
    bounded = [name for name, found in times.items() if min(found) >= found[0]]
    growth = [f"{name} × {found[-1] / found[0]:.2f}" for name, found in times.items()]
    return Judgement(
        paper="f(r) at least f(0), depends on r",
        measured=", ".join(growth),
        holds=len(rising) == len(bounded) == len(PROTOCOLS),
        why=f"f(r) is never below f(0) for {len(bounded)} of {len(PROTOCOLS)} protocols and rises with r for"
        f" {len(rising)}; from r = 0 to {rates[-1]}/s {', '.join(growth)}",
    )


CLAIMS = (
    Claim(
        id="H11",
        kind="trend",
        text="The round-trip time f(r) depends on the rate r of data messages, and f(0), without data, is a"
        " lower bound.",
        judge=judge_load,
    ),
)


def figure_load(runs: Runs) -> Figure:
    """The round-trip time over the rate."""
    rates = _made(runs)
    absolute = [
        curve(name, [(rate, exactly(f_ms(runs, name, rate))) for rate in rates]) for name in PROTOCOLS
    ]
    relative = [
        curve(name, [(rate, exactly(f_ms(runs, name, rate) / f_ms(runs, name, 0))) for rate in rates])
        for name in PROTOCOLS
    ]
    x = "data messages of each member r [1/s]"
    return Figure(
        key="load",
        title="f(r): round-trip time under data traffic",
        caption=f"All {MEMBERS} members send {DATA_BYTES} bytes at rate r, and the protocol starts every"
        f" 100 ms. At {saturation_per_s():.1f} messages/s a host does nothing but receive. Means over the"
        " executions of a run.",
        panels=(
            panel("(A) f(r)", "round-trip time at the first member [ms]", absolute, x=x, log=True),
            panel("(B) in parts of f(0)", "f(r) / f(0)", relative, x=x),
        ),
    )


FIGURES = (figure_load,)
