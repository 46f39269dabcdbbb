"""What is said of a group, as text."""

import pytest
from observed_groups import failed, group, holding, note

from stablecast.observe import shown
from stablecast.observe.history import History
from stablecast.observe.shown import SORTS, ordered


def names(seen, by, **options):
    return [line.name for line in ordered(shown.lines_of(seen), by, **options)]


def test_the_worst_comes_first_and_who_has_gone_is_there():
    states = {"b": "behind", "d": "silent", "e": "suspected"}
    seen = group("abcde", states=states, gone=[failed("x")])
    assert names(seen, "state") == ["x", "e", "d", "b", "a", "c"]
    assert names(seen, "state", is_reversed=True)[-1] == "x"
    assert list(shown.troubles(seen)) == [
        "x failed 1.0 s ago",
        "e is suspected, last heard of 0.1 s ago",
        "d is silent, last heard of 0.1 s ago",
        "b is behind, last heard of 0.1 s ago",
    ]


def test_who_came_back_is_not_told_of_as_gone_nor_is_who_went_long_ago():
    assert names(group("ab", gone=[failed("b"), failed("x", 1_000.0)]), "view") == ["a", "b"]


@pytest.mark.parametrize("by", SORTS)
def test_rows_can_be_sorted_by_everything_and_none_is_lost(by):
    seen = group("abcd", holding=[holding("d")], states={"c": "silent"}, gone=[failed("x")])
    assert sorted(names(seen, by)) == ["a", "b", "c", "d", "x"]
    if by == "lag":
        assert names(seen, by)[0] == "d"


def test_the_cells_of_a_member_that_lacks_something():
    seen = group(holding=[holding("c", messages=1_500, since_s=2.04)])
    cells = {line.name: line.cells() for line in shown.lines_of(seen)}
    assert cells["c"] == ("c", "ok", "0.1 s ago", "10", "9", "1,500", "150 kB", "2.0 s", "-")
    assert cells["a"] == ("a *", "ok", "-", "10", "9", "-", "-", "-", "264 B")


def test_who_holds_back_messages_of_several_sources_has_one_line():
    held = [holding("c", "a", since_s=3.0), holding("c", "b", since_s=2.0), holding("b", "a", messages=1)]
    assert shown.holders(group(holding=held)) == [
        "c lacks 10 messages of 2 sources (1 kB), for 3.0 s, the oldest a/10",
        "b lacks a/10 (100 B), for 2.0 s",
    ]


def test_what_is_on_its_way_is_not_held_back():
    assert shown.holders(group(holding=[holding(since_s=0.1)])) == []


def test_names_cannot_reach_the_terminal():
    seen = group(["a", "b\x1b[2J"], holding=[holding("b\x1b[2J")])
    told = [shown.snapshot(seen, [note(1, "x\x1b[2J")]), shown.title(seen), *shown.details(seen, "b\x1b[2J")]
    assert not any("\x1b" in text for text in told)


def test_rates_and_times_are_said_once_they_are_known():
    history = History()
    assert "msg/s" not in shown.summary(group(), history.take(group(at_s=1)))
    sample = history.take(group(at_s=2, received_messages=1_030, own_stable=1, own_stable_s=0.012))
    assert shown.summary(group(), sample).startswith("1,000 msg/s, stable 0/s")
    assert shown.times_text(sample) == "time to stable 12 ms, of own messages"


def test_the_snapshot_has_everything():
    seen = group(holding=[holding()], states={"c": "silent"}, gone=[failed("x")])
    text = shown.snapshot(seen, [note(1, "view of 3 members")])
    assert text.splitlines()[0] == "orders · s_coord · 3 members · view 3 · seen by a, member"
    for part in ("HOLDING BACK", "c lacks a/10 and 4 more messages", "EVENTS", "view of 3 members", "failed"):
        assert part in text


def test_looking_into_a_member():
    seen = group(holding=[holding()], gone=[failed("x")])
    assert "c lacks a/10 and 4 more messages (500 B), for 2.0 s" in shown.details(seen, "c")
    assert shown.details(seen, "b")[0] == "b, at 127.0.0.1:7001"
    assert shown.details(seen, "x") == ["x failed 1.0 s ago"]
    assert shown.details(seen, "never") == ["never is not in the view"]


def test_bars_are_logarithmic():
    assert shown.heights([]) == []
    assert shown.heights([0.01, 0.1, 10.0]) == pytest.approx([1, 2, 4])
    assert shown.heights([0.0, 0.01]) == pytest.approx([1, 1])
