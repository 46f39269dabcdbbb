"""``protocol="auto"``: decided at view changes, known to all, and not worse than the usual protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stablecast
from stablecast.engine.auto import (
    ACKNOWLEDGED,
    BITS,
    SPARING,
    TABLE,
    USUAL,
    Traffic,
    decide,
    row_in,
    with_row,
)
from stablecast.engine.options import Options
from stablecast.engine.results import ProtocolChosen
from stablecast.errors import InvalidInput, JoinFailed
from stablecast.simulate import costs, topology
from stablecast.simulate.live.run import simulate_live
from stablecast.simulate.live.setup import LiveSetup
from stablecast.testing import Network, run


@given(st.integers(1, (1 << 64) - 1), st.sampled_from(range(len(TABLE))))
def test_a_views_id_says_what_it_runs_and_is_never_0(drawn, row):
    marked = with_row(drawn, row)
    assert row_in(marked) == row
    assert 0 < marked < 1 << 64
    if drawn >> BITS:
        assert marked >> BITS == drawn >> BITS


@given(st.integers(0, (1 << 64) - 1))
def test_any_id_is_understood(drawn):
    assert row_in(drawn) in range(len(TABLE))


def traffic(**changes):
    return Traffic(**({"members": 6, "sources": 6, "parts": 600, "seconds": 2.0} | changes))


@pytest.mark.parametrize(
    ("goal", "measured", "present", "row"),
    [
        ("soonest", traffic(), USUAL, ACKNOWLEDGED),
        ("soonest", traffic(parts=600_000), ACKNOWLEDGED, USUAL),
        ("soonest", traffic(members=40), ACKNOWLEDGED, USUAL),
        ("soonest", traffic(parts=3), ACKNOWLEDGED, ACKNOWLEDGED),
        ("soonest", traffic(parts=3), USUAL, USUAL),
        ("soonest", traffic(sources=1, parts=20_000), USUAL, USUAL),
        ("least-bytes", traffic(), USUAL, SPARING),
    ],
)
def test_what_is_decided_from_what_was_measured(goal, measured, present, row):
    assert decide(goal, measured, present) == row


def group_of(protocol, **more):
    """A group of five into which a sixth member comes after a second."""
    return LiveSetup(
        protocol=protocol,
        topology=topology("star", members=6),
        costs=costs("lan", **more),
        rate_per_s=30.0,
        seconds=3.0,
        faults="join 5 at 1000",
        seed=4,
    )


def chosen(result):
    return [told for told in result.told if told.kind == "ProtocolChosen"]


@pytest.mark.parametrize("more", [{}, {"propagation_us": 2500}, {"link_loss": 0.02}])
def test_a_group_that_decides_is_not_slower_than_one_that_is_told_nothing(more):
    auto, usual = (simulate_live(group_of(name, **more)) for name in ("auto", "s_coord"))
    assert auto.completed
    assert auto.tts_p50_us <= usual.tts_p50_us
    assert {told.member for told in chosen(auto) if "explicit" in told.about} == {f"m{k}" for k in range(6)}


def test_the_same_seed_decides_the_same():
    assert simulate_live(group_of("auto")).digest == simulate_live(group_of("auto")).digest


def test_a_crash_is_a_view_change_that_decides_as_well():
    setup = LiveSetup(
        protocol="auto",
        topology=topology("star", members=5),
        costs=costs("lan"),
        rate_per_s=30.0,
        seconds=6.0,
        faults="crash 0 at 1000",
        seed=4,
    )
    result = simulate_live(setup)
    assert result.completed
    assert {told.member for told in chosen(result) if "explicit" in told.about} == {"m1", "m2", "m3", "m4"}


def test_a_live_group_says_what_it_decides():
    async def main():
        network = Network(seed=1)
        ann = await stablecast.join("orders", member="ann", transport=network.transport(), protocol="auto")
        bob = await stablecast.join(
            "orders", member="bob", transport=network.transport(), seeds=[ann.address], protocol="auto"
        )
        for _ in range(30):
            receipt = await ann.send(b"one pizza")
        assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)
        events = bob.events()
        cid = await stablecast.join(
            "orders", member="cid", transport=network.transport(), seeds=[ann.address], protocol="auto"
        )
        async for event in events:
            if isinstance(event, ProtocolChosen) and event.protocol == "explicit":
                break
        receipt = await cid.send(b"another")
        assert isinstance(await receipt.stable(timeout=5.0), stablecast.Stable)
        for group in (ann, bob, cid):
            await group.close()

    run(main())


def test_who_looks_for_something_else_is_not_let_in():
    async def main():
        network = Network(seed=1)
        ann = await stablecast.join("orders", member="ann", transport=network.transport(), protocol="auto")
        for other in ({"protocol": "auto", "goal": "least-bytes"}, {"protocol": "s_coord"}):
            with pytest.raises(JoinFailed, match="this group runs protocol 'auto'"):
                await stablecast.join("orders", transport=network.transport(), seeds=[ann.address], **other)
        await ann.close()

    run(main())


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"protocol": "auto", "goal": "p99"}, "goal 'p99' is not accepted"),
        ({"goal": "least-bytes"}, "needs protocol 'auto'"),
        ({"protocol": "auto", "protocol_options": {"tree_degree": 3}}, "has no options"),
        ({"protocol": "auto", "delivery": "bimodal"}, "a protocol is not accepted with bimodal delivery"),
    ],
)
def test_nonsense_is_refused(fields, told):
    with pytest.raises(InvalidInput, match=told):
        Options(group="orders", **fields)
