"""Run a simulated live group.

>>> from stablecast.simulate import costs, topology
>>> setup = LiveSetup(protocol="gsgc", topology=topology("star", members=4), costs=costs("lan"), seconds=1)
>>> result = simulate_live(setup)
>>> result.completed, result.messages, result.deliveries
(True, 40, 120)
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from stablecast.engine.rows import Row, put
from stablecast.engine.warm import warm
from stablecast.errors import InvalidInput
from stablecast.simulate.costs import PS_PER_US
from stablecast.simulate.live.driver import DATAGRAM, PS_PER_S, LiveDriver, Write
from stablecast.simulate.live.result import LiveResult
from stablecast.simulate.live.setup import LiveSetup
from stablecast.simulate.room import allowed_bytes, resident_bytes
from stablecast.trace.log import EventLog

LOOK_EVERY = 4096
"""Events between two looks at the progress."""
Progress = Callable[[int, int], None]
"""Called with the events so far, and the simulated picoseconds."""


def simulate_live(
    setup: LiveSetup, *, progress: Progress | None = None, trace: Path | None = None, wire: bool = False
) -> LiveResult:
    """Run a group to its end; ``trace`` is a new file of JSON lines for its events.

    With ``wire`` that is a wire trace: it also tells each datagram and timer.
    """
    for choice in setup.options.choices or (None,):
        warm(choice)
    began = time.perf_counter()
    with _traced(trace, wire=wire) as write, _no_collections():
        driver = LiveDriver(setup, write=write, wire=wire and trace is not None)
        driver.begin()
        _run(driver, progress)
    return _result(driver, time.perf_counter() - began)


def _run(driver: LiveDriver, progress: Progress | None) -> None:
    """Take events until all is over, or the time is."""
    setup, calendar = driver.setup, driver.calendar
    until_ps = round((setup.seconds + setup.settle_s) * PS_PER_S)
    allowed, at_first = allowed_bytes(), resident_bytes()
    while calendar.run(until_ps, LOOK_EVERY):
        if resident_bytes() - at_first > allowed:
            gc.collect()
            if resident_bytes() - at_first > allowed:
                raise InvalidInput(_too_large(driver, allowed))
        if progress is not None:
            progress(calendar.handled, calendar.now_ps)


def _too_large(driver: LiveDriver, allowed: int) -> str:
    return (
        f"the group takes more than {allowed >> 20:,} MiB after {driver.calendar.now_ps / PS_PER_S:.3g}"
        " simulated seconds, and no more is allowed: its members send more than its hosts and links carry"
        " (take a lower rate, a longer step, another protocol, or fewer members)"
    )


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Keep what a thousand members are made of from being looked through for garbage again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _traced(file: Path | None, *, wire: bool) -> Iterator[Write | None]:
    """Yield what writes rows to a file, which appears when all went well."""
    if file is None:
        yield None
        return
    beside = file.with_name(f".{file.name}.part")
    beside.unlink(missing_ok=True)
    try:
        with EventLog(beside, wire=wire) as log:
            yield partial(_put_all, log)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _put_all(log: EventLog, rows: list[Row]) -> None:
    for row in rows:
        put(row, log)


def _result(driver: LiveDriver, wall_s: float) -> LiveResult:
    setup, network, meter = driver.setup, driver.network, driver.meter
    there = [seat.engine for seat in driver.seats if seat.engine is not None]
    engines = [*driver.past, *there]
    counters = [engine.counters for engine in engines]
    for engine in there:
        if engine.in_view is not None:
            engine.counters.add(engine.in_view.data.counts())
    stable = meter.time_to_stable_us() or (None,) * 4
    delivery = meter.time_to_delivery_us() or (None, None, None, 0.0)
    views = Counter(engine.view.id for engine in there if engine.view is not None)
    steps_s = [engine.in_view.pace.step for engine in there if engine.in_view is not None]
    peaks = [each.peak_bytes for each in counters]
    busiest, busy_ps = network.busiest_member()
    simulated_ps = max(driver.calendar.now_ps, 1)
    return LiveResult(
        protocol=setup.options.protocol_name,
        members=setup.topology.member_count,
        senders=setup.sender_count,
        seed=setup.seed,
        topology=setup.topology.name,
        topology_label=setup.topology.label,
        completed=driver.is_over,
        messages=meter.messages,
        messages_stable=meter.stable,
        messages_in_smaller_view=meter.in_smaller_view,
        tts_mean_us=stable[0],
        tts_p50_us=stable[1],
        tts_p99_us=stable[2],
        tts_max_us=stable[3],
        deliveries=meter.deliveries,
        deliveries_given_up=meter.given_up,
        messages_given_up=len(meter.given_up_somewhere),
        delivery_p50_us=delivery[1],
        delivery_p99_us=delivery[2],
        delivery_max_us=delivery[3],
        blocked=meter.blocked,
        repairs_asked=sum(each.repairs_asked for each in counters),
        repairs_sent=sum(each.repairs_sent for each in counters),
        datagrams=network.sent[DATAGRAM],
        sent_bytes=network.sent_bytes[DATAGRAM],
        data_bytes_sent=sum(each.data_bytes for each in counters),
        control_bytes_sent=sum(each.control_bytes for each in counters),
        repair_bytes_sent=sum(each.repair_bytes for each in counters),
        across_datagrams=driver.across_datagrams,
        across_bytes=driver.across_bytes,
        step_us=sum(steps_s) / len(steps_s) * 1e6 if steps_s else 0.0,
        hop_bytes=network.hop_bytes[DATAGRAM],
        packet_hops=network.packet_hops[DATAGRAM],
        peak_bytes_max=max(peaks, default=0),
        peak_bytes_mean=sum(peaks) / len(peaks) if peaks else 0.0,
        views=max((each.views for each in counters), default=0),
        members_at_end=max(views.values(), default=0),
        views_at_end=len(views),
        queue_max=network.queue_max,
        queue_mean=network.queue_sum / network.queue_counts if network.queue_counts else 0.0,
        host_queue_max=network.host_queue_max(),
        host_load_max=busy_ps / simulated_ps,
        host_load_member=busiest,
        host_load_mean=network.mean_busy_ps() / simulated_ps,
        link_load_max=network.busiest_link_ps() / simulated_ps,
        dropped=network.dropped,
        lost=network.lost,
        refused=sum(sum(engine.refused().values()) for engine in engines),
        simulated_us=driver.calendar.now_ps / PS_PER_US,
        events=driver.calendar.handled,
        digest=meter.digest,
        told=tuple(meter.told),
        wall_s=wall_s,
    )
