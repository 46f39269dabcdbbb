"""Rows of runs for the tests of the timestamp paper's experiments, and ways to alter them."""

import json
import math

from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point


def run_all(points):
    """Run points in this process; none may fail."""
    rows = [run_point(point, Terms()) for point in points]
    assert [row["error"] for row in rows] == [None] * len(rows)
    assert all(row["status"] == DONE and row["completed"] for row in rows)
    return rows


def verdict(claims, name, rows):
    """Judge one claim on rows."""
    claim = next(claim for claim in claims if claim.id == name)
    judgement = claim.judge(Runs(rows))
    assert all((judgement.paper, judgement.measured, judgement.why))
    return judgement.holds


def change(column, new, where=lambda options: True):
    """Return rows with a column changed where the options are so; at least one row is changed."""

    def tampered(rows):
        altered, count = [], 0
        for row in rows:
            if where(json.loads(row["options"])):
                row = row | {column: new(row[column])}
                count += 1
            altered.append(row)
        assert count
        return altered

    return tampered


def ran(protocol, **options):
    """Tell whether a run is of a protocol and has these options."""
    return lambda given: (
        given["protocol"] == protocol and all(given.get(k) == value for k, value in options.items())
    )


def times(factor):
    return lambda value: value * factor


def plus(more):
    return lambda value: value + more


def check_tables_and_figures(module, rows, *, figures):
    """Every table has a cell for each heading, every figure something finite to draw."""
    runs = Runs(rows)
    tables = [make(runs) for make in module.TABLES]
    assert len({table.key for table in tables}) == len(tables)
    for table in tables:
        assert table.rows
        assert table.note
        assert {len(row) for row in table.rows} == {len(table.columns)}
    drawn = [make(runs) for make in figures]
    for series in (one for figure in drawn for panel in figure.panels for one in panel.series):
        assert series.x
        assert all(map(math.isfinite, (*series.x, *series.y)))
    return tables, drawn
