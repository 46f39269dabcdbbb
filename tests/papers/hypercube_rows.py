"""Runs of the hypercube paper's further experiments, a few graphs each."""

from stablecast.pipeline.runs import Runs
from stablecast.pipeline.schema import DONE
from stablecast.pipeline.tasks import Terms, run_point


def rows_of(points, graphs=2):
    """Run the points of the first graphs and return their rows."""
    chosen = [point for point in points if point.options.get("seed", 0) < graphs]
    rows = [run_point(point, Terms()) for point in {point.key: point for point in chosen}.values()]
    assert [row["error"] for row in rows if row["status"] != DONE] == []
    return rows


def changed(rows, points, **columns):
    """Return the rows with some columns of some points changed."""
    keys = {point.key for point in points}
    return Runs([row | columns if row["key"] in keys else row for row in rows])


def exchanged(rows, pairs):
    """Return the rows with the results of the points of each pair exchanged."""
    by_key = {row["key"]: row for row in rows}
    told = ("rtt_first_us", "rtt_last_us", "hops", "messages_sent", "queue_max", "completed")
    made = dict(by_key)
    for one, other in pairs:
        for here, there in ((one, other), (other, one)):
            if here.key in by_key and there.key in by_key:
                made[here.key] = by_key[here.key] | {name: by_key[there.key][name] for name in told}
    return Runs(list(made.values()))


def well_formed(table):
    """Tell whether every row has a cell for each heading."""
    return bool(table.rows) and all(len(row) == len(table.columns) for row in table.rows)
