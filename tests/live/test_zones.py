"""Local groups by zone: what crosses between zones, as theory says, and controllers that crash."""

import pytest
from live_groups import play, until
from zone_traffic import STEP_S, ZoneTraffic, all_stable, in_zones, send_for

from stablecast.testing import Network

ZONES, SIZE = "abcd", 15
MEMBERS = len(ZONES) * SIZE
SUBGROUP, CONTROLLERS = 3, 3
SECONDS = 2.0
FLUCTUATION = 0.06
"""Of several hundred draws; more than three standard deviations of their share."""
LOCAL = {"subgroup": SUBGROUP, "controllers": CONTROLLERS}


def measured(monkeypatch, protocol, options):
    """Return the traffic of some seconds between zones, and the rounds that were completed meanwhile."""

    async def scenario():
        network = Network(seed=7)
        traffic = ZoneTraffic(monkeypatch)
        async with in_zones(network, ZONES, SIZE, protocol=protocol, protocol_options=options) as groups:
            await send_for(groups[::10], 1.0)
            machine = groups[0]._engine.in_view.tracker.machine
            traffic.clear()
            began = machine.me.round
            receipts = await send_for(groups[::10], SECONDS)
            found = dict(traffic.copies), dict(traffic.across), traffic.bytes_across, machine.me.round - began
            await all_stable(receipts)
            return found

    return play(scenario)


def test_control_messages_across_zones_fall_as_theory_says(monkeypatch, capsys):
    """With one gossip of all, g messages a member and step go anywhere; with zones, only controllers' do."""
    steps = SECONDS / STEP_S
    elsewhere = MEMBERS - SIZE
    with monkeypatch.context() as patched:
        copies, across, global_bytes, rounds = measured(patched, "gsgc", {"subgroup": SUBGROUP})
    # A member draws g of all n, itself among them; of n places n - z are in another zone.
    predicted = steps * MEMBERS * SUBGROUP * elsewhere / MEMBERS
    assert across["GOSSIP"] == pytest.approx(predicted, rel=FLUCTUATION)
    assert copies["GOSSIP"] == pytest.approx(steps * SUBGROUP * (MEMBERS - 1), rel=FLUCTUATION)
    global_across = sum(across.values())
    lines = [
        f"gsgc: {rounds} rounds; GOSSIP across zones {across['GOSSIP']}, predicted {predicted:.0f};"
        f" STABLE {across['STABLE']}, of {across['STABLE'] / elsewhere:.0f} results; {global_bytes} bytes"
    ]

    with monkeypatch.context() as patched:
        copies, across, local_bytes, rounds = measured(patched, "gsgc-local", LOCAL)
    controllers = CONTROLLERS * len(ZONES)
    # A controller draws g of all controllers, and of these all but its zone's are elsewhere.
    share = (controllers - CONTROLLERS) / (controllers - 1)
    most = steps * controllers * SUBGROUP * (controllers - CONTROLLERS) / controllers
    assert across["LOCAL"] == 0
    assert across["GLOBAL"] == pytest.approx(copies["GLOBAL"] * share, rel=FLUCTUATION)
    assert across["GLOBAL"] <= most * (1 + FLUCTUATION)
    lines.append(
        f"gsgc-local: {rounds} rounds; GLOBAL across zones {across['GLOBAL']}, predicted"
        f" {copies['GLOBAL'] * share:.0f} of {copies['GLOBAL']}, at most {most:.0f}; LOCAL {across['LOCAL']};"
        f" STABLE {across['STABLE']}, of {across['STABLE'] / elsewhere:.0f} results; {local_bytes} bytes"
    )
    local_across = sum(across.values())
    lines.append(
        f"all messages across zones: {global_across} and {local_across}, {global_across / local_across:.1f}"
        f" times fewer; bytes {global_bytes / local_bytes:.1f} times fewer"
    )
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert rounds > 0
    assert local_across < global_across / 3
    assert local_bytes < global_bytes / 3


def test_all_controllers_of_a_zone_crash_and_everything_becomes_stable():
    async def scenario():
        network = Network(seed=8)
        options = {"protocol": "gsgc-local", "protocol_options": LOCAL}
        async with in_zones(network, ZONES, SIZE, **options) as groups:
            machines = {group: group._engine.in_view.tracker.machine for group in groups}
            crashed = [
                group
                for group, machine in machines.items()
                if group is not groups[0] and group.me.startswith("b") and machine.me.rank < CONTROLLERS
            ]
            assert len(crashed) == CONTROLLERS
            left = [group for group in groups if group not in crashed]
            receipts = await send_for(left[::10], 1.0)
            for group in crashed:
                network.crash(group.me)
            receipts += await send_for(left[::10], 1.0)
            told = await all_stable(receipts)
            assert told["StableInSmallerView"] > 0
            await until(lambda: all(len(group.members) == len(left) for group in left))
            assert set(await all_stable(await send_for(left[::10], 1.0))) == {"Stable"}
            return told

    play(scenario)


def test_local_groups_follow_members_that_come_into_a_zone_and_all_find_the_same():
    async def scenario():
        network = Network(seed=9)
        options = {"protocol": "gsgc-local", "protocol_options": {"local_size": 3, "controllers": 1}}
        async with in_zones(network, "ab", 4, **options) as groups:
            found = {}
            for group in groups:
                here = group._engine.in_view
                me = here.tracker.machine.me
                neighbours = {here.labels[rank] for rank in me.neighbours}
                assert {name[0] for name in neighbours} == {group.me[0]}
                found.setdefault(int(me.local_group), set()).add(frozenset(neighbours))
                assert all(count == 4 for count in me.part_counts)  # each zone of four is cut into two
            assert [len(each) for each in found.values()] == [1] * 4

    play(scenario)
