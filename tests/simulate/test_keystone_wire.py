"""The keystone with wire traces: both drivers tell the same of what is transmitted, arrives and goes off.

The cases are those of the other keystones.  What the rows of any run have to fulfil is checked besides, from
the rows alone: it does not follow from two drivers being equal.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import pytest
import test_keystone
import test_keystone_acknowledging
import test_keystone_bimodal
import test_keystone_gossip
import test_keystone_hypercube
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from stablecast.simulate.state import DATA, HEARTBEAT, KEPT, NAK
from stablecast.simulate.timer_rows import TIMER_NAMES
from stablecast.simulate.trace_rows import ARRIVE_EVENT, NONE, REPAIR, ROW, TIMER_EVENT, TRANSMIT_EVENT
from stablecast.testing.reference.driver import TooLong
from stablecast.testing.reference.result import PlainRun

EXAMPLES = settings(
    max_examples=max(1, int(os.environ.get("KEYSTONE_EXAMPLES", "40")) // 6),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
GOSSIPED = ("gsgc", "gsgc-local")
LINKED = ("cubefulldist", "s_coord", "coord")
ACKNOWLEDGING = ("explicit", "timestamp", "vector")


class Row(NamedTuple):
    code: int
    time_ps: int
    member: int
    column: int
    seq: int
    size: int
    step: int
    peer: int
    kind: int
    number: int
    execution: int
    first_seq: int
    queue_ps: int
    service_ps: int
    since_ps: int


assert Row._fields == ROW


def rows_of(run: PlainRun) -> list[Row]:
    return [Row(*event) for event in run.events]


def check_rows(rows: list[Row]) -> None:
    """Check what is true of every wire trace."""
    sent: dict[tuple[int, int], list[Row]] = defaultdict(list)
    last_step: Counter[int] = Counter()
    last_number: Counter[int] = Counter()
    for row in rows:
        assert row.step >= last_step[row.member], row
        last_step[row.member] = row.step
        if row.code == TRANSMIT_EVENT:
            # What rides has its carrier's number, and stands behind it.
            assert row.number in (last_number[row.member], last_number[row.member] + 1)
            last_number[row.member] = row.number
            sent[row.member, row.number].append(row)
        elif row.code == ARRIVE_EVENT:
            check_arrival(row, sent[row.peer, row.number])
        elif row.code == TIMER_EVENT:
            assert row.kind in TIMER_NAMES
            assert NONE <= row.since_ps <= row.time_ps


def check_arrival(row: Row, sent: list[Row]) -> None:
    same = ("kind", "column", "seq", "first_seq", "size", "execution")
    origins = [
        origin
        for origin in sent
        if origin.peer in (NONE, row.member)
        and all(getattr(origin, name) == getattr(row, name) for name in same)
    ]
    assert origins, (row, sent)
    origin = origins[0]
    assert origin.time_ps <= row.time_ps
    assert row.queue_ps >= 0
    assert row.service_ps >= 0
    assert row.queue_ps + row.service_ps <= row.time_ps - origin.time_ps


def try_to_compare(compare: Any, *cases: Any, **options: Any) -> None:
    try:
        check_rows(rows_of(compare(*cases, wire=True, **options)))
    except TooLong:
        reject()


@pytest.mark.parametrize("protocol", ["coordp", "fulldist", "s_train"])
@EXAMPLES
@given(data=st.data())
def test_executions_with_data_that_is_lost_and_ridden_on(protocol: str, data: st.DataObject) -> None:
    try_to_compare(test_keystone.compare, data.draw(test_keystone.busy_cases(protocol)))


@pytest.mark.parametrize("protocol", ["train", "s_coordp"])
@EXAMPLES
@given(data=st.data())
def test_executions_alone(protocol: str, data: st.DataObject) -> None:
    try_to_compare(test_keystone.compare, data.draw(test_keystone.quiet_cases(protocol)))


@pytest.mark.parametrize("protocol", GOSSIPED)
@EXAMPLES
@given(data=st.data())
def test_gossip_with_members_that_come_and_go(protocol: str, data: st.DataObject) -> None:
    try_to_compare(test_keystone_gossip.compare, **data.draw(test_keystone_gossip.cases(protocol)))


@pytest.mark.parametrize("protocol", LINKED)
@EXAMPLES
@given(data=st.data())
def test_hypercubes_and_graphs_with_detours(protocol: str, data: st.DataObject) -> None:
    try_to_compare(test_keystone_gossip.compare, **data.draw(test_keystone_hypercube.cases(protocol)))


@pytest.mark.parametrize("protocol", ACKNOWLEDGING)
@EXAMPLES
@given(data=st.data())
def test_acknowledgements_and_stamps(protocol: str, data: st.DataObject) -> None:
    try_to_compare(test_keystone_gossip.compare, **data.draw(test_keystone_acknowledging.cases(protocol)))


@EXAMPLES
@given(data=st.data())
def test_bimodal_multicast(data: st.DataObject) -> None:
    try_to_compare(test_keystone_gossip.compare, **data.draw(test_keystone_bimodal.cases("bufferers")))


def test_everything_that_data_traffic_sends_is_told() -> None:
    rows = rows_of(
        test_keystone_gossip.compare(
            wire=True,
            protocol="coordp",
            topology="balanced",
            members=9,
            senders=6,
            messages=8,
            rate_per_s=50.0,
            data_loss=0.2,
            link_loss=0.05,
            nak_ms=10.0,
            piggyback_ms=30.0,
            buffer=1,
            period_ms=15.0,
            retry_ms=200.0,
            seed=3,
            until_ms=20_000.0,
            events_max=200_000,
        )
    )
    check_rows(rows)
    sent = {row.kind for row in rows if row.code == TRANSMIT_EVENT}
    arrived = {row.kind for row in rows if row.code == ARRIVE_EVENT}
    assert {DATA, REPAIR, NAK, HEARTBEAT, 0, 1} <= sent
    assert sent == arrived
    assert KEPT not in sent
    timers = Counter(TIMER_NAMES[row.kind] for row in rows if row.code == TIMER_EVENT)
    assert {"start", "heartbeat", "nak", "ride"} <= timers.keys(), timers
    waited = [row for row in rows if row.code == TRANSMIT_EVENT and row.since_ps != NONE]
    assert any(row.since_ps < row.time_ps for row in waited)
    assert all(row.kind < DATA for row in waited)
