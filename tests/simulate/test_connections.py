"""Receivers that connect and disconnect during a run: both drivers alike, the rules kept, Figure 4 without.

What a receiver has to have is looked at from outside, by the plain driver and by the compiled one's checkers:
a sender that calls a message stable too early ends the run.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from test_keystone import some
from test_keystone_gossip import EXAMPLES, compare

from stablecast.errors import InvalidInput, SafetyViolation
from stablecast.simulate import Setup, simulate
from stablecast.simulate.connecting import drawn_changes, with_connections
from stablecast.simulate.faults import (
    CONNECT,
    DISCONNECT,
    DROP,
    LOSE_RECEIVER,
    LOSE_SENDER,
    PS_PER_MS,
    read_schedule,
)
from stablecast.simulate.options import Options
from stablecast.testing.reference.driver import TooLong, run_plain

PROTOCOLS = ("timestamp", "vector")
GROUP: dict[str, Any] = {
    "topology": "balanced",
    "nodes": 10,
    "senders": 4,
    "receivers": 3,
    "messages": 20,
    "rate_per_s": 50.0,
    "ack_to": "senders",
    "ack_every_ms": 20.0,
    "until_ms": 20_000.0,
}
"""Members 0, 2, 5 and 7 send."""
LOSSES: dict[str, Any] = {"link_loss": 0.05, "reorder": 0.3, "detour_us": 150_000.0, "detect_ms": 30.0}
DRAWN: dict[str, Any] = {"connects_per_s": 30.0, "connected_ms": 80.0}
HARSH: dict[str, Any] = LOSSES | {
    "messages": 60,
    "rate_per_s": 30.0,
    "ack_every_ms": 100.0,
    "connects_per_s": 60.0,
    "connected_ms": 400.0,
}
"""A receiver is late by several messages when it is let in."""
BY_HAND = (
    "drop 3-4 by 0 at 100; crash 4 at 150; connect 3 to 0 at 160; disconnect 1,3,4,6 from 5 at 180;"
    " connect 1 to 5 at 190; connect 6 to 5 at 300; crash 2 at 310"
)


@st.composite
def cases(draw: st.DrawFn, protocol: str) -> dict[str, Any]:
    """Draw a small group, what goes wrong in it, and who connects to whom."""
    options: dict[str, Any] = {
        "protocol": protocol,
        "topology": draw(st.sampled_from(("random-graph", "balanced"))),
        "nodes": draw(st.integers(3, 10)),
        "ack_to": "senders",
        "seed": draw(st.integers(0, 1000)),
        "messages": draw(st.integers(1, 6)),
        "rate_per_s": draw(st.sampled_from((20.0, 200.0))),
        "connects_per_s": draw(st.sampled_from((10.0, 100.0))),
        "connected_ms": draw(st.sampled_from((5.0, 60.0))),
        "until_ms": 600.0,
    }
    members = options["members"] = options["nodes"]
    options["senders"] = draw(st.integers(1, members))
    options["receivers"] = draw(st.integers(1, members - 1))
    options |= draw(some(ack_every_ms=(7.0, 30.0), cast=("unicast", "multicast"), buffer=(1, 3)))
    options |= draw(some(link_loss=(0.1, 0.3), duplicate=(0.3,), reorder=(0.4,), data_loss=(0.2,)))
    options |= draw(
        some(detour_us=(40.0, 50_000.0), detect_ms=(-1.0, 0.5, 30.0), nak_ms=(5.0,), piggyback_ms=(8.0, 40.0))
    )
    options |= draw(
        some(faults=("crash 1 at 30", "disconnect 1 from 0 at 10; drop 2 by 0 at 20; crash 0 at 40"))
    )
    if protocol == "timestamp":
        options |= draw(some(clock=("logical", "hybrid"), skew_us=(30_000.0,), no_rules=(True,)))
    return options


@pytest.mark.parametrize("protocol", PROTOCOLS)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace(protocol: str, data: st.DataObject) -> None:
    try:
        compare(**data.draw(cases(protocol)))
    except TooLong:
        reject()


@pytest.mark.parametrize("more", [{}, LOSSES, LOSSES | {"faults": BY_HAND}], ids=["calm", "losses", "faults"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_receivers_come_and_go_and_all_becomes_stable(protocol: str, more: dict[str, Any]) -> None:
    run = compare(events_max=200_000, protocol=protocol, seed=4, **GROUP, **DRAWN, **more)
    assert run.completed
    assert len(run.connect_times_ps) > 5
    assert run.early == 0


@pytest.mark.parametrize("clock", ["physical", "logical", "hybrid"])
def test_a_sender_whose_clock_is_behind_lets_a_receiver_in_once_it_is_not(clock: str) -> None:
    group = GROUP | {"protocol": "timestamp", "clock": clock, "skew_us": 300_000.0}
    runs = [compare(events_max=200_000, seed=seed, **group, **DRAWN) for seed in range(3)]
    waited_ps = max(max(run.connect_times_ps) for run in runs)
    assert all(run.completed for run in runs)
    assert (waited_ps > 50 * PS_PER_MS) == (clock == "physical")


def test_figure_4_comes_about_without_the_rules_and_not_with_them() -> None:
    early = {}
    for no_rules in (True, False):
        options = GROUP | HARSH | {"protocol": "timestamp", "no_rules": no_rules}
        runs = [simulate(Options(**options, seed=seed).setup()) for seed in range(20)]
        early[no_rules] = sum(run.early for run in runs)
        assert no_rules or all(run.completed for run in runs)
    assert early[True] > 10
    assert early[False] == 0


def test_both_drivers_stop_at_what_is_called_stable_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rules it is counted, as asked for; where that is not asked for, the run ends."""
    options = GROUP | HARSH | {"protocol": "timestamp", "no_rules": True, "until_ms": 3000.0}
    counted = {}
    for seed in range(8):
        counted[seed] = simulate(Options(**options, seed=seed).setup()).early
    assert {count > 0 for count in counted.values()} == {True, False}
    monkeypatch.setattr(Setup, "is_lenient", False)
    for seed, count in counted.items():
        setup = Options(**options, seed=seed).setup()
        stopped = []
        for run in (simulate, run_plain):
            try:
                run(setup)
            except SafetyViolation as error:
                stopped.append(str(error))
        assert len(stopped) == 2 * (count > 0)
        assert all("called stable while a member lacks it" in why for why in stopped)


