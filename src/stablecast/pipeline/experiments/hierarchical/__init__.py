"""The hierarchical paper: Tables 1 to 4, Figures 6 to 10, the trigger and the time to stable."""

from __future__ import annotations

from stablecast.pipeline.experiments.hierarchical import (
    message_tables,
    round_trips,
    time_to_stable,
    trees,
    triggers,
)
from stablecast.pipeline.experiments.paper import Paper
from stablecast.pipeline.point import Point


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation."""
    return [
        point
        for part in (trees, message_tables, round_trips, triggers, time_to_stable)
        for point in part.points(full)
    ]


PAPER = Paper(
    name="hierarchical",
    title="Hierarchical Message Stability Tracking Protocols",
    question="How can a large group learn which messages everyone has, without flooding the member that asks?"
    " Three flat protocols are compared with two that follow a tree of the network.",
    points=points,
    tables=message_tables.TABLES + round_trips.TABLES + triggers.TABLES + time_to_stable.TABLES,
    claims=message_tables.CLAIMS + round_trips.CLAIMS + triggers.CLAIMS + time_to_stable.CLAIMS,
    figures=message_tables.FIGURES + round_trips.FIGURES,
)
