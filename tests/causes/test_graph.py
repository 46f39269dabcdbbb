"""Times recomputed on the graph: those of the trace; and what shortening an edge does and does not change."""

import numpy as np
import pytest
from causes_runs import random_rows, run_from

from benchmarks.critical_paths import has_other_tight_way
from stablecast.causes import critical_path, recompute, slowest
from stablecast.causes.graph import ORDER, TRIGGER, Edge
from stablecast.errors import InvalidInput

SEEDS = range(12)


def drawn_run(seed):
    return run_from(random_rows(seed, members=2 + seed % 6, messages=8 + seed % 5))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_graph_gives_the_times_of_the_trace(seed):
    run = drawn_run(seed)
    assert np.array_equal(recompute(run.graph, {}), run.graph.time_us)
    assert run.remarks == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_shortening_an_edge_off_the_path_changes_nothing(seed):
    run, random = drawn_run(seed), np.random.default_rng(seed)
    for slow in slowest(run, 5):
        path = critical_path(run, slow.source, slow.seq)
        end, on_path = path.edges[-1].into, {*path.edges, *path.earlier}
        for step in random.choice(len(run.graph), 15).tolist():
            for edge in set(run.graph.edges_into(step)) - on_path:
                less = max(0, run.graph.length_us(edge))
                assert recompute(run.graph, {edge: less})[end] == path.detected_us, (seed, edge)


@pytest.mark.parametrize("seed", SEEDS)
def test_shortening_an_edge_on_the_path_is_noticed_unless_another_way_is_as_long(seed):
    run, earlier = drawn_run(seed), 0
    for slow in slowest(run, 5):
        path = critical_path(run, slow.source, slow.seq)
        end = path.edges[-1].into
        for edge in path.edges:
            shorter = recompute(run.graph, {edge: run.graph.length_us(edge)})[end] < path.detected_us
            assert shorter != has_other_tight_way(run.graph, end, edge), (seed, edge)
            earlier += shorter
    assert earlier


def test_steps_that_only_wait_their_turn_follow_the_step_before():
    rows = [
        {"kind": "send", "member": "a", "source": "a", "seq": 1, "time_us": 10, "step": 1},
        {"kind": "transmit", "member": "a", "number": 1, "message": "DATA", "time_us": 10, "step": 1},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 30, "step": 1},
        {"kind": "timer", "member": "b", "message": "look", "since_us": None, "time_us": 50, "step": 2},
        {"kind": "timer", "member": "b", "message": "look", "since_us": 30, "time_us": 90, "step": 3},
    ]
    graph = run_from(rows).graph
    assert graph.cause.tolist() == [-1, 0, 1, 1]
    assert graph.wait_us.tolist() == [0, 20, 20, 60]
    assert graph.edges_into(3) == (Edge(1, 3, TRIGGER), Edge(2, 3, ORDER))
    assert recompute(graph, {Edge(1, 3, TRIGGER): 60}).tolist() == [10, 30, 50, 50]


@pytest.mark.parametrize(("by_us", "origin"), [(21, 0), (-1, 0), (1, 3)])
def test_an_edge_that_is_not_there_or_not_that_long_is_refused(by_us, origin):
    rows = [
        {"kind": "transmit", "member": "a", "number": 1, "time_us": 10, "step": 1},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 30, "step": 1},
    ]
    graph = run_from(rows).graph
    with pytest.raises(InvalidInput, match="accepted"):
        recompute(graph, {Edge(origin, 1, TRIGGER): by_us})


def test_a_step_that_is_a_cause_of_itself_is_refused():
    rows = [
        {"kind": "arrive", "member": "a", "peer": "b", "number": 1, "time_us": 10, "step": 1},
        {"kind": "transmit", "member": "a", "number": 1, "time_us": 10, "step": 1},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 10, "step": 1},
        {"kind": "transmit", "member": "b", "number": 1, "time_us": 10, "step": 1},
    ]
    with pytest.raises(InvalidInput, match="a cause of itself"):
        recompute(run_from(rows).graph, {})


def test_clocks_that_run_apart_are_remarked_and_do_no_harm():
    rows = [
        {"kind": "transmit", "member": "a", "number": 1, "message": "START", "time_us": 100, "step": 1},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 70, "step": 1},
        {"kind": "timer", "member": "b", "time_us": 60, "since_us": 70, "step": 2},
        {"kind": "arrive", "member": "b", "peer": "c", "number": 9, "time_us": 75, "step": 3},
    ]
    run = run_from(rows)
    assert run.graph.clocks_contradict
    assert np.array_equal(recompute(run.graph, {}), run.graph.time_us)
    told = " ".join(run.remarks)
    assert "Clocks run apart: by them, 1 arrival came before its transmission, by up to 30 µs" in told
    assert "went back 1 time" in told
    assert "transmissions of 1 arrival are not in the trace" in told


def test_an_arrival_is_of_the_latest_start_of_its_transmitter():
    rows = [
        {"kind": "transmit", "member": "a", "number": 1, "time_us": 10, "step": 1},
        {"kind": "transmit", "member": "a", "number": 2, "time_us": 20, "step": 2},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 30, "step": 1},
        {"kind": "transmit", "member": "a", "number": 1, "time_us": 50, "step": 0},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 60, "step": 2},
    ]
    graph = run_from(rows).graph
    assert graph.wait_us.tolist() == [0, 0, 0, 20, 10]
    assert graph.step.tolist() == [1, 2, 3, 1, 2]
