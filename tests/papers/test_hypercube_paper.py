"""The hypercube paper's claims are judged by code: they hold on runs like the paper's, and can be missed."""

import json
import math
from dataclasses import replace

import pytest

from stablecast.papers import hypercube
from stablecast.papers.hypercube import (
    beyond,
    failures,
    figure_7,
    grid,
    loss,
    message_counts,
    nearness,
    orders,
    plain_cubes,
    readings,
    recovery,
    stalls,
    structure,
    time_to_stable,
)
from stablecast.papers.paper import evaluate
from stablecast.papers.registry import paper, paper_names
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.schema import DONE, table_of
from stablecast.pipeline.tasks import Terms, failed_row, run_point

CLAIMS = ["C1", "C2", "C3", "C4", *(f"C5{letter}" for letter in "abcdefghi"), "C6", "C7", "C8"]
FURTHER = (time_to_stable, nearness, plain_cubes, recovery)
"""Parts with tests of their own, on runs of theirs: test_hypercube_beyond_*.py."""


def own(name):
    """Return tables, claims or figures of the parts that are tested here."""
    further = [each for part in FURTHER for each in getattr(part, name.upper(), ())]
    return tuple(each for each in getattr(hypercube.PAPER, name) if each not in further)


PAPER = replace(
    hypercube.PAPER,
    points=lambda full: [each for each in hypercube.PAPER.points(full) if each.task != plain_cubes.TASK],
    tables=own("tables"),
    claims=own("claims"),
    figures=own("figures"),
)
EXACT = ["C1", "C2", "C3", "C4"]


def members_of(options):
    return options.get("members", beyond.TREE_MEMBERS)


def spread_of(options):
    """How far a graph is from the mean: far for coord, which depends on the coordinator's links."""
    away = options.get("seed", 0) % 6 / 5 - 0.5
    return 1 + away * (0.9 if options["protocol"] in ("coord", "coordp") else 0.1)


def times_like_the_papers(options):
    """First and last round-trip time in ms: steep, linear or flat."""
    n, protocol = members_of(options), options["protocol"]
    if protocol == "fulldist":
        return 16 * (n / 150) ** 1.1, 19 * (n / 150) ** 1.5
    if protocol in ("coord", "coordp"):
        return 3 + n / 40, 3.2 + n / 38
    base = 10 * (1 + math.log2(n) / 20)
    return (base, 1.05 * base) if protocol in ("s_coord", "s_coordp") else (base, 1.2 * base)


def messages_like_the_papers(options):
    n, protocol = members_of(options), options["protocol"]
    if protocol == "fulldist":
        return n * (n - 1)
    if protocol == "cubefulldist":
        return round(0.7 * message_counts.lockstep_messages(min(n, 16_384)))
    return 3 * (n - 1)


def iterations_and_messages_like_the_papers(options):
    """As Figure 7 has it: iterations, and messages of the busiest node."""
    n, protocol = members_of(options), options["protocol"]
    step = round(math.log2(n))
    busiest = {"fulldist": 2 * n, "coord": 3 * n, "coordp": 3 * n, "cubefulldist": 9 * step}.get(protocol, 12)
    return {"fulldist": 2, "coord": 3, "coordp": 3}.get(protocol, step), busiest


def fabricated_result(options):
    """What a run like the paper's would have measured."""
    n, protocol, spread = members_of(options), options["protocol"], spread_of(options)
    first, last = (1000 * spread * time for time in times_like_the_papers(options))
    messages = messages_like_the_papers(options)
    queue = {"fulldist": 3 * n, "coord": n, "coordp": n, "cubefulldist": 14}.get(protocol, 10)
    hops = messages * (4 if protocol in ("coord", "coordp") else 3)
    rounds, busiest = iterations_and_messages_like_the_papers(options)
    return {
        "completed": "faults" not in options or protocol in ("fulldist", "cubefulldist"),
        "members": n,
        "seed": options.get("seed", 0),
        "rtt_first_us": first,
        "rtt_last_us": last,
        "rtt_max_us": last,
        "load_mean": {"fulldist": 5 * n, "cubefulldist": 3 * n}.get(protocol, n),
        "queue_max": round(queue * spread),
        "hops": [("total", hops)],
        "messages_sent": messages,
        "rounds": rounds,
        "processed_max": busiest,
    }


