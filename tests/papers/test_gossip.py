"""The gossip paper's claims are judged by code: they hold on runs like the paper's, and can be missed."""

import json
import math

import pytest

from stablecast.papers.gossip import (
    PAPER,
    example,
    failure_detection,
    fixed_group,
    grid,
    group_sizes,
    local,
    membership,
    readings,
    running,
    sharing,
)
from stablecast.papers.paper import evaluate
from stablecast.papers.registry import paper, paper_names
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.schema import DONE, table_of
from stablecast.pipeline.tasks import Terms, failed_row, run_point
from stablecast.report.figure import Figure

pytestmark = pytest.mark.xdist_group("gossip")  # its runs take seconds, once

FLOOR = {1: 7.2, 2: 3.0, 3: 2.6, 4: 2.2, 5: 2.0}


def time_like_the_papers(options):
    """A curve that falls, is flat near the paper's minimum, and rises with the floor of steps."""
    subgroup, step = options["subgroup"], options["step_s"]
    lowest = 28.4 if subgroup == 1 else 28.6
    before = lowest + 0.2 * max(0, 9 - step) + 10 * max(0, 4 - step) * (subgroup > 1)
    if subgroup == 1:
        before = lowest + abs(3 - step)
    return max(before, FLOOR[subgroup] * step) * (0.9 if "queue_limit" in options and step < 4 else 1)


def fabricated_time_s(options):
    if options["protocol"] == "gsgc-local":
        return 10 + options["members"] / 100
    if options.get("costs") != "wan1997":
        return 1.0
    if "header_bytes" in options:
        return 5 + options["members"] / 25
    if options["nodes"] == 1000 and (options["members"] != 200 or "bandwidth_bps" in options):
        slower = 30_000 / options.get("bandwidth_bps", 30_000)
        each_ms = options["step_s"] / options["members"] / slower * 1000
        return 71 * options["members"] / 500 * (1 + abs(each_ms - 15) / 30) * slower
    return time_like_the_papers(options)


def fabricated_result(options, shape):
    """What a run like the paper's would have measured."""
    seconds = fabricated_time_s(options) * (1 + 0.02 * (options.get("seed", 0) % 3 - 1))
    threshold, step = options.get("threshold_steps", 0), options["step_s"]
    crashes = options.get("faults", "").startswith("crash 3")
    if crashes:
        seconds = (threshold - 1) * step if options.get("stop_at_first") else 2.0
    longest = seconds
    if options.get("faults") == membership.STREAM and options.get("admit_per_round", 0) != 1:
        longest *= 3
    fill = options.get("fill_messages", 0)
    false = 7 if threshold < 12 else 0
    if "messages" in options and threshold == membership.SIGNS_THRESHOLD:
        false = round(7 / options["rate_per_s"] / 10)
    return shape | {
        "completed": threshold > 0 or not crashes,
        "members": options["members"],
        "seed": options.get("seed", 0),
        "executions": options.get("executions") or 1,
        "tpr_us": seconds * 1e6,
        "steps": seconds / step,
        "simulated_us": seconds * 1e6,
        "round_trip_max_us": longest * 1e6,
        "join_max_us": 1e5,
        "held_max": fill + 5,
        "queue_mean": 1 + 50 / step**2 * options["subgroup"] * (1 + 0.01 * (options.get("seed", 0) % 3)),
        "queue_max": 60,
        "false_suspicions": false,
        "detection_last_us": threshold * step * 1e6 if crashes else None,
        "messages_sent": round(options["subgroup"] * seconds / step * options["members"] / (1 + fill / 10)),
        "data_messages": 200 if options.get("messages") else None,
        "messages_stable": 200 if options.get("messages") else None,
    }


def at_work(rounds):
    extra = {"searches": 2.0}
    for k in range(rounds):
        extra |= {f"step {k:04}": 11.0, f"time {k:04}": 32.0, f"settled {k:04}": float(k % 160 > 40)}
    return extra


@pytest.fixture(scope="module")
def shape():
    """The columns of a real run with data traffic."""
    row = run_point(membership.with_data("none", 0), Terms())
    assert row["status"] == DONE, row["error"]
    left_out = ("point_wall_s", "finished_at", "key", "task", "replay", "options")
    options = json.loads(row["options"])
    return {name: value for name, value in row.items() if name not in left_out and name not in options}


