"""Rows of runs for the tests of the buffering paper's experiments, and ways to alter them."""

import json

from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point


def run_all(points):
    """Run points in this process; none may fail."""
    rows = [run_point(point, Terms()) for point in points]
    assert [row["error"] for row in rows] == [None] * len(rows)
    assert all(row["status"] == DONE for row in rows)
    return rows


def verdict(claims, name, rows):
    """Judge one claim on rows."""
    claim = next(claim for claim in claims if claim.id == name)
    judgement = claim.judge(Runs(rows))
    assert all((judgement.paper, judgement.measured, judgement.why))
    return judgement.holds


def altered(rows, column, new, **options):
    """Return rows with a column changed where the options are these; at least one row is changed."""
    changed, count = [], 0
    for row in rows:
        given = json.loads(row["options"])
        if all(given.get(name) == value for name, value in options.items()):
            row = row | {column: new(row[column])}
            count += 1
        changed.append(row)
    assert count
    return changed


def with_extra(rows, name, new, **options):
    """Return rows with one of a task's numbers changed."""
    return altered(
        rows, "extra", lambda extra: extra | {name: new(extra[name])} if extra else extra, **options
    )