def checked(first, last):
    """What the check of a range of hypercubes finds."""
    extra = dict.fromkeys(structure.COUNTS, 0.0) | {"sizes": float(last - first + 1)}
    return extra | ({"example": 1.0} if first <= structure.EXAMPLE <= last else {})


@pytest.fixture(scope="module")
def shape():
    """The columns of a real run."""
    row = run_point(grid.of("coord", 10, 0), Terms())
    assert row["status"] == DONE, row["error"]
    left_out = ("point_wall_s", "finished_at", "key", "task", "replay", "options", "protocol")
    options = json.loads(row["options"])
    return {name: value for name, value in row.items() if name not in left_out and name not in options}


def fabricated_rows(shape, points):
    """A row for each point, with numbers like the paper's."""
    rows = []
    for point in points:
        row = failed_row(point, Terms(), "") | {"status": DONE, "error": None}
        if point.task == structure.TASK:
            row["extra"] = list(checked(**point.options).items())
        else:
            row |= {name: value for name, value in shape.items() if row.get(name) is None}
            row |= fabricated_result(dict(point.options))
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def fabricated(shape):
    """The quick points of the main reading."""
    return fabricated_rows(shape, PAPER.points(False))


@pytest.fixture
def rows(fabricated):
    return [dict(row) for row in fabricated]


def test_every_claim_of_the_checklist_holds_on_runs_like_the_papers(rows):
    evaluation = evaluate(PAPER, Runs(rows), full=False)
    told = {verdict.claim.id: verdict.judgement for verdict in evaluation.verdicts}
    assert list(told) == CLAIMS
    assert [claim for claim, judgement in told.items() if not judgement.holds] == [], told
    assert all(judgement.paper and judgement.measured and judgement.why for judgement in told.values())
    kinds = {verdict.claim.id: verdict.claim.kind for verdict in evaluation.verdicts}
    assert [claim for claim, kind in kinds.items() if kind == "exact"] == EXACT


def test_every_trend_and_factor_is_judged_under_every_reading(shape):
    points = {point.key: point for point in PAPER.all_points(False)}
    runs = Runs(fabricated_rows(shape, points.values()))
    evaluation = evaluate(PAPER, runs, full=False)
    judged = {verdict.claim.id: verdict.under for verdict in evaluation.verdicts if verdict.under}
    assert list(judged) == [claim for claim in CLAIMS if claim not in EXACT]
    assert all(list(under) == [each.name for each in readings.READINGS] for under in judged.values())
    lacking = [(claim, name) for claim, under in judged.items() for name, j in under.items() if not j.holds]
    assert lacking == []


def test_tables_and_figures_are_made(rows):
    evaluation = evaluate(PAPER, Runs(rows), full=False)
    assert len(evaluation.tables) == len(PAPER.tables)
    assert len(evaluation.figures) == len(PAPER.figures)
    assert len({table.key for table in evaluation.tables}) == len(PAPER.tables)
    assert all(len(row) == len(table.columns) for table in evaluation.tables for row in table.rows)
    assert {f"figure{n}" for n in range(8, 15)} <= {figure.key for figure in evaluation.figures}
    assert all(
        series.x and all(map(math.isfinite, series.y))
        for figure in evaluation.figures
        for panel in figure.panels
        for series in panel.series
    )


def change(column, new, where=lambda options: True):
    """Change a column of the simulations whose options are so."""

    def tamper(rows):
        for row in rows:
            if row[column] is not None and row["hops"] is not None and where(json.loads(row["options"])):
                row[column] = new(row[column])

    return tamper


def change_extra(name, new):
    def tamper(rows):
        for row in rows:
            row["extra"] = [(key, new if key == name else value) for key, value in row["extra"] or []]

    return tamper


def without(where):
    def tamper(rows):
        rows[:] = [row for row in rows if not where(json.loads(row["options"]))]

    return tamper


def ran(protocol, *sizes):
    return lambda options: (
        options.get("protocol") == protocol and (not sizes or options.get("members") in sizes)
    )


def times(factor):
    return lambda value: value * factor


