"""Bimodal multicast: nothing twice, all or none, and what the buffer policies keep."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.multicast.bimodal_result import Counters, Delivery, summarise
from stablecast.multicast.buffer_policy import POLICIES, Buffers
from stablecast.protocols.contract import Sizes
from stablecast.simulate import Result, simulate
from stablecast.simulate.options import Options
from stablecast.testing.reference.result import Stacked
from stablecast.theory.buffering import failure
from stablecast.theory.epidemic import spread_rounds

GROUP: dict[str, Any] = {"protocol": "bimodal", "topology": "balanced", "costs": "links-only"}
LOSSES = st.sampled_from((0.0, 0.01, 0.1, 0.3))


def run(**options: Any) -> Result:
    asked = Options(**(GROUP | options))
    print(asked.command())
    return simulate(asked.setup())


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(
    members=st.integers(1, 40),
    senders=st.integers(1, 4),
    messages=st.integers(1, 60),
    seed=st.integers(0, 2**32),
    link_loss=LOSSES,
    data_loss=LOSSES,
    send_omission=LOSSES,
)
def test_nothing_is_delivered_twice_and_with_until_stable_all_or_none(
    policy: str, members: int, senders: int, messages: int, seed: int, **losses: float
) -> None:
    senders = min(senders, members)
    found = run(
        policy=policy,
        members=members,
        senders=senders,
        messages=messages,
        seed=seed,
        rate_per_s=200.0,
        **losses,
    )
    assert found.completed
    delivery = found.delivery
    assert delivery is not None
    assert delivery.messages_delivered == senders * messages
    if policy == "until-stable":
        assert delivery.violations == 0
    if delivery.violations == 0:
        # Each member has each message, and delivered no more than that.
        assert delivery.deliveries == members * senders * messages
    assert delivery.deliveries <= members * senders * messages


@settings(max_examples=40)
@given(
    members=st.integers(2, 25),
    senders=st.integers(1, 3),
    crashes=st.lists(st.tuples(st.integers(0, 24), st.integers(0, 500)), min_size=1, max_size=3),
    detect_ms=st.sampled_from((0.0, 50.0, 300.0)),
    link_loss=LOSSES,
    seed=st.integers(0, 2**32),
)
def test_until_stable_never_violates_when_members_crash(
    members: int, senders: int, crashes: list[tuple[int, int]], **options: Any
) -> None:
    """Senders too: what any survivor has delivered comes to all of them."""
    gone = {member % members: at for member, at in crashes}
    faults = "; ".join(f"crash {member} at {at}" for member, at in gone.items())
    found = run(
        policy="until-stable", members=members, senders=min(senders, members), messages=30, rate_per_s=100.0,
        faults=faults, until_ms=120_000.0, **options,
    )  # fmt: skip
    assert found.delivery is not None
    assert found.delivery.violations == 0


def test_violations_are_as_rare_as_equation_3_says() -> None:
    """Independent losses; violations are binomial with P_fail at most, within 4 standard deviations."""
    members, copies, loss, messages = 30, 3.0, 0.05, 1000
    violations, sent = 0, 0
    for seed in range(6):
        found = run(
            policy="bufferers", members=members, copies=copies, data_loss=loss, messages=messages,
            rate_per_s=500.0, seed=seed, no_push=True,
        ).delivery  # fmt: skip
        assert found is not None
        violations, sent = violations + found.violations, sent + messages
    expected = failure(members, copies, loss) * sent
    print(f"{violations} violations of {sent}, {expected:.0f} expected")
    assert violations <= expected + 4 * math.sqrt(expected)
    assert violations >= expected / 3  # the formula is no idle bound


def test_a_hash_spreads_messages_over_c_members() -> None:
    for hash_name in ("mix", "shuffle"):
        found = run(
            policy="bufferers", members=60, copies=6.0, messages=2000, rate_per_s=1000.0, hash=hash_name
        )
        assert found.delivery is not None
        assert found.delivery.places_mean == pytest.approx(6, rel=0.08)
        assert found.delivery.peaks.shape == (60,)
        assert found.delivery.places.shape == (2000,)


def test_policies_keep_less_and_less() -> None:
    kept = {}
    for policy in ("rounds", "two-buffers", "bufferers"):
        found = run(policy=policy, members=100, messages=600, rate_per_s=100.0, link_loss=0.001, copies=6.0)
        assert found.delivery is not None
        kept[policy] = found.delivery.buffer_mean
    assert kept["rounds"] > 3 * kept["two-buffers"] > 3 * kept["bufferers"]


def test_messages_are_kept_for_as_many_rounds_as_gossip_needs() -> None:
    setup = Options(**GROUP, members=100).setup()
    assert setup.param_values["keep"] == spread_rounds(100, 0.001)
    assert Options(**GROUP, members=100, keep_rounds=7).setup().param_values["keep"] == 7


def test_a_send_omission_is_found_out_and_multicast_again() -> None:
    found = run(
        policy="two-buffers", members=60, messages=100, rate_per_s=50.0, send_omission=0.1, no_push=True
    )
    assert found.delivery is not None
    assert found.delivery.omitted > 3
    assert found.delivery.recasts > 0
    assert found.delivery.violations == 0
    without = run(
        policy="two-buffers", members=60, messages=100, rate_per_s=50.0, send_omission=0.1, no_push=True,
        no_recast=True,
    )  # fmt: skip
    assert without.delivery is not None
    assert without.delivery.recasts == 0
    assert without.delivery.repairs > found.delivery.repairs


def test_a_sender_that_has_not_kept_a_message_has_a_bufferer_multicast_it_again() -> None:
    lossy: dict[str, Any] = {"policy": "bufferers", "members": 60, "messages": 100, "copies": 6.0}
    found = run(**lossy, data_loss=0.3, rate_per_s=50.0, no_push=True)
    assert found.delivery is not None
    # The sender keeps a tenth of its messages, so nearly all of these are multicast by others.
    assert found.delivery.recasts > 50
    without = run(**lossy, data_loss=0.3, rate_per_s=50.0, no_push=True, no_recast=True).delivery
    assert without is not None
    assert without.recasts == 0
    assert without.repairs > 1.2 * found.delivery.repairs


def test_nobody_asks_again_before_an_answer_is_due() -> None:
    """Where repairs alone bring what was lost, few come twice; asking in every round a fifth did."""
    found = run(
        policy="bufferers", topology="tree", degree=2, height=6, nodes=100, messages=500, rate_per_s=100.0,
        senders=1, link_loss=0.015, propagation_us=5000.0, copies=7.0, no_push=True, no_recast=True,
    ).delivery  # fmt: skip
    assert found is not None
    print(f"{found.repairs_twice} of {found.repairs} repairs came twice")
    assert found.repairs > 1000
    assert found.repairs_twice <= 0.03 * found.repairs
    assert found.duplicates == found.repairs_twice


JOINED: dict[str, Any] = {"members": 10, "senders": 1, "messages": 20, "rate_per_s": 10.0}


@pytest.mark.parametrize("policy", ["rounds", "bufferers", "two-buffers"])
def test_who_joins_gets_all_that_is_sent_from_then_on_and_nothing_else(policy: str) -> None:
    """Messages are sent every 100 ms, so that the last 14 come after 505 ms."""
    found = run(**JOINED, policy=policy, copies=10.0, faults="join 3 at 505", data_loss=0.2).delivery
    assert found is not None
    assert (found.deliveries, found.violations) == (7 * 20 + 3 * 14, 0)


def test_who_joins_is_counted_in_by_those_that_are_told() -> None:
    """A third more members: by the larger views each message has the same number of bufferers."""
    options = {"members": 80, "senders": 1, "messages": 400, "rate_per_s": 200.0, "copies": 8.0}
    told, untold = (
        run(**options, policy="bufferers", faults="join 40 at 0", detect_ms=detect_ms).delivery
        for detect_ms in (0.0, -1.0)
    )
    assert told is not None
    assert untold is not None
    assert told.places_mean == pytest.approx(8, rel=0.1)
    # Members that were there count 40; those that joined count these and themselves.
    assert untold.places_mean == pytest.approx(16, rel=0.1)


def test_views_that_lack_members_have_more_bufferers_and_deliver_all_the_same() -> None:
    found = run(
        policy="bufferers", members=60, senders=1, messages=1000, rate_per_s=200.0, copies=6.0,
        view_missing=0.25, data_loss=0.02,
    ).delivery  # fmt: skip
    assert found is not None
    assert found.places_mean == pytest.approx(6 / 0.75, rel=0.06)
    assert found.violations <= 2


NONE = np.array([0])


def summary_of(got: list[list[int]], before: list[int], alive: list[bool]) -> Delivery:
    """Summarise members that have got these of 4 messages of one source."""
    sizes = Sizes(len(got), 1, 1, 4, {"messages": 4, "policy": 0, "copies": 6000})
    sets = [[sum(1 << message for message in each)] for each in got]
    numbers = {name: 0 for each in (Counters, Buffers) for name in each.__annotations__}
    members = [
        SimpleNamespace(
            **(numbers | {"got": np.array(held), "kept": NONE, "omitted": NONE, "since": np.ones(4, int)})
        )
        for held in sets
    ]
    joined = np.array(before)[:, None]
    return summarise(sizes, Stacked(members), np.array(alive), joined, 1000)  # type: ignore[arg-type]


ALL = [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("got", "before", "alive", "violations"),
    [
        ([ALL, ALL, ALL], [0, 0, 0], [True, True, True], 0),
        ([ALL, [0, 1, 3], ALL], [0, 0, 0], [True, True, True], 1),
        # What was sent before a member joined it need not have, and having it obliges nobody.
        ([ALL, [2, 3], ALL], [0, 2, 0], [True, True, True], 0),
        ([ALL, [1, 3], ALL], [0, 2, 0], [True, True, True], 1),
        ([[0, 2, 3], ALL, [0, 2, 3]], [0, 2, 0], [True, True, True], 0),
        # Nor is anything owed to a member that is gone, or because it had it.
        ([ALL, [], ALL], [0, 0, 0], [True, False, True], 0),
        ([[0], ALL, [0]], [0, 0, 0], [True, False, True], 0),
        ([[0], [1], [0]], [0, 0, 0], [True, True, True], 2),
    ],
)
def test_a_message_is_owed_to_those_that_were_there_and_are(
    got: list[list[int]], before: list[int], alive: list[bool], violations: int
) -> None:
    assert summary_of(got, before, alive).violations == violations


def test_a_budget_is_kept_and_what_makes_room_is_counted() -> None:
    found = run(members=20, messages=200, rate_per_s=200.0, budget_messages=15)
    assert found.delivery is not None
    assert found.delivery.buffer_max == 15
    assert found.delivery.evicted > 0
    by_bytes = run(members=20, messages=200, rate_per_s=200.0, budget_bytes=15_999, data_bytes=1000)
    assert by_bytes.delivery == found.delivery


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"policy": "some"}, "unknown policy 'some'"),
        ({"copies": 0.0}, "copies 0.0"),
        ({"hash": "md5"}, "unknown hash 'md5'"),
        ({"send_omission": 1.0}, "send_omission 1.0"),
        ({"data_loss": 1.0}, "data_loss 1.0"),
        ({"keep_rounds": -1}, "keep_rounds -1"),
        ({"budget_messages": 0}, "budget_messages 0 is not accepted"),
        ({"keep_rounds": 0}, "keep_rounds 0 is not accepted"),
        ({"budget_bytes": 10}, "room for one message"),
        ({"policy": "two-buffers", "short_rounds": 40, "keep_rounds": 10}, "short_rounds 40 is more than"),
        ({"gossip_every_ms": 0.0}, "gossip_every_ms 0.0"),
        ({"clock": "logical"}, "bimodal has no option clock"),
        ({"policy": "until-stable", "view_missing": 0.1}, "waits for those alone whom a member knows"),
        ({"policy": "until-stable", "senders": 1, "faults": "join 2 at 5"}, "members that join later"),
        ({"senders": 10, "faults": "join 2 at 5"}, "member 8 sends, and cannot join later in bimodal"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        Options(**(GROUP | {"members": 10} | options)).setup()
