"""Figure 4 and the rules against it: the claims hold on real runs and are missed when a number is another."""

import pytest

from stablecast.errors import InvalidInput
from stablecast.papers.timestamp import membership
from stablecast.papers.timestamp.connections.cases import CASES
from stablecast.papers.timestamp.figure_4 import COURSES, NODES, B, play
from stablecast.papers.timestamp.membership import (
    APART,
    CLOSED,
    HAZARD,
    QUICK_CASES,
    REPAIRED,
    exploration,
    figure_4,
)
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point

pytestmark = pytest.mark.xdist_group("timestamp_membership")  # its runs take seconds, once
JUDGES = {claim.id: claim.judge for claim in membership.CLAIMS}
ONE_SENDER, SEVERAL = QUICK_CASES


@pytest.fixture(scope="module")
def measured():
    """The quick runs, by their points' keys."""
    rows = {point.key: run_point(point, Terms()) for point in membership.points(False)}
    assert [row["error"] for row in rows.values() if row["status"] != DONE] == []
    return rows


def altered(rows, point, **numbers):
    """Return the runs with other numbers in one of them; None takes a number out."""
    extra = {**rows[point.key]["extra"], **{name.replace("_", " "): value for name, value in numbers.items()}}
    changed = {name: value for name, value in extra.items() if value is not None}
    assert changed != rows[point.key]["extra"]
    return Runs([*(rows | {point.key: rows[point.key] | {"extra": changed}}).values()])


def without(rows, *points):
    gone = {point.key for point in points}
    return Runs([row for key, row in rows.items() if key not in gone])


def test_every_claim_holds_on_real_runs(measured):
    told = {name: judge(Runs([*measured.values()])) for name, judge in JUDGES.items()}
    assert list(told) == ["T6a", "T6b", "T6c"]
    assert all(claim.kind == "exact" for claim in membership.CLAIMS)
    assert [name for name, judgement in told.items() if not judgement.holds] == [], told
    assert "27, 27, 33" in told["T6a"].measured
    assert "0 violations in 10,526 states; without the rules 3,021 in 36,538" in told["T6c"].measured


@pytest.mark.parametrize(
    "numbers",
    [
        {"1_acknowledges": 28.0},
        {"2_acknowledges": 22.0},
        {"3_acknowledges": 0.0},
        {"heard_from_3": 0.0},
        {"heard_from_3": None},
        {"3_counts_1": 1.0},
        {"3_has_B": 1.0},
        {"B_comes": 57.0},
        {"B_is_stable": None, "heard_from_1": None},
        {"violations": 0.0},
        {"violations": 2.0},
        {"asked_in_vain": 0.0},
    ],
    ids=str,
)
def test_the_hazard_is_missed_with_any_other_number(measured, numbers):
    assert not JUDGES["T6a"](altered(measured, figure_4(HAZARD), **numbers)).holds


@pytest.mark.parametrize(
    ("course", "numbers"),
    [
        (REPAIRED, {"3_acknowledges": 33.0}),
        (REPAIRED, {"violations": 1.0}),
        (REPAIRED, {"B_comes": None}),
        (REPAIRED, {"B_is_stable": 50.0}),
        (REPAIRED, {"B_is_stable": 45.0, "B_comes": 44.0}),
        (REPAIRED, {"B_is_stable": None}),
        (REPAIRED, {"asked_in_vain": 1.0}),
        (CLOSED, {"heard_from_3": 0.0}),
        (CLOSED, {"3_acknowledges": 33.0}),
        (CLOSED, {"B_is_stable": None}),
        (APART, {"heard_from_3": 33.0}),
        (APART, {"violations": 1.0}),
    ],
    ids=str,
)
def test_the_prevention_is_missed_when_b_is_stable_too_early_or_never(measured, course, numbers):
    judgement = JUDGES["T6b"](altered(measured, figure_4(course), **numbers))
    assert not judgement.holds
    assert f"wrong: {course}" in judgement.why


@pytest.mark.parametrize(
    ("case", "rules", "numbers"),
    [
        (ONE_SENDER, True, {"refused": 1.0}),
        (SEVERAL, True, {"refused": 1.0}),
        (SEVERAL, True, {"quiet": 0.0}),
        (SEVERAL, True, {"joined": 0.0}),
        (SEVERAL, True, {"stable": 0.0}),
        (SEVERAL, False, {"refused": 0.0}),
    ],
    ids=str,
)
def test_the_explorations_are_missed_with_a_violation_or_with_nothing_to_see(measured, case, rules, numbers):
    assert not JUDGES["T6c"](altered(measured, exploration(case, rules=rules), **numbers)).holds


def test_an_exploration_that_could_see_no_danger_proves_nothing(measured):
    only = without(measured, exploration(SEVERAL, rules=True), exploration(SEVERAL, rules=False))
    assert not JUDGES["T6c"](only).holds