TAMPERED = {
    "C1 a protocol does not finish": change("completed", lambda _: False, ran("fulldist", 100)),
    "C1 the twin differs": change("messages_sent", lambda count: count + 1, ran("s_coordp")),
    "C2 a degree is wrong": change_extra("wrong degrees", 1.0),
    "C2 paths are lacking": change_extra("wrong paths", 1.0),
    "C2 another link in the example": change_extra("example", 0.0),
    "C2 sizes are left out": change_extra("sizes", 3.0),
    "C3 a run does not finish": change(
        "completed", lambda _: False, lambda o: o.get("duplicate") and o["protocol"] == "s_coord"
    ),
    "C3 runs are missing": without(lambda o: o.get("reorder")),
    "C4 a run does not finish": change("completed", lambda _: False, ran("coord", 1000)),
    "C4 an index is not measured": change("load_mean", lambda _: None, ran("s_coord", 300)),
    "C5a times grow": change("rtt_first_us", times(4), ran("cubefulldist", 1900)),
    "C5b a jump after a power of two": change("rtt_last_us", times(1.5), ran("cubefulldist", 300)),
    "C5c not linear": change("rtt_last_us", times(3), ran("coord", 200, 400)),
    "C5c the queue is not linear": change("queue_max", lambda _: 100, ran("coord", 1000, 1900)),
    "C5d other times": change("rtt_first_us", times(1 / 3), ran("fulldist")),
    "C5d not steep": change("rtt_last_us", times(9), ran("s_coord", 400)),
    "C5e coord is faster": change("rtt_last_us", times(1 / 5), ran("coord", 1900)),
    "C5e coord's first member is faster": change("rtt_first_us", times(1 / 5), ran("coord", 1900)),
    "C5e fewer messages": change("messages_sent", lambda _: 100, ran("cubefulldist", 1000)),
    "C5f more messages": change("messages_sent", lambda count: count**1.7, ran("cubefulldist")),
    "C5g another has the longest queue": change("queue_max", lambda _: 9999, ran("coord", 400)),
    "C5g more hops": change("hops", lambda _: [("total", 10**9)], ran("s_coord", 1900)),
    "C5g queues differ": change("queue_max", lambda _: 80, ran("cubefulldist", 1900)),
    "C5h the last is late": change("rtt_last_us", times(2), ran("s_coord", 1000)),
    "C5h fulldist's last is not late": change("rtt_last_us", times(0.1), ran("fulldist")),
    "C5i coord is faster": change("rtt_last_us", times(10), ran("s_coord", 1900)),
    "C6 another is more sensitive": change(
        "rtt_first_us", times(20), lambda o: o.get("protocol") == "cubefulldist" and o.get("seed") == 5
    ),
    "C7 failures prolong rounds": change("rtt_first_us", times(1.4), lambda o: o.get("fail_neighbours") == 3),
    "C7 failures lengthen queues": change("queue_max", lambda _: 30, lambda o: "fail_neighbours" in o),
    "C7 a round does not end": change(
        "completed", lambda _: False, lambda o: o.get("fail_neighbours") == 5 and o.get("seed") == 1
    ),
    "C8 more iterations": change("rounds", lambda _: 40, ran("coord", 1900)),
    "C8 more messages of a node": change("processed_max", times(20), ran("s_coord", 1000, 1024, 1900)),
    "C8 more messages in all": change("messages_sent", times(20), ran("coord", 1000, 1024, 1900)),
    "C8 a robust one stalls": change(
        "completed", lambda _: False, lambda o: "fail_random" in o and o["protocol"] == "cubefulldist"
    ),
    "C8 one that is not robust finishes": change("completed", lambda _: True, ran("coord")),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    TAMPERED[what](rows)
    claim = next(claim for claim in PAPER.claims if claim.id == what.split()[0])
    try:
        assert not claim.judge(Runs(rows)).holds
    except MissingRun:
        assert "missing" in what


def test_without_runs_every_claim_is_missed_and_nothing_is_drawn():
    evaluation = evaluate(PAPER, Runs([]), full=False)
    assert not any(verdict.judgement.holds for verdict in evaluation.verdicts)
    assert list(evaluation.figures) == list(evaluation.tables) == []


def test_quick_is_a_part_of_full_and_no_point_comes_twice():
    full, quick = ({point.key: point for point in PAPER.points(which)} for which in (True, False))
    assert len(full) == len(PAPER.points(True))
    assert quick.keys() < full.keys()
    every, some = ({point.key for point in PAPER.judged_points(which)} for which in (True, False))
    assert some < every
    assert {p.options["members"] for p in quick.values() if p.options.get("protocol") == "coord"} == {
        *grid.QUICK_SIZES,
        grid.LARGE_SIZES[0],
    }


def test_the_paper_s_sizes_graphs_and_failures_are_run():
    plain = grid.points(True)
    assert len(plain) == grid.GRAPHS * sum(len(grid.sizes(True, protocol)) for protocol in grid.PROTOCOLS)
    assert max(grid.sizes(True, "fulldist")) == 400
    assert (min(grid.SIZES), max(grid.SIZES)) == (10, 1900)
    assert {point.options["senders"] for point in plain if point.options["members"] >= 50} == {50}
    asked = {point.options.get("fail_neighbours", 0) for point in failures.points(True)}
    assert asked == {0, 1, 2, 3, 4, 5}


def told(reading, protocol="coord", members=400, graph=0):
    return reading.point(grid.of(protocol, members, graph)).options


def test_the_printed_probabilities_are_those_of_a_mean_degree_of_4_at_100_to_400_members():
    assert grid.of("coord", 100, 0).options["edge_probability"] == 0.04
    assert grid.of("coord", 400, 0).options["edge_probability"] == 0.01
    assert grid.edge_probability(grid.MEAN_DEGREE, 3) == 1.0
    assert told(readings.SPARSER, members=300)["edge_probability"] == 0.01
    printed = [told(readings.PRINTED, members=1900, graph=graph)["edge_probability"] for graph in (0, 5, 6)]
    assert printed == [0.01, 0.04, 0.01]


def test_a_multicast_by_the_network_leaves_cubefulldist_as_it_is():
    assert told(readings.FREE_BY_NETWORK)["cast"] == "multicast"
    assert told(readings.FREE_SOURCE_TREES)["multicast_tree"] == "source"
    plain = grid.of("cubefulldist", 400, 0)
    assert readings.FREE_BY_NETWORK.point(plain) == readings.FREE_SOURCE_TREES.point(plain) == plain
    assert told(readings.HOSTS_BY_NETWORK, "cubefulldist") == told(readings.HOSTS_ONE_BY_ONE, "cubefulldist")


def test_the_main_reading_changes_nothing_and_every_choice_says_what_it_rests_on():
    assert readings.READINGS[0].point(grid.of("coord", 400, 1)) == grid.of("coord", 400, 1)
    assert all(choice.decision and choice.rests_on for each in readings.READINGS for choice in each.choices)
    assert len({each.name for each in readings.READINGS}) == len(readings.READINGS)


def test_a_close_race_is_undecided(rows):
    change("rtt_last_us", times(0.345), ran("coord", 1900))(rows)
    judgement = next(claim for claim in PAPER.claims if claim.id == "C5e").judge(Runs(rows))
    assert "last member over cubefulldist's" in judgement.undecided


@pytest.mark.parametrize("order", orders.ORDERS)
def test_an_order_of_growth_is_recognised(order):
    sizes = [10, 100, 200, 500, 1900]
    counts = [1.7 * orders.ORDERS[order](n) for n in sizes]
    stray = {other: orders.misfit(sizes, counts, other) for other in orders.ORDERS}
    assert stray.pop(order) == pytest.approx(0)
    assert min(stray.values()) > 0.02


def test_a_constant_does_not_hide_that_times_are_linear(rows):
    coord = grid.curve(Runs(rows), "coord")
    assert orders.best_order(coord, grid.LAST, constant=True) == "n"
    compared = orders.rather("n", coord, grid.LAST, ("n",), ("1", "log n"), constant=True)
    assert compared.holds
    assert compared.found.seeds == grid.GRAPHS


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({10: False, 100: True, 400: True}, "from n = 100 on"),
        ({10: True, 100: False, 400: True}, "from n = 400 on"),
        ({10: True, 400: True}, "at every size"),
        ({10: True, 400: False}, "not at the largest size"),
    ],
)
def test_from_which_size_on_something_holds(found, words):
    assert grid.holds_from(found) == words


