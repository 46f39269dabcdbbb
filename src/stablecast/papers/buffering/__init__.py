"""The buffering paper: a few members keep each message, chosen by a hash that all can compute."""

from __future__ import annotations

from stablecast.papers.buffering import (
    crashes,
    hashes,
    odds,
    omission,
    places,
    readings,
    reduction,
    repair,
    space,
    space_figures,
    views,
)
from stablecast.papers.paper import Paper
from stablecast.pipeline.point import Point

PARTS = (hashes, odds, repair, omission, space, places, reduction, crashes, views)
JUDGED = (repair, omission, space, places, reduction, crashes, views)
"""The parts with runs that differ between readings."""


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation; some are wanted by several parts."""
    return list({point.key: point for part in PARTS for point in part.points(full)}.values())


def judged_points(full: bool) -> list[Point]:
    """Return the runs that claims need under every reading."""
    return list({point.key: point for part in JUDGED for point in part.judged_points(full)}.values())


PAPER = Paper(
    name="buffering",
    title="Efficient Buffering in Reliable Multicast Protocols",
    question="Is it enough that a few members keep each message, chosen by a hash that all can compute, how"
    " much space does each member then need, and how often is a message not delivered to all?",
    points=points,
    tables=tuple(table for part in PARTS for table in part.TABLES),
    claims=tuple(sorted((claim for part in PARTS for claim in part.CLAIMS), key=lambda claim: claim.id)),
    figures=(
        *space_figures.FIGURES,
        *places.FIGURES,
        *reduction.FIGURES,
        *omission.FIGURES,
        *hashes.FIGURES,
    ),
    readings=readings.READINGS,
    judged_points=judged_points,
    exclusions=readings.EXCLUSIONS,
)