def test_runs_that_were_not_made_are_missing(measured):
    for course, name in ((HAZARD, "T6a"), (HAZARD, "T6b"), (APART, "T6b")):
        with pytest.raises(MissingRun, match="this run was not made"):
            JUDGES[name](without(measured, figure_4(course)))
    with pytest.raises(MissingRun, match="this run was not made"):
        JUDGES["T6c"](Runs([]))
    with pytest.raises(MissingRun, match="this run was not made"):
        JUDGES["T6c"](without(measured, exploration(SEVERAL, rules=False)))
    with pytest.raises(MissingRun, match="this run was not made"):
        membership.hazard(without(measured, figure_4(HAZARD)))


def test_full_runs_are_the_quick_ones_and_all_other_cases():
    quick, full = ({point.key for point in membership.points(full)} for full in (False, True))
    assert quick < full
    assert len(full) == len(COURSES) + 2 * len(CASES)


def test_tables_tell_what_each_node_says_and_what_comes_of_it(measured):
    nodes, endings, explorations = (make(Runs([*measured.values()])) for make in membership.TABLES)
    assert nodes.rows[:3] == (
        (HAZARD, 1, "ABCD", "1, 2, 3", 27),
        (HAZARD, 2, "ABCD", "1, 2, 3", 27),
        (HAZARD, 3, "ACD", "2, 3", 33),
    )
    assert nodes.rows[5] == (REPAIRED, 3, "ACD", "1, 2, 3", 0)
    assert endings.rows == (
        (HAZARD, "never", 45, "1, 2, 3", 1, 1),
        (REPAIRED, 57, 63, "1, 2, 3", 0, 0),
        (CLOSED, "never", 48, "1, 2", 0, 0),
        (APART, "never", 45, "1, 2", 0, 0),
    )
    assert explorations.rows == (
        (ONE_SENDER, 6623, 6466, 0, 0),
        (SEVERAL, 3903, 30072, 0, 3021),
        ("all", 10526, 36538, 0, 3021),
    )


def told(diagram, kind):
    """Return the messages of a kind as they are read off a drawing."""
    names = diagram.processes
    return {
        (names[arrow.source][-1], names[arrow.dest][-1], arrow.label, arrow.sent, arrow.received)
        for arrow in diagram.messages
        if arrow.kind == kind
    }


DATA = {
    ("2", "1", "A (22)", 22, 25),
    ("2", "3", "A (22)", 22, 25),
    ("1", "2", "B (27)", 27, 30),
    ("1", "3", "B (27)", 27, None),
    ("2", "1", "C (33)", 33, 36),
    ("2", "3", "C (33)", 33, 36),
    ("3", "1", "D (35)", 35, 38),
    ("3", "2", "D (35)", 35, 38),
    ("1", "2", "E (48)", 48, 51),
    ("1", "3", "E (48)", 48, 51),
}


def test_the_drawing_of_the_hazard_shows_b_lost_called_stable_and_gone(measured):
    diagram = membership.hazard(Runs([*measured.values()]))
    assert told(diagram, "data") == DATA
    assert told(diagram, "acknowledgement") >= {("3", "1", "33", 38, 41), ("2", "1", "27", 42, 45)}
    assert {label for *_, label, _, _ in told(diagram, "acknowledgement")} == {"27", "33"}
    assert told(diagram, "request") == {("3", "1", "B?", 51, 54)}
    assert told(diagram, "repair") == set()
    assert [(diagram.processes[mark.process], mark.time, mark.text) for mark in diagram.events] == [
        ("node 3", 38, "counts 2, 3"),
        ("node 1", 45, "calls B stable"),
        ("node 1", 54, "has B no more"),
    ]
    assert {arrow.pale for arrow in diagram.messages if diagram.processes[arrow.dest] == "node 1"} == {False}


def test_the_drawing_with_the_rules_shows_b_sent_again_before_it_is_called_stable(measured):
    diagram = membership.prevented(Runs([*measured.values()]))
    assert told(diagram, "data") == DATA
    assert ("3", "1", "0", 38, 41) in told(diagram, "acknowledgement")
    assert told(diagram, "request") == {("3", "1", "B?", 51, 54)}
    assert told(diagram, "repair") == {("1", "3", "B (27)", 54, 57)}
    assert [(diagram.processes[mark.process], mark.time, mark.text) for mark in diagram.events] == [
        ("node 3", 38, "counts 1, 2, 3"),
        ("node 3", 57, "has B"),
        ("node 1", 63, "calls B stable"),
    ]


def test_only_the_run_without_the_rules_calls_stable_what_a_counted_node_lacks():
    lacking = {course: {lack for one in play(course).declared for lack in one.lacking} for course in COURSES}
    assert lacking == {HAZARD: {(3, B)}, REPAIRED: set(), CLOSED: set(), APART: set()}


@pytest.mark.parametrize("course", COURSES)
def test_a_node_never_acknowledges_less_than_before(course):
    said = play(course).acknowledged
    for n in NODES:
        values = [one.value for one in said if one.node == n]
        assert len(values) == 3
        assert values == sorted(values)


def test_unknown_names_are_refused():
    with pytest.raises(InvalidInput, match="run of Figure 4 'no rule'; did you mean 'no rules'"):
        membership.play_figure_4("no rule")
    with pytest.raises(InvalidInput, match="unknown case 'two sender'"):
        membership.explore_case("two sender", True)