def test_figure_7_is_a_table_of_every_printed_cell(rows):
    made = figure_7.figure_7(Runs(rows))
    assert {row[1] for row in made.rows} == set(grid.PROTOCOLS)
    assert len(made.rows) == 15
    assert {row[4] for row in made.rows} == {"yes"}


@pytest.mark.parametrize("m", [1, 3, 7])
def test_in_lockstep_a_complete_hypercube_sends_m_times_m_plus_1_messages_a_member(m):
    assert message_counts.lockstep_messages(2**m) == 2**m * m * (m + 1)


def test_the_structure_of_small_hypercubes_is_computed():
    extra = structure.run_structure(2, 16).extra
    assert extra["sizes"] == 15
    assert extra["example"] == 1
    assert sum(extra[name] for name in extra if name.startswith("wrong")) == 0
    assert extra["diameter m - 1"] == 8  # all but the powers of two, 7, 14 and 15


def test_the_paper_is_found_by_name():
    assert "hypercube" in paper_names()
    assert paper("hypercube") is hypercube.PAPER


def test_real_runs_fill_the_columns_that_judges_read():
    asked = [
        *(grid.of(protocol, 100, 0) for protocol in grid.PROTOCOLS),
        *(structure.twin(protocol, 0) for protocol in structure.SAME),
        *(each.point(grid.of("s_coord", 100, 1)) for each in readings.READINGS[1:]),
        loss.with_loss("cubefulldist", 0, link_loss=0.05, duplicate=0.1, reorder=0.1),
        failures.with_failures(64, 5, 0),
        beyond.on_graph(beyond.COUNTED, 128, 0),
    ]
    rows = [run_point(point, Terms()) for point in asked]
    assert [row["error"] for row in rows] == [None] * len(asked)
    assert table_of(rows).num_rows == len(asked)
    runs = Runs(rows)
    for point in asked:
        assert runs[point].result.completed
        assert all(index.read(runs[point].result) is not None for index in (*grid.INDICES, grid.OWN))
    assert grid.sample(runs, "coord", 100).mean(grid.MESSAGES) == 297
    assert grid.sample(runs, "fulldist", 100).mean(grid.MESSAGES) == 9900


