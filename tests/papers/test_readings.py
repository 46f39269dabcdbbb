"""Claims under several readings: which runs stand for which, and what more seeds are asked for."""

import dataclasses

import pytest

from stablecast.papers.paper import Claim, Judgement, Paper, Seeds, further_points, judged, verdicts_of
from stablecast.papers.reading import Choice, Reading
from stablecast.papers.statistics import Comparison, mean_of
from stablecast.pipeline.point import simulation, task_point
from stablecast.pipeline.runs import MissingRun, Runs

MAIN = Reading(name="main", about="As it is.", choices=())
HOSTS = Reading(
    name="hosts",
    about="Hosts take time, and the group is sparser.",
    choices=(Choice("hosts take 40 µs", "section 4.2"),),
    options={"send_us": 40.0, "tree_degree": "3"},
    change=lambda options: {"seed": options.get("seed", 0) + 100},
)


def point(protocol: str, seed: int):
    return simulation(protocol=protocol, degree=2, height=2, seed=seed)


def rows(points):
    return [{"key": each.key, "status": "done", "extra": {"x": value}} for each, value in points]


def test_a_reading_changes_the_options_that_a_protocol_has():
    changed = HOSTS.point(point("s_coordp", 1)).options
    assert (changed["send_us"], changed["tree_degree"], changed["seed"]) == (40.0, "3", 101)
    assert "tree_degree" not in HOSTS.point(point("cubefulldist", 1)).options


def test_tasks_are_the_same_under_every_reading():
    task = task_point("package.module:function", x=1)
    assert HOSTS.point(task) is task


def test_a_task_that_is_one_simulation_is_changed_as_that_is():
    asked = dataclasses.replace(point("s_coordp", 1), task="package.module:function")
    changed = dataclasses.replace(HOSTS, tasks=(asked.task,)).point(asked)
    assert changed.task == asked.task
    assert changed.options == HOSTS.point(point("s_coordp", 1)).options


def test_runs_seen_under_a_reading_are_its_own():
    asked = point("coordp", 1)
    runs = Runs(rows([(asked, 1.0), (HOSTS.point(asked), 2.0)]))
    assert MAIN.of(runs)[asked].extra["x"] == 1.0
    assert HOSTS.of(runs)[asked].extra["x"] == 2.0
    assert point("coordp", 2) not in HOSTS.of(runs)
    with pytest.raises(MissingRun, match="--seed 102"):
        HOSTS.of(runs)[point("coordp", 2)]


def mean_is_positive(runs: Runs) -> Judgement:
    values = [runs[point("coordp", seed)].extra["x"] for seed in range(32) if point("coordp", seed) in runs]
    if not values:
        raise MissingRun("none")
    found = Comparison(what="x", found=mean_of(values), least=0.0)
    return judged([found], paper="positive", measured=str(found.found), why="x is above 0")


CLAIM = Claim(
    id="X1",
    kind="trend",
    text="x is positive",
    judge=mean_is_positive,
    seeds=Seeds(points=lambda count: [point("coordp", seed) for seed in range(count)], first=2, most=6),
)
PAPER = Paper(
    name="x",
    title="x",
    question="x?",
    points=lambda full: [point("coordp", seed) for seed in range(2)],
    judged_points=lambda full: [point("coordp", seed) for seed in range(2)],
    tables=(),
    claims=(CLAIM,),
    figures=(),
    readings=(MAIN, HOSTS),
)


def test_every_reading_is_run_and_judged_and_the_main_one_decides():
    asked = PAPER.all_points(False)
    assert len(asked) == 4
    runs = Runs(rows(zip(asked, (1.0, 1.1, -1.0, -1.1), strict=True)))
    [verdict] = verdicts_of(PAPER, runs)
    assert verdict.judgement.holds
    assert {name: each.holds for name, each in verdict.under.items()} == {"main": True, "hosts": False}


def test_a_reading_that_was_not_run_is_not_judged():
    [verdict] = verdicts_of(PAPER, Runs(rows([(point("coordp", 0), 1.0), (point("coordp", 1), 1.1)])))
    assert not verdict.under["hosts"].measurable


def test_seeds_are_doubled_where_the_verdict_could_turn_up_to_the_limit():
    asked = PAPER.all_points(False)
    values = [1.0, 1.001, 0.5, -0.4]  # sure under the main reading, open under the other
    known = list(zip(asked, values, strict=True))
    more = further_points(PAPER, Runs(rows(known)))
    assert [each.options["seed"] for each in more] == [102, 103]
    known += [(more[0], 0.5), (more[1], -0.4)]
    more = further_points(PAPER, Runs(rows(known)))
    assert [each.options["seed"] for each in more] == [104, 105]
    known += [(more[0], 0.5), (more[1], -0.4)]
    assert further_points(PAPER, Runs(rows(known))) == []
