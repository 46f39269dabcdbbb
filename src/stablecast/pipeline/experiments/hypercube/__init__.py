"""The hypercube paper: four protocols on random graphs, with loss, with failures, and beyond its sizes."""

from __future__ import annotations

from stablecast.pipeline.experiments.hypercube import (
    beyond,
    coordinator,
    failures,
    loss,
    message_counts,
    readings,
    sensitivity,
    size_figures,
    sizes,
    stalls,
    structure,
)
from stablecast.pipeline.experiments.paper import Paper
from stablecast.pipeline.point import Point


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation; many are wanted by several parts."""
    parts = (structure, loss, sizes, coordinator, readings, failures, stalls, beyond)
    return list({point.key: point for part in parts for point in part.points(full)}.values())


CLAIMS = (
    structure.CLAIMS
    + loss.CLAIMS
    + sizes.CLAIMS
    + coordinator.CLAIMS
    + message_counts.CLAIMS
    + sensitivity.CLAIMS
    + failures.CLAIMS
)

PAPER = Paper(
    name="hypercube",
    title="Scalable Stability Detection Using Logical Hypercube",
    question="Can members that only talk to their neighbours in a logical hypercube find out fast what"
    " everyone has, in large groups, on networks that nobody chose, and while some of them fail?",
    points=points,
    tables=structure.TABLES
    + loss.TABLES
    + sizes.TABLES
    + coordinator.TABLES
    + message_counts.TABLES
    + readings.TABLES
    + sensitivity.TABLES
    + failures.TABLES
    + stalls.TABLES
    + beyond.TABLES,
    claims=tuple(sorted(CLAIMS, key=lambda claim: claim.id)),
    figures=size_figures.FIGURES
    + sensitivity.FIGURES
    + failures.FIGURES
    + readings.FIGURES
    + loss.FIGURES
    + beyond.FIGURES,
)