def schedule_of(text: str, told_after_ms: float = 10.0) -> list[tuple[float, int, int, int, int]]:
    """Return what happens by some steps to members 0 and 2, which send; member 1 receives from 0."""
    schedule = with_connections(read_schedule(text, 4), (0, 2), ((1,), ()), told_after_ms)
    return [(f.at_ps / PS_PER_MS, f.what, f.member, f.side, f.number) for f in schedule.faults]


def test_connections_are_numbered_and_the_other_side_is_told() -> None:
    assert schedule_of("connect 3 to 0 at 5; disconnect 3 from 0 at 30; connect 3 to 0 at 60") == [
        (5, CONNECT, 3, 0, 1),
        (30, DISCONNECT, 3, 0, 1),
        (40, LOSE_RECEIVER, 0, 3, 1),
        (60, CONNECT, 3, 0, 2),
    ]
    assert schedule_of("disconnect 1 from 0 at 5") == [(5, DISCONNECT, 1, 0, 0), (15, LOSE_RECEIVER, 0, 1, 0)]
    assert schedule_of("drop 1 by 0 at 5") == [(5, DROP, 0, 1, 0), (15, LOSE_SENDER, 1, 0, 0)]


def test_a_new_connection_tells_that_the_one_before_is_closed() -> None:
    assert schedule_of("disconnect 1 from 0 at 5; connect 1 to 0 at 9") == [
        (5, DISCONNECT, 1, 0, 0),
        (9, CONNECT, 1, 0, 1),
    ]


def test_steps_without_effect_are_left_out() -> None:
    assert schedule_of("connect 1 to 0 at 5; disconnect 3 from 2 at 6; drop 3 by 2 at 7") == []
    # A receiver that its sender has dropped is connected, for all that it knows, until it is told.
    assert [
        each[1] for each in schedule_of("drop 1 by 0 at 5; connect 1 to 0 at 9; connect 1 to 0 at 20")
    ] == [
        DROP,
        LOSE_SENDER,
        CONNECT,
    ]
    assert schedule_of("disconnect 1 from 0 at 5", -1.0) == [(5, DISCONNECT, 1, 0, 0)]


def test_drawn_receivers_connect_where_they_are_not_receivers_already() -> None:
    drawn = drawn_changes((0, 2), ((1,), ()), 4, per_s=1000.0, lasting_ms=5.0, until_ms=200.0, seed=1)
    busy: dict[tuple[int, int], int] = {}
    assert len(drawn) > 200
    for connect, disconnect in zip(drawn[::2], drawn[1::2], strict=True):
        pair = (connect.member, connect.side)
        assert (connect.what, disconnect.what) == (CONNECT, DISCONNECT)
        assert pair == (disconnect.member, disconnect.side) != (1, 0)
        assert pair[0] != pair[1]
        assert busy.get(pair, 0) <= connect.at_ps < disconnect.at_ps
        busy[pair] = disconnect.at_ps


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"ack_to": "all"}, "accepted: ack_to senders"),
        ({"receivers": None}, "give receivers"),
        (
            {"protocol": "explicit", "ack_to": None},
            "cannot connect to senders in explicit (accepted: timestamp, vector)",
        ),
        ({"faults": "connect 3 to 1 at 5"}, "member 1 sends nothing to member 3"),
        ({"faults": "connect 3 from 0 at 5"}, "is not understood"),
        ({"faults": "connect 3 to 99 at 5"}, "no member"),
        ({"connects_per_s": 0.0, "no_rules": True}, "no_rules changes nothing without connections"),
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_refused(options: dict[str, Any], complaint: str) -> None:
    given = {"protocol": "timestamp"} | GROUP | DRAWN | options
    with pytest.raises(InvalidInput, match=complaint.replace("(", r"\(").replace(")", r"\)")):
        Options(**{name: value for name, value in given.items() if value is not None}).setup()
