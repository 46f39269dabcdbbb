"""The independent computations of an analysis: small examples by hand, and each against the other."""

import os
import random

import analysis_oracle
import analysis_plain
import duckdb
import pyarrow.parquet as pq
import pytest
from analysis_compare import differences, differing_groups, disagreement, rows_of
from analysis_examples import EXAMPLES, events_of
from analysis_plain import TABLES
from analysis_random_trace import random_trace
from analysis_traces import as_table, drawn, together

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)


def in_sql(events, first_seq=1):
    return analysis_oracle.analyse(as_table(events), first_seq)


@pytest.fixture(scope="module", params=[in_sql, analysis_plain.analyse], ids=["sql", "plain"])
def answers(request):
    """The tables of all examples, each a group, from one call."""
    return request.param(
        [event._replace(group=name) for name, (text, _) in EXAMPLES.items() for event in events_of(text)]
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_by_hand(answers, name):
    for table, expected in EXAMPLES[name][1].items():
        rows = [row[1:] for row in rows_of(answers[table]) if row[0] == name]
        assert differences(rows, expected) == "", table


@pytest.mark.parametrize("analyse", [in_sql, analysis_plain.analyse], ids=["sql", "plain"])
def test_a_source_may_begin_with_any_number(analyse):
    events = list(events_of("5 send a 7\n6 send a 8"))
    for first_seq in ("earliest", 7):
        answer = analyse(events, first_seq)
        assert differences(answer["frontiers"], [("g", "a", 5, 7, 7), ("g", "a", 6, 8, 8)]) == ""
        assert differences(answer["violations"], []) == ""
    answer = analyse(events, 3)
    assert differences(answer["frontiers"], []) == ""
    assert differences(answer["violations"], [("g", "gap", "a", "a", 3, 5)]) == ""


@pytest.mark.parametrize("first_seq", [1, "earliest"])
def test_both_computations_agree_on_any_trace(first_seq):
    traces = drawn(1000, SEED)
    found = disagreement(
        traces,
        lambda events: in_sql(events, first_seq),
        lambda events: analysis_plain.analyse(events, first_seq),
    )
    assert not found, f"seed {SEED}\n{found}"


def test_both_computations_agree_on_a_larger_trace():
    table = random_trace(SEED, groups=2, members=5, messages=150)
    found = differing_groups(analysis_oracle.analyse(table), analysis_plain.analyse(rows_of(table)))
    assert not found, f"seed {SEED}\n{found}"


def test_events_in_another_order_and_in_files_give_the_same(tmp_path):
    events = together(drawn(200, SEED))
    table = as_table(events)
    paths = [str(tmp_path / f"{number}.parquet") for number in range(3)]
    shuffled = random.Random(SEED).sample(events, len(events))
    for number, path in enumerate(paths):
        pq.write_table(as_table(shuffled[number::3]), path)
    with duckdb.connect() as connection:
        expected = analysis_oracle.analyse(table, connection=connection)
        assert not differing_groups(analysis_oracle.analyse(paths, connection=connection), expected)
    files = analysis_oracle.write(paths, tmp_path)
    assert not differing_groups({name: pq.read_table(files[name]) for name in TABLES}, expected)


def test_a_disagreement_is_reported_with_as_few_events_as_show_it():
    def wrong(events):
        answer = analysis_plain.analyse(events)
        return answer | {"violations": [row for row in answer["violations"] if row[1] != "duplicate"]}

    found = disagreement(drawn(100, 1), wrong, analysis_plain.analyse)
    assert found.count("Event(") == 2
    assert found.count("kind='receive'") == 2
    assert "only right violations" in found


def test_a_random_trace_has_everything_in_it():
    answer = analysis_oracle.analyse(random_trace(1, groups=2, messages=6000))
    kinds = set(answer["violations"]["kind"].to_pylist())
    assert kinds == {
        "early_stable",
        "early_release",
        "receive_after_departure",
        "duplicate",
        "receive_before_send",
        "sent_again",
        "missing_send",
        "gap",
        "send_out_of_order",
    }
    stable = answer["messages"]["stable_us"]
    assert 0 < stable.null_count < 0.1 * len(stable)
    assert max(answer["frontiers"]["stable"].to_pylist()) > 2000
