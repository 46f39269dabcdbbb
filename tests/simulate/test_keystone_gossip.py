"""The keystone for protocols that run by timers: both drivers, with members that come and go."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from test_keystone import PACKETS, first_difference, meters_of_plain, meters_of_result, run_fast, some

from stablecast.simulate.options import Options
from stablecast.testing.reference.driver import TooLong, run_plain
from stablecast.testing.reference.result import PlainRun

EVENTS_MAX = 15_000
EXAMPLES = settings(
    max_examples=int(os.environ.get("KEYSTONE_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def compare(events_max: int = EVENTS_MAX, *, wire: bool = False, **options: Any) -> PlainRun:
    """Run the options both ways and demand the same; returns the plain run."""
    asked = Options(**options)
    setup = asked.setup()
    slow = run_plain(setup, wire=wire, events_max=events_max)
    rows, result = run_fast(setup, wire=wire)
    difference = first_difference(rows, slow.events)
    assert difference is None, f"{difference}\nreplay: compare(**{options!r})"
    fast_meters, slow_meters = meters_of_result(result), meters_of_plain(setup, slow)
    unequal = {
        name: (fast_meters[name], value) for name, value in slow_meters.items() if fast_meters[name] != value
    }
    assert not unequal, f"meters (fast, plain) differ: {unequal}\nreplay: compare(**{options!r})"
    return slow


@st.composite
def schedules(draw: st.DrawFn, members: int, *, joins: bool) -> str:
    """Draw what happens to members in the first seconds."""
    steps = []
    for what in draw(st.lists(st.sampled_from(("crash", "leave", "join", "partition")), max_size=4)):
        at = draw(st.integers(0, 3000))
        if what in ("crash", "leave"):
            steps.append(f"{what} {draw(st.integers(0, members - 1))} at {at}")
        elif what == "partition":
            steps.append(f"partition 0-{members // 2} from {at} to {at + draw(st.integers(1, 2000))}")
        elif joins and not any("join" in step for step in steps) and members > 1:
            steps.append(f"join {draw(st.integers(1, (members + 1) // 2))} at {at}")
    return "; ".join(steps)


@st.composite
def cases(draw: st.DrawFn, protocol: str) -> dict[str, Any]:
    """Draw a group, its gossip, and either data traffic or a number of rounds."""
    members = draw(st.integers(1, 13))
    options: dict[str, Any] = {
        "protocol": protocol,
        "topology": "balanced",
        "members": members,
        "nodes": members + draw(st.sampled_from((0, 4))),
        "costs": draw(st.sampled_from(("wan1997", "lan1997", "links-only"))),
        "step_s": draw(st.sampled_from((0.05, 0.2, 1.0))),
        "seed": draw(st.integers(0, 1000)),
        "until_ms": 30_000.0,
    }
    options |= draw(some(subgroup=(1, 2, 3), omissions=(1, 2), link_loss=(0.1,), queue_limit=(4,)))
    options |= draw(some(threshold_steps=(4, 8, 20)))
    options |= draw(PACKETS)
    if protocol == "gsgc":
        options |= draw(some(share=("piggyback", "both")))
    else:
        sizes = {"local_size": draw(st.integers(1, 6))}
        sizes["controllers"] = draw(st.integers(1, sizes["local_size"]))
        options |= sizes | draw(
            some(nearby=(True,), controller_step_s=(0.05, 0.3), levels=(3, 4), chosen_by=("load",))
        )
    if protocol == "gsgc" and "threshold_steps" in options:
        options |= draw(some(quiet_steps=(2, 5), admit_per_round=(1,), join_window_s=(0.02,), handlers=(1,)))
    joins = protocol == "gsgc" and options.get("threshold_steps", 0) > 0
    options["faults"] = draw(schedules(members, joins=joins))
    if draw(st.booleans()):
        options |= {"messages": draw(st.integers(1, 8)), "senders": draw(st.integers(1, members))}
        options |= draw(some(rate_per_s=(1.0, 20.0), buffer=(2, 8), data_loss=(0.1,)))
        if protocol == "gsgc":
            options |= draw(some(fill_messages=(1, 6), rest_steps=(0, 4)))
    else:
        options |= {"executions": draw(st.integers(1, 4))} | draw(some(stop_at_first=(True,)))
    return options


@pytest.mark.parametrize("protocol", ["gsgc", "gsgc-local"])
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace(protocol: str, data: st.DataObject) -> None:
    try:
        compare(**data.draw(cases(protocol)))
    except TooLong:
        reject()


def test_a_group_that_loses_a_member_and_gains_one() -> None:
    run = compare(
        protocol="gsgc",
        topology="balanced",
        members=10,
        costs="lan1997",
        step_s=0.1,
        threshold_steps=20,
        messages=20,
        senders=4,
        data_loss=0.05,
        faults="crash 7 at 500; join 1 at 900",
        events_max=200_000,
    )
    assert run.completed
    assert run.false_suspicions == 0


def test_a_partition_that_heals() -> None:
    run = compare(
        protocol="gsgc",
        topology="balanced",
        members=8,
        costs="lan1997",
        step_s=0.1,
        threshold_steps=15,
        messages=5,
        senders=2,
        faults="partition 0-3 from 100 to 4000",
        events_max=200_000,
    )
    assert run.completed
    assert run.false_suspicions > 0


def test_all_controllers_of_a_local_group_but_one_crash() -> None:
    run = compare(
        protocol="gsgc-local",
        topology="balanced",
        members=20,
        costs="lan1997",
        step_s=0.1,
        controller_step_s=0.1,
        local_size=5,
        controllers=3,
        threshold_steps=15,
        executions=3,
        faults="crash 3,8,11 at 0",
        events_max=200_000,
    )
    assert run.completed
