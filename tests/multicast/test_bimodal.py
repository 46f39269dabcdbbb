"""Bimodal multicast: nothing twice, all or none, and what the buffer policies keep."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.multicast.buffer_policy import POLICIES
from stablecast.simulate import Result, simulate
from stablecast.simulate.options import Options
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
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        Options(**(GROUP | {"members": 10} | options)).setup()
