"""The table of what each frame does in each phase: whole, without doubt, and as the documentation has it."""

from pathlib import Path
from typing import get_args

import pytest
from view_world import Process, World

from stablecast.membership.actions import Left, Send
from stablecast.membership.messages import MembershipFrame, Refuse
from stablecast.membership.place import Phase
from stablecast.membership.transitions import ROWS, TABLE, Row, ignore

ROOT = Path(__file__).parent.parent.parent
MEMBERSHIP = ROOT / "src" / "stablecast" / "membership"
PAGE = ROOT / "docs" / "live-internals.md"
HEADER = "| frame | phase | what happens | function |\n|---|---|---|---|\n"


def line_of(row: Row) -> str:
    """Return how the documentation has a row: with the first sentence of its function."""
    phases = ", ".join(phase.value for phase in row.phases)
    does = (row.does.__doc__ or "").splitlines()[0]
    name = f"{row.does.__module__.rpartition('.')[2]}.{row.does.__name__}"
    return f"| `{row.kind.__name__}` | {phases} | {does} | `{name}` |\n"


def joiner_that_is_let_in(world: World) -> tuple[Process, int]:
    """Return a process that has agreed to be in a view, and the id of that view, which it has not begun."""
    member = world.first()
    joiner = world.start()
    world.network.drops = lambda source, to, frame: joiner.machine.coming_view is not None
    joiner.does(joiner.machine.join([member.address], world.now))
    world.run_until(lambda: joiner.machine.coming_view is not None, within=2)
    return joiner, joiner.machine.coming_view.id


def test_every_frame_is_listed_for_every_phase():
    assert set(TABLE) == {(kind, phase) for kind in get_args(MembershipFrame) for phase in Phase}


def test_nothing_is_listed_twice():
    listed = [(row.kind, phase) for row in ROWS for phase in row.phases]
    assert len(listed) == len(set(listed))


def test_nothing_is_done_in_the_last_phase():
    assert {does for (_, phase), does in TABLE.items() if phase is Phase.DONE} == {ignore}


def test_the_documentation_has_the_table():
    listed = HEADER + "".join(line_of(row) for row in ROWS if row.does is not ignore)
    assert listed in PAGE.read_text(encoding="utf-8"), f"docs/live-internals.md is to have\n{listed}"


@pytest.mark.parametrize("phase", Phase)
def test_the_documentation_says_what_each_phase_is(phase):
    assert f"\n| {phase.value} | " in PAGE.read_text(encoding="utf-8")


def test_one_file_alone_sets_where_a_process_is():
    setting = {path.name for path in MEMBERSHIP.glob("*.py") if ".place = " in path.read_text("utf-8")}
    assert setting == {"moves.py"}


def test_a_frame_of_the_view_that_lets_a_process_in_begins_it():
    joiner, view = joiner_that_is_let_in(World(1))
    assert joiner.machine.state == "joining"
    joiner.does(joiner.machine.saw_frame_of(view, joiner.world.now))
    assert joiner.view.id == view


def test_who_is_let_in_listens_to_no_refusal_of_another_leader():
    joiner, _ = joiner_that_is_let_in(World(2))
    machine, now = joiner.machine, joiner.world.now
    assert machine.receive(Refuse("too many"), 5, ("h", 5), now) == []
    assert machine.state == "joining"


def test_who_has_left_does_not_begin_the_view_that_it_had_agreed_to():
    joiner, view = joiner_that_is_let_in(World(3))
    machine, now = joiner.machine, joiner.world.now
    assert machine.leave(now) == [Left("left")]
    assert machine.saw_frame_of(view, now) == []
    assert machine.view is None
    assert machine.state == "done"


def test_who_has_left_asks_nobody_to_be_let_in():
    world = World(4)
    joiner = world.joiner([("h", 1)])
    joiner.does(joiner.machine.leave(world.now))
    assert joiner.machine.met(("h", 1), world.now) == []
    assert joiner.machine.next_timer() is None


@pytest.mark.parametrize("start", ["join", "start_alone"])
def test_a_process_begins_once(start):
    world = World(5)
    joiner = world.joiner([("h", 1)])
    again = joiner.machine.join([("h", 2)], 0.0) if start == "join" else joiner.machine.start_alone(0.0)
    assert again == []
    asked = [action.address for action in joiner.machine.handle_timer(1.0) if isinstance(action, Send)]
    assert asked == [("h", 1)]
