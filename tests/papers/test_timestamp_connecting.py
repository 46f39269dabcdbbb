"""Receivers that connect and disconnect: claims hold on real runs, and are missed when one is otherwise."""

import pytest
from timestamp_rows import check_tables_and_figures, verdict

from stablecast.papers.timestamp import connecting, connecting_figures, groups
from stablecast.papers.timestamp.connecting import CALM, RATES, RULED, UNRULED, VECTOR, WORST, changing
from stablecast.papers.timestamp.hold_ups import (
    CHANGES,
    JOINS,
    JOINS_CRASHED,
    JOINS_VECTOR,
    LEAVES,
    LEAVES_LATE,
    LEAVES_VECTOR,
    hold_up,
)
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point

pytestmark = pytest.mark.xdist_group("timestamp_connecting")  # its runs take seconds, once


@pytest.fixture(scope="module")
def rows():
    """The quick runs; none may fail."""
    made = [run_point(point, Terms()) for point in connecting.points(False)]
    assert [row["error"] for row in made if row["status"] != DONE] == []
    return made


def altered(rows, points, **numbers):
    """Return the rows with other numbers in the runs of some points."""
    keys = {point.key for point in points}
    assert keys & {row["key"] for row in rows}
    return [row | numbers if row["key"] in keys else row for row in rows]


def measured_otherwise(rows, change, name, value):
    """Return the rows with another measure of a change, in all of its runs."""
    keys = {hold_up(change, seed).key for seed in connecting.SEEDS}
    assert keys & {row["key"] for row in rows}
    return [
        row | {"extra": {**dict(row["extra"]), name: value}} if row["key"] in keys else row for row in rows
    ]


def runs_of(kind, network, rates=RATES):
    return [changing(kind, network, rate, seed) for rate in rates for seed in connecting.SEEDS]


def test_every_claim_holds_on_real_runs(rows):
    names = [claim.id for claim in connecting.CLAIMS]
    assert names == ["T6d", "T6e", "T6f", "T6g", "T6h"]
    assert [claim.id for claim in connecting.CLAIMS if claim.ours] == names[1:]
    assert [name for name in names if not verdict(connecting.CLAIMS, name, rows)] == []


ALTERED = {
    "T6d a message too early with the rules": (
        "T6d",
        lambda rows: altered(rows, [changing(RULED, WORST, RATES[0], 0)], early=1),
    ),
    "T6d a run that does not end": (
        "T6d",
        lambda rows: altered(rows, [changing(RULED, CALM, RATES[-1], 1)], completed=False),
    ),
    "T6d a run that was stopped": (
        "T6d",
        lambda rows: altered(rows, [changing(RULED, CALM, RATES[-1], 1)], status="failed", error="unsafe"),
    ),
    "T6d nothing could have been seen": (
        "T6d",
        lambda rows: altered(
            rows, [point for network in connecting.NETWORKS for point in runs_of(UNRULED, network)], early=0
        ),
    ),
    "T6e the hazard where nothing is lost": (
        "T6e",
        lambda rows: altered(rows, [changing(UNRULED, CALM, RATES[-1], 0)], early=1),
    ),
    "T6e no hazard": ("T6e", lambda rows: altered(rows, runs_of(UNRULED, WORST), early=0)),
    "T6e fewer with more connects": (
        "T6e",
        lambda rows: altered(rows, runs_of(UNRULED, WORST, RATES[:1]), early=100),
    ),
    "T6f longer than to be let in": (
        "T6f",
        lambda rows: measured_otherwise(rows, JOINS, "let in", 1.0),
    ),
    "T6f vectors are held up as well": (
        "T6f",
        lambda rows: measured_otherwise(rows, JOINS_VECTOR, "others, longest", 10.0),
    ),
    "T6f nobody is": ("T6f", lambda rows: measured_otherwise(rows, JOINS, "others, longest", 0.0)),
    "T6g nobody waits": ("T6g", lambda rows: measured_otherwise(rows, JOINS_CRASHED, "others, longest", 0.0)),
    "T6g for ever": ("T6g", lambda rows: measured_otherwise(rows, JOINS_CRASHED, "others, longest", 5000.0)),
    "T6h after it is told": ("T6h", lambda rows: measured_otherwise(rows, LEAVES, "own, longest", 50.0)),
    "T6h no wait": ("T6h", lambda rows: measured_otherwise(rows, LEAVES_LATE, "own, longest", 0.0)),
    "T6h other senders": (
        "T6h",
        lambda rows: measured_otherwise(rows, LEAVES_VECTOR, "others, longest", 10.0),
    ),
}


@pytest.mark.parametrize("case", ALTERED)
def test_claims_are_missed_when_runs_say_otherwise(rows, case):
    claim, alter = ALTERED[case]
    assert not verdict(connecting.CLAIMS, claim, alter(rows))


def test_without_runs_there_is_no_verdict():
    for claim in connecting.CLAIMS:
        with pytest.raises(MissingRun, match="this run was not made"):
            claim.judge(Runs([]))


def test_runs_without_the_rules_do_not_count_for_the_theorems(rows):
    unruled = [row for row in rows if row["no_rules"]]
    assert any(row["early"] for row in unruled)
    theorems = next(claim for claim in groups.CLAIMS if claim.id == "T2")
    counted = theorems.judge(Runs(rows)).measured
    ruled = [row for row in rows if row["task"] == "simulate" and not row["no_rules"]]
    assert counted == f"0 unsafe, 0 not live, of {len(ruled)} runs"


def test_tables_and_figures(rows):
    tables, _ = check_tables_and_figures(connecting, rows, figures=connecting_figures.FIGURES)
    assert [table.key for table in tables] == ["connection_hazards", "connection_rates", "held_up"]
    assert len(tables[2].rows) == len(CHANGES)


def test_full_runs_are_the_quick_ones_and_more_seeds():
    quick, full = ({point.key for point in connecting.points(full)} for full in (False, True))
    assert quick < full
    assert changing(VECTOR, CALM, 0.0, 0).key in quick
