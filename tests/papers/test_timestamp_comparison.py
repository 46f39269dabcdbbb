"""Every protocol in the same group: what is asked of each, and that altered runs are noticed."""

import json

import pytest
from timestamp_rows import change, check_tables_and_figures, ran, run_all, times, verdict

from stablecast.papers.timestamp import comparison, comparison_figures
from stablecast.papers.timestamp.comparison import GRAPH, LOSSES, NETWORKS, TREE, run_of
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, failed_row

P50_MS = {"s_coordp": 60, "timestamp": 200, "vector": 110, "explicit": 30}
HOP_BYTES = {"s_coordp": 5e5, "timestamp": 8e6, "vector": 2e7, "explicit": 7e6}


def fabricated(options):
    """What a run might have measured in which every claim of this part holds."""
    name, lossy = options["protocol"], "link_loss" in options
    on_graph = options["topology"] == "random-graph"
    p50 = 1000 * P50_MS.get(name, 300)
    p99 = 400_000 if name in comparison.MANY_WAYS else 700_000
    factor = 4 if on_graph and name in ("timestamp", "vector") else 1
    return {
        "completed": True,
        "messages_stable": comparison.SENDERS * comparison.MESSAGES,
        "tts_p50_us": p50 * (2 if lossy else 1),
        "tts_p99_us": p99 if lossy else 1.2 * p50,
        "hop_bytes": round(HOP_BYTES.get(name, 1e6) * factor),
        "attached_bytes": 0,
    }


@pytest.fixture(scope="module")
def rows():
    """A row for each quick point in the shape of a real run, with numbers as above."""
    real = run_all([run_of("explicit", TREE, 0.0, 0)])[0]
    left_out = {
        "key",
        "task",
        "replay",
        "options",
        "point_wall_s",
        "finished_at",
        *json.loads(real["options"]),
    }
    shape = {name: value for name, value in real.items() if name not in left_out}
    made = []
    for point in comparison.points(False):
        row = failed_row(point, Terms(), "") | {"status": DONE, "error": None}
        row |= {name: value for name, value in shape.items() if row.get(name) is None}
        made.append(row | fabricated(dict(point.options)))
    return made


def test_every_claim_can_hold(rows):
    assert [claim.id for claim in comparison.CLAIMS] == ["T7", "T8a", "T8b", "T9"]
    assert [c.id for c in comparison.CLAIMS if not verdict(comparison.CLAIMS, c.id, rows)] == []


ALTERED = {
    "T7 a protocol does not finish": change("completed", lambda _: False, ran("train", link_loss=0.01)),
    "T7 a message does not become stable": change("messages_stable", lambda count: count - 1, ran("gsgc")),
    "T7 a run with another time between resends does not finish": change(
        "completed", lambda _: False, ran("coord", resend_ms=50.0)
    ),
    "T8a timestamps are sooner": change("tts_p50_us", times(0.1), ran("timestamp", topology="balanced")),
    "T8a gathering takes more bytes": change("hop_bytes", times(100), ran("s_coordp")),
    "T8b timestamps take less than explicit ones": change(
        "hop_bytes", times(0.5), ran("timestamp", topology="balanced")
    ),
    "T8b a network without multicast is no matter": change(
        "hop_bytes", times(0.25), ran("timestamp", topology="random-graph")
    ),
    "T9 a round is sooner with a short time between resends": change(
        "tts_p99_us", times(0.5), ran("coordp", resend_ms=50.0)
    ),
    "T9 timestamps suffer more": change("tts_p99_us", times(2), ran("timestamp", link_loss=0.01)),
}


@pytest.mark.parametrize("what", ALTERED)
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, what):
    assert not verdict(comparison.CLAIMS, what.split()[0], ALTERED[what](rows))


def test_tables_and_figures_are_made(rows):
    (everything, resends), _ = check_tables_and_figures(comparison, rows, figures=comparison_figures.FIGURES)
    assert len(everything.rows) == len(comparison.compared()) * len(NETWORKS) * len(LOSSES)
    assert len(resends.rows) == len(NETWORKS) * len((*comparison.ONE_WAY, *comparison.MANY_WAYS))
    assert "explicit" in everything.note


def test_every_protocol_takes_part_with_the_same_traffic_and_period():
    asked = [point.options for point in comparison.points(False)]
    assert {options["protocol"] for options in asked} == set(comparison.compared())
    assert {(options["members"], options["senders"], options["messages"]) for options in asked} == {
        (64, 16, 40)
    }
    for options in asked:
        steps_ms = [options.get("ack_every_ms"), options.get("pause_ms"), 1000 * options.get("step_s", 0)]
        assert 100.0 in steps_ms or options.get("period_ms", 100.0) == 100.0


def test_nothing_is_sent_again_where_nothing_is_lost():
    for name in comparison.compared():
        assert "resend_ms" not in run_of(name, GRAPH, 0.0, 0).options
    assert run_of("coordp", GRAPH, 0.01, 0).options["resend_ms"] == comparison.PERIOD_MS
    assert "resend_ms" not in run_of("vector", GRAPH, 0.01, 0).options


def test_data_is_multicast_on_the_tree_whatever_the_protocol():
    rows = run_all([run_of(name, TREE, 0.0, 0) for name in ("explicit", "coord", "vector")])
    hops = {row["protocol"]: dict(row["data_hops"])["DATA"] for row in rows}
    assert set(hops.values()) == {16 * 40 * 63}


def test_only_explicit_leaves_others_than_the_sender_in_the_dark():
    assert [name for name in comparison.compared() if comparison.only_senders_learn(name)] == ["explicit"]


def test_what_rides_in_data_counts_on_every_link(rows):
    point = run_of("timestamp", TREE, 0.0, 0)
    plain = comparison.measured(Runs(rows), "timestamp", TREE, 0.0).hop_bytes
    ridden = [row | {"attached_bytes": 640} if row["key"] == point.key else row for row in rows]
    assert comparison.measured(Runs(ridden), "timestamp", TREE, 0.0).hop_bytes == plain + 63


def test_quick_is_a_part_of_full_and_without_runs_nothing_is_judged():
    full, quick = ([point.key for point in comparison.points(which)] for which in (True, False))
    assert len(set(full)) == len(full)
    assert set(quick) < set(full)
    for claim in comparison.CLAIMS:
        with pytest.raises(MissingRun):
            claim.judge(Runs([]))