@pytest.fixture(scope="module")
def fabricated(shape):
    """A row for each quick point, with numbers like the paper's."""
    rows = []
    for point in PAPER.points(False):
        row = failed_row(point, Terms(), "") | {"status": DONE, "error": None}
        if point.task == running.CONTROLLER_TASK:
            row["extra"] = list(at_work(point.options["rounds"]).items())
        elif point.task == running.FIXED_TASK:
            row["extra"] = [("first", 28.0), ("last", 20.0 + point.options["step_s"])]
        elif point.task == example.PLAY:
            row["extra"] = list(example.play(point.options["share"]).extra.items())
        else:
            row |= {name: value for name, value in shape.items() if row.get(name) is None}
            row |= fabricated_result(dict(point.options), {})
        rows.append(row)
    return rows


@pytest.fixture
def rows(fabricated):
    """Rows whose columns a test may set; it may not change a value in place."""
    return [dict(row) for row in fabricated]


def test_every_claim_of_the_checklist_holds_on_runs_like_the_papers(rows):
    evaluation = evaluate(PAPER, Runs(rows), full=False)
    told = {verdict.claim.id: verdict.judgement for verdict in evaluation.verdicts}
    ours = [verdict.claim.id for verdict in evaluation.verdicts if verdict.claim.ours]
    assert {f"G{number}" for number in range(1, 11)} | {"G1b", "G3b"} <= told.keys()
    assert set(ours) >= {"G3c", "G3d", "G3e"}
    assert [claim for claim, judgement in told.items() if not judgement.holds] == [], told
    assert all(judgement.paper and judgement.measured and judgement.why for judgement in told.values())
    kinds = {verdict.claim.id: verdict.claim.kind for verdict in evaluation.verdicts}
    assert [claim for claim, kind in kinds.items() if kind == "exact"] == ["G1", "G1b", "G2", "G3", "G4"]


def test_tables_and_figures_are_made(rows):
    evaluation = evaluate(PAPER, Runs(rows), full=False)
    assert len(evaluation.tables) == len(PAPER.tables)
    assert len(evaluation.figures) == len(PAPER.figures)
    assert all(len(row) == len(table.columns) for table in evaluation.tables for row in table.rows)
    keys = {figure.key for figure in evaluation.figures}
    assert {f"figure{n}" for n in (4, 5, 6, 7, 8, 9, 12, 13)} | {"figure10_11"} <= keys
    assert all(
        series.x
        for figure in evaluation.figures
        if isinstance(figure, Figure)
        for panel in figure.panels
        for series in panel.series
    )


def change(column, new, where=lambda options: True):
    """Change a column of the simulations whose options are so."""

    def tamper(rows):
        for row in rows:
            if row[column] is not None and where(json.loads(row["options"])):
                row[column] = new(row[column])

    return tamper


def change_extra(name, new):
    def tamper(rows):
        for row in rows:
            row["extra"] = [(key, new(value) if key == name else value) for key, value in row["extra"] or []]

    return tamper


def without_some(rows):
    for row in rows[:]:
        if json.loads(row["options"]).get("step_s") == 12.0:
            rows.remove(row)


def wide(options):
    return options.get("costs") == "wan1997"


