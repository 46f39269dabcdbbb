"""How long points and sweeps will take, roughly: the order of points and the size of batches hang on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stablecast.pipeline.point import SIMULATE, SIMULATE_LIVE, Point
from stablecast.protocols import protocol as find_protocol
from stablecast.simulate.compiled import is_compiled, loop_name
from stablecast.simulate.live.options import live_run_options
from stablecast.simulate.options import Options
from stablecast.simulate.setup import Traffic
from stablecast.theory import group_size

EVENTS_PER_S = 3e6
FIXED_S = 0.01
UNKNOWN_S = 0.5
DATAGRAM_S = 5e-5
ANNOUNCED = 4
GOSSIP_PER_S = 150
LIVE_MEMBERS = 8
"""Of simulated live groups: a datagram, and how many of them a member gets."""
SPARK_START_S = 8.0
"""A sweep of thirty tiny points: the start of Spark, its workers' imports, the end of the application."""
COMPILE_S = 15.0
"""Processor time to compile one protocol's loop, in a process of its own."""


def estimated_seconds(point: Point) -> float:
    """Return a guess of a point's running time."""
    if point.task == SIMULATE_LIVE:
        return _seconds_of_live(point.options)
    if point.task != SIMULATE:
        return UNKNOWN_S
    options = Options.of(point.options)
    n = member_count(options)
    executions: int = options.executions or (20 if options.messages else 1)
    each = find_protocol(options.protocol).execution_messages(n)
    data: float = 6 * options.messages * _senders_at_the_common_rate(options, n) * n
    return FIXED_S + (each * executions + data) / EVENTS_PER_S


def _senders_at_the_common_rate(options: Options, members: int) -> float:
    """Return how many senders of the common rate would send as much as there is sent."""
    first = Traffic(first_rates_per_s=options.first_rates_per_s).first_rates
    senders: int = options.senders or members
    common: float = options.rate_per_s
    return senders + sum(rate / common - 1 for rate in first)


def _seconds_of_live(options: Mapping[str, Any]) -> float:
    """Return a guess for a live group: each member hears every message, its announcements and some gossip."""
    known = live_run_options()
    members: int = options.get("members") or options.get("nodes") or LIVE_MEMBERS
    senders: int = options.get("senders") or members
    rate: float = options.get("rate_per_s", known["rate_per_s"].default)
    seconds: float = options.get("seconds", known["seconds"].default)
    return FIXED_S + seconds * members * (ANNOUNCED * senders * rate + GOSSIP_PER_S) * DATAGRAM_S


def overhead_seconds(points: Iterable[Point]) -> float:
    """Return a guess of what comes before the first point: Spark, and loops that are not compiled yet."""
    names = {point.options["protocol"] for point in points if point.task == SIMULATE}
    found = [find_protocol(str(name)) for name in names]
    missing = {loop_name(protocol) for protocol in found if not is_compiled(protocol)}
    return SPARK_START_S + COMPILE_S * len(missing)


def member_count(options: Options) -> int:
    """Return the number of members, by the parameters alone; 1,000 where they do not tell."""
    if options.members is not None:
        return max(int(options.members), 1)
    if options.nodes is not None:
        return max(int(options.nodes), 1)
    if options.degree and options.height and 0 < options.height < 64 and options.degree > 0:
        return group_size(options.degree, options.height, options.fill or options.degree)
    return 1000
