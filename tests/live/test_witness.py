"""What the checks of fault schedules must not complain of, and what they must notice all the same."""

import dataclasses

import pytest

from tests.soak.run import Run
from tests.soak.schedules import make_schedule
from tests.soak.witness import Broken

PLAIN = {
    "options": (),
    "senders": 1.0,
    "deliver": "received",
    "history_bytes": 0,
    "largest": (1_400,),
    "drift": 0.0,
    "supervisor_s": None,
}


def run_of(members, **changes):
    """Return a run without faults whose members are in one view, and send."""
    schedule = dataclasses.replace(
        make_schedule(8),
        members=members,
        faults=(),
        loss=0.0,
        calm_loss=0.0,
        duplicate=0.0,
        reorder=0.0,
        delay_s=(0.0005, 0.002),
        copies=None,
        exclude_after_s=None,
        evicts=False,
        is_together=False,
        messages=60,
        burst=1,
        gap_s=0.05,
        sizes=(20,),
        buffer_bytes=64 << 20,
        queue_messages=100_000,
        patience=0.3,
        **PLAIN,
        **changes,
    )
    run = Run(schedule, lambda _: None)
    run._start_members()
    assert run.clock.run_until(lambda: len(run.players) == members and are_together(run.players))
    run.clock.run_until(run.clock.now + 0.5)
    return run


def are_together(players):
    sizes = {0 if player.engine.in_view is None else player.engine.in_view.size for player in players}
    return sizes == {len(players)}


def split(run):
    """Cut a group in halves, let each go on under its name, and let a newcomer into each."""
    half = len(run.players) // 2
    sides = [run.players[:half], run.players[half:]]
    run.network.partition([player.transport for player in sides[1]])
    for name, side in zip(("one", "other"), sides, strict=True):
        assert run.clock.run_until(lambda side=side: are_together(side))
        run.start(name, contacts=[side[0].transport.address])
        side.append(run.players[-1])
        run.network.partition([player.transport for player in sides[1]])
    assert run.clock.run_until(lambda: all(are_together(side) for side in sides))
    assert {player.engine.view.line for player in run.players} == {"soak"}
    run.clock.run_until(run.clock.now + 1.0)
    run.network.heal()
    run._converge()


def begin_a_view_late(run):
    """Pause a leader while all others have agreed to its view, and let it go on when they are elsewhere."""
    leader, *others = run.players
    run.start("newcomer")
    others.append(run.players[-1])
    assert run.clock.run_until(lambda: all(player.engine.agreement.coming_view for player in others))
    leader.transport.pause()
    assert run.clock.run_until(lambda: are_together(others))
    run.clock.run_until(run.clock.now + 0.5)
    leader.transport.resume()
    assert run.clock.run_until(lambda: leader.engine.in_view.size == len(run.players), limit=0.1)
    assert are_together(others)
    run._converge()


@pytest.mark.parametrize("protocol", ["gsgc", "timestamp"])
@pytest.mark.parametrize("members", [2, 4])
def test_both_halves_of_a_split_view_may_go_on_under_its_name(protocol, members):
    run = run_of(members, protocol=protocol)
    split(run)
    run._check_end()


@pytest.mark.parametrize("protocol", ["gsgc", "timestamp"])
def test_a_leader_may_begin_a_view_that_its_members_have_left_behind(protocol):
    run = run_of(4, protocol=protocol)
    begin_a_view_late(run)
    run._check_end()


def test_two_processes_may_begin_a_group_at_once():
    schedule = dataclasses.replace(make_schedule(6), members=2, is_together=True, faults=(), **PLAIN)
    run = Run(schedule, lambda _: None)
    run._start_members()
    run.network.partition([run.players[0].transport])
    run.clock.run_until(5.0)
    assert [player.engine.view.line for player in run.players] == ["soak", "soak"]
    run.network.heal()
    run._converge()
    run._check_end()


@pytest.mark.parametrize("happens", [split, begin_a_view_late])
def test_a_receipt_that_is_missing_is_noticed_on_every_side(happens):
    run = run_of(4)
    happens(run)
    events = run.knowledge.events
    receipts = {}
    for place, noted in enumerate(events):
        if noted.event.kind == "receive":
            receipts.setdefault(noted.view, []).append(place)
    firsts = [places[0] for places in receipts.values() if len(places) > 20]
    assert len(firsts) > 2
    for place in firsts:
        run.knowledge.events = events[:place] + events[place + 1 :]
        with pytest.raises(Broken, match="the trace's verdict"):
            run._check_end()