TAMPERED = {
    "G1 a round does not end": change("completed", lambda _: False, lambda o: o.get("share") == "both"),
    "G1 too few rounds": change("executions", lambda _: 2, lambda o: "share" in o),
    "G2 false suspicions at the largest K": change(
        "false_suspicions", lambda _: 1, lambda o: o.get("threshold_steps") == 24
    ),
    "G2 a crash goes unnoticed": change("detection_last_us", lambda _: None),
    "G2 a crash is noticed late": change("detection_last_us", lambda us: 2 * us),
    "G2 a crash delays for long": change(
        "steps", lambda steps: 3 * steps, lambda o: o.get("faults") == failure_detection.FIRST_CRASH
    ),
    "G3 a round does not end": change("completed", lambda _: False, lambda o: o.get("executions") == 30),
    "G3 data does not become stable": change("messages_stable", lambda count: count - 1),
    "G3 a stream of joins does not end": change(
        "completed", lambda _: False, lambda o: o.get("faults") == membership.STREAM and "quiet_steps" in o
    ),
    "G1b someone else has the result": change_extra("1 knows D", lambda _: 1.0),
    "G1b the result is another": change_extra("wrong", lambda _: 1.0),
    "G1b D has it from itself": change_extra("B to D", lambda _: 1.0),
    "G3b joins do not prolong rounds": change(
        "round_trip_max_us", lambda us: us / 3, lambda o: o.get("faults") == membership.STREAM
    ),
    "G3c rounds wait for calm": change("tpr_us", lambda us: 1.5 * us, lambda o: "quiet_steps" in o),
    "G3d more is held": change("held_max", lambda held: held + 60, lambda o: "fill_messages" in o),
    "G3d rounds begin too early": change("held_max", lambda held: held - 6, lambda o: "fill_messages" in o),
    "G3d no gossip is saved": change(
        "messages_sent", lambda count: 30 * count, lambda o: o.get("fill_messages", 0) > 0
    ),
    "G3e data is no sign of life": change("false_suspicions", lambda _: 7, lambda o: "rate_per_s" in o),
    "G4 runs are missing": without_some,
    "G5 times are too long": change("tpr_us", lambda us: 1.5 * us, wide),
    "G5 the minimum is elsewhere": change(
        "tpr_us", lambda us: us / 1.3, lambda o: wide(o) and o["subgroup"] == 3 and o["step_s"] == 4
    ),
    "G5 sub-group 1 is best elsewhere": change(
        "tpr_us", lambda us: us / 4, lambda o: wide(o) and o["subgroup"] == 1 and o["step_s"] == 9
    ),
    "G6 steps keep falling": change("steps", lambda _: 4.0, lambda o: wide(o) and o["step_s"] < 20),
    "G6 limited queues do worse": change("tpr_us", lambda us: 1.3 * us, lambda o: "queue_limit" in o),
    "G6 sparse groups do worse": change("tpr_us", lambda us: 1.6 * us, lambda o: o.get("nodes") == 1000),
    "G6 times are spread": change("tpr_us", lambda us: 1.4 * us, lambda o: wide(o) and o.get("seed") == 1),
    "G7 many runs do not finish": change(
        "completed", lambda _: False, lambda o: wide(o) and o.get("seed") == 1 and o["step_s"] == 1
    ),
    "G8 another time at 500": change("tpr_us", lambda us: us / 1.4, lambda o: o.get("members") == 500),
    "G8 bandwidth gains nothing": change("tpr_us", lambda us: 5 * us, lambda o: "bandwidth_bps" in o),
    "G8 not linear": change("tpr_us", lambda us: 2 * us, lambda o: o.get("members") in (100, 300)),
    "G9 a narrow window": change(
        "tpr_us", lambda us: 1.5 * us, lambda o: wide(o) and o["subgroup"] == 3 and o["step_s"] in (4, 6)
    ),
    "G9 a wide window": change("tpr_us", lambda _: 28.6e6, lambda o: wide(o) and o["subgroup"] == 3),
    "G9b a search does not end": change_extra("settled 0319", lambda _: 0.0),
    "G9b a better step is there": change_extra("last", lambda time: time - 10 * (time < 30)),
    "G10 local gossip takes longer": change(
        "tpr_us", lambda us: 4 * us, lambda o: o.get("protocol") == "gsgc-local"
    ),
    "G10 local gossip grows": change(
        "tpr_us",
        lambda us: us / 4,
        lambda o: o.get("protocol") == "gsgc-local" and o["members"] == 100,
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    TAMPERED[what](rows)
    claim = next(claim for claim in PAPER.claims if claim.id == what.split()[0])
    try:
        assert not claim.judge(Runs(rows)).holds
    except MissingRun:
        assert "missing" in what


def test_a_point_outside_the_range_is_named(rows):
    change("tpr_us", lambda _: 60e6, lambda o: wide(o) and o["subgroup"] == 4 and o["step_s"] == 12)(rows)
    assert "b = 4, 12 s: 60.0 s" in fixed_group.judge_times(Runs(rows)).why


def test_runs_that_did_not_finish_are_left_out_of_the_means(rows):
    point = grid.at(grid.DENSE_I, 3, 9, 0)
    for row in rows:
        if row["key"] == point.key:
            row.update(completed=False, tpr_us=None, steps=None)
    one = grid.cell(Runs(rows), grid.DENSE_I, 3, 9)
    assert len(one.results) == grid.QUICK_SEEDS - 1
    assert fixed_group.judge_unfinished(Runs(rows)).measured.startswith("1 of 810")


def test_quick_is_a_thin_part_of_full_and_full_has_the_papers_number_of_runs():
    full, quick = (PAPER.points(which) for which in (True, False))
    assert len(grid.points(True)) == fixed_group.PAPER_RUNS == 12_000
    parts = (sharing, example, failure_detection, membership, group_sizes, running, local)
    rest = {point.key for part in parts for point in part.points(True)}
    keys = {point.key for point in full}
    assert len(keys) == len(full) == 12_000 + len(rest - {point.key for point in grid.points(True)})
    assert {point.key for point in quick} < keys
    assert len({point.key for point in quick}) == len(quick)


def test_the_paper_is_found_by_name():
    assert "gossip" in paper_names()
    assert paper("gossip") is PAPER


def test_real_runs_fill_the_columns_that_judges_read():
    asked = [
        grid.at(grid.DENSE_I, 3, 9, 0),
        grid.at(grid.SPARSE_II, 5, 1, 0),
        group_sizes.of_size(50, 14, 300_000, 0),
        local.together(100, 0),
        local.together(100, 0, set_up=local.LOADED),
        local.together(100, 0, set_up=local.DEEPER),
        local.alone(10, 0.2, 0),
        sharing.sharing("both", 18.0, "II", 0),
        failure_detection.detection(25, 24, 0.05, 0),
        failure_detection.delay(25, 12, 0, crash=True),
        membership.stream("1 a round", 0),
        membership.filling(50, 0),
        membership.late(3, 0),
    ]
    rows = [run_point(point, Terms()) for point in asked]
    assert [row["error"] for row in rows] == [None] * len(asked)
    assert all(row["completed"] and row["tpr_us"] > 0 and row["steps"] > 0 for row in rows)
    assert table_of(rows).num_rows == len(asked)
    one = grid.cell(Runs(rows), grid.DENSE_I, 3, 9)
    assert one.messages_per_s == pytest.approx(3 / 9, rel=0.05)


def test_the_controller_and_fixed_steps_run_on_the_simulator():
    work = running.run_controller("I", rounds=8, change_at=5, seed=0).extra
    assert work["step 0000"] == work["step 0003"] != work["step 0004"]
    assert all(math.isfinite(value) for value in work.values())
    kept = running.run_fixed("II", 30_000, 12, 0).extra
    assert 0 < kept["first"] < 1.3 * kept["last"]


def test_readings_change_the_tree_and_the_local_groups_and_nothing_else():
    even, near = readings.READINGS[1:]
    one, grouped = grid.at(grid.DENSE_I, 3, 9, 0), local.together(200, 0)
    assert even.point(one).options == {**one.options, "spread_last": True}
    assert even.point(grouped).options == {**grouped.options, "spread_last": True}
    assert near.point(one) is one
    assert near.point(grouped).options == {**grouped.options, "nearby": True}


def test_every_claim_of_shape_or_size_is_judged_under_every_reading(rows):
    main = {row["key"]: row for row in rows}
    others = [
        main[point.key] | {"key": reading.point(point).key}
        for reading in PAPER.readings[1:]
        for point in PAPER.judged_points(False)
    ]
    verdicts = evaluate(PAPER, Runs(rows + others), full=False).verdicts
    under = {verdict.claim.id: verdict.under for verdict in verdicts if verdict.under}
    assert under.keys() == {"G3b", "G5", "G6", "G7", "G8", "G9", "G10"}
    assert all(each.measurable for judgements in under.values() for each in judgements.values())
    assert {verdict.claim.id for verdict in verdicts if verdict.claim.ours} == {"G3c", "G3d", "G3e", "G9b"}
