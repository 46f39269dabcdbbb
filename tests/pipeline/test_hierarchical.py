"""The hierarchical paper is reproduced on Spark; every judgement can also come out otherwise."""

import copy
import json

import pyarrow.parquet as pq
import pytest

from stablecast.cli.main import main
from stablecast.pipeline.experiments.growth import growth_order
from stablecast.pipeline.experiments.hierarchical import PAPER, message_tables, time_to_stable
from stablecast.pipeline.experiments.paper import evaluate
from stablecast.pipeline.experiments.registry import paper, paper_names
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.store import read_rows


@pytest.fixture(scope="module")
def reproduced(spark, tmp_path_factory):
    """The folder that the command leaves."""
    out = tmp_path_factory.mktemp("reproduced")
    assert main(["reproduce", "hierarchical", "--out", str(out)]) == 0
    return out


@pytest.fixture
def rows(reproduced):
    return copy.deepcopy(read_rows(reproduced / "runs.parquet"))


def test_every_claim_of_the_checklist_is_judged_and_holds(reproduced):
    claims = pq.read_table(reproduced / "claims.parquet").to_pylist()
    assert [claim["claim"] for claim in claims] == [f"H{number}" for number in range(1, 11)]
    assert {claim["claim"] for claim in claims if claim["kind"] == "exact"} == {
        "H1",
        "H2",
        "H3",
        "H4",
        "H9",
        "H10",
    }
    assert all(claim["holds"] for claim in claims), claims
    assert all(claim["paper_value"] and claim["measured_value"] and claim["why"] for claim in claims)


def test_the_folder_has_the_report_the_figures_and_the_tables(reproduced):
    assert (reproduced / "index.html").stat().st_size > 1_000_000
    figures = {file.name for file in (reproduced / "hierarchical" / "figures").iterdir()}
    assert figures == {f"figure{n}.{kind}" for n in range(6, 11) for kind in ("svg", "png")}
    tables = json.loads((reproduced / "hierarchical" / "tables" / "tables.json").read_text())
    for table in tables:
        assert (reproduced / "hierarchical" / "tables" / f"{table['key']}.csv").exists()
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_the_command_prints_the_claims_and_the_path_of_the_report(reproduced, capsys):
    assert main(["reproduce", "hierarchical", "--out", str(reproduced)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-2:] == ["10 of 10 claims hold", f"report: {reproduced / 'index.html'}"]
    assert main(["reproduce", "hierarchical", "--out", str(reproduced), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [claim["holds"] for claim in told["papers"][0]["claims"]] == [True] * 10


def set_everywhere(column, change):
    def tamper(rows):
        for row in rows:
            if row[column] is not None:
                row[column] = change(row[column])

    return tamper


def set_extra(name, change):
    def tamper(rows):
        for row in rows:
            row["extra"] = [
                (key, change(value) if key == name else value) for key, value in row["extra"] or []
            ]

    return tamper


def one_more(pairs):
    return [(key, value + (key == "ACK")) for key, value in pairs]


def slow_on_random_trees(rows):
    for row in rows:
        if row["topology"] == "random-tree":
            row["rtt_root_us"] *= 3


TAMPERED = {
    "H1": set_everywhere("rounds", lambda rounds: rounds + 1),
    "H2": set_extra("first", lambda value: value * value),
    "H3": set_everywhere("members", lambda members: members + 1),
    "H4": set_everywhere("hops", one_more),
    "H5": set_everywhere("queue_max", lambda length: length + 1),
    "H6": set_everywhere("rtt_root_us", lambda us: 1e6),
    "H7": set_everywhere("rtt_root_us", lambda us: us**2),
    "H8": slow_on_random_trees,
    "H9": set_extra("full_at", lambda times: times + 1),
    "H10": set_everywhere("tts_max_us", lambda us: 2 * us),
}


@pytest.mark.parametrize("claim", [claim.id for claim in PAPER.claims])
def test_a_claim_is_missed_when_the_runs_say_otherwise(rows, claim):
    TAMPERED[claim](rows)
    verdicts = evaluate(PAPER, Runs(rows), full=False).verdicts
    verdict = next(verdict for verdict in verdicts if verdict.claim.id == claim)
    assert not verdict.judgement.holds
    assert verdict.failed == (verdict.claim.kind == "exact")


def test_what_a_failed_run_leaves_unknown_is_missed_or_left_out(rows):
    point = time_to_stable.with_data("coordp")
    for row in rows:
        if row["key"] == point.key:
            row.update(status="failed", error="RuntimeError: why not", hops=None)
    evaluation = evaluate(PAPER, Runs(rows), full=False)
    missed = [verdict for verdict in evaluation.verdicts if not verdict.judgement.holds]
    assert [verdict.claim.id for verdict in missed] == ["H10"]
    assert "RuntimeError: why not; replay with: stablecast simulate coordp" in missed[0].judgement.why
    assert "time_to_stable" not in {table.key for table in evaluation.tables}
    assert len(evaluation.tables) == len(PAPER.tables) - 1


def test_full_has_the_papers_ten_random_trees_and_quick_fewer():
    full, quick = ({point.key for point in PAPER.points(full)} for full in (True, False))
    assert quick < full
    random = [point for point in PAPER.points(True) if point.options.get("topology") == "random-tree"]
    assert len(random) == 5 * 9 * 10


def test_papers_are_found_by_name():
    assert "hierarchical" in paper_names()
    assert paper("hierarchical") is PAPER


@pytest.mark.parametrize(
    ("order", "value"),
    [
        ("O(1)", lambda n: 7),
        ("O(n)", lambda n: 3 * n + 4),
        ("O(n^2)", lambda n: n * (n - 1)),
    ],
)
def test_growth_is_recognised(order, value):
    sizes = [13, 40, 121, 364, 1093]
    assert growth_order(sizes, [value(n) for n in sizes]) == order


def test_techniques_save_bytes_where_they_should(rows):
    cost = {(row[0], row[1]): row[2] for row in time_to_stable.techniques(Runs(rows)).rows}
    for protocol in ("coordp", "fulldist", "train", "s_coordp", "s_train"):
        assert cost[protocol, "one sequence for all"] < cost[protocol, "senders in 4 groups"]
        assert cost[protocol, "senders in 4 groups"] < cost[protocol, "none"]
        assert cost[protocol, "changed entries only"] < cost[protocol, "none"]


def test_messages_processed_are_counted_for_each_role(rows):
    extra = Runs(rows)[message_tables.by_role("s_train", (3, 5, 3))].extra
    assert sum(count for key, count in extra.items() if "=" in key) == 364
