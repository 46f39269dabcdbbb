"""The hierarchical paper: Tables 1 to 4, Figures 6 to 10, trigger, techniques, and what it announces."""

from __future__ import annotations

from stablecast.papers.hierarchical import (
    gains,
    judged,
    load,
    lost_data,
    message_tables,
    placement,
    queues,
    random_trees,
    readings,
    round_trips,
    techniques,
    time_to_stable,
    trade_off,
    trees,
    triggers,
    wide_area,
)
from stablecast.papers.paper import Paper
from stablecast.pipeline.point import Point

SHOWN = (
    message_tables,
    queues,
    round_trips,
    gains,
    random_trees,
    triggers,
    time_to_stable,
    techniques,
    load,
    lost_data,
    trade_off,
    placement,
    wide_area,
)
"""The parts in the order of the paper, then what is beyond it."""
DRAWN = (message_tables, queues, round_trips, load, lost_data, trade_off, placement, wide_area)


def points(full: bool) -> list[Point]:
    """Return every run of the main reading; many are wanted by several parts."""
    parts = (
        trees,
        message_tables,
        gains,
        triggers,
        load,
        lost_data,
        trade_off,
        time_to_stable,
        techniques,
        placement,
        wide_area,
    )
    return list({point.key: point for part in parts for point in part.points(full)}.values())


PAPER = Paper(
    name="hierarchical",
    title="Hierarchical Message Stability Tracking Protocols",
    question="How can a large group learn which messages everyone has, without flooding the member that asks?"
    " Three flat protocols are compared with two that follow a tree of the network.",
    points=points,
    tables=tuple(table for part in SHOWN for table in part.TABLES),
    claims=tuple(claim for part in SHOWN for claim in part.CLAIMS),
    figures=tuple(figure for part in DRAWN for figure in part.FIGURES),
    readings=readings.READINGS,
    judged_points=judged.points,
)