@pytest.mark.parametrize(("told", "outcome"), [(True, "finishes"), (False, "stalls")])
def test_coord_and_s_coord_survive_the_crash_of_the_coordinator_if_they_are_told(told, outcome):
    crash = stalls.Crash(stalls.FIRST_MEMBER, during=True, told=told)
    asked = [grid.of(protocol, stalls.MEMBERS, 0, **crash.options) for protocol in grid.PROTOCOLS]
    runs = Runs([run_point(point, Terms()) for point in asked])
    assert {protocol: stalls.outcome(runs, protocol, crash) for protocol in grid.PROTOCOLS} == {
        "fulldist": "finishes",
        "coord": outcome,
        "s_coord": outcome,
        "cubefulldist": "finishes",
    }


def test_before_its_first_message_nobody_but_fulldist_misses_member_0():
    crash = stalls.Crash(stalls.FIRST_MEMBER, during=False, told=True)
    asked = [grid.of(protocol, stalls.MEMBERS, 0, **crash.options) for protocol in grid.PROTOCOLS]
    runs = Runs([run_point(point, Terms()) for point in asked])
    told = {protocol: stalls.outcome(runs, protocol, crash) for protocol in grid.PROTOCOLS}
    assert told == {
        "fulldist": "stalls",
        "coord": "finishes",
        "s_coord": "finishes",
        "cubefulldist": "finishes",
    }


@pytest.mark.parametrize("members", [10, 100, 1000])
def test_a_node_of_s_coord_handles_log_n_messages(members):
    """START and INFO come once and go to each of log n children, which each send an ACK; one ACK goes up."""
    point = grid.of("s_coord", members, 0)
    degree = math.ceil(math.log2(members))
    assert Runs([run_point(point, Terms())])[point].result.processed_max == 3 * degree + 3
