"""The timestamp paper: one number for a vector, what it saves, what it costs, and when it is safe."""

from __future__ import annotations

from stablecast.papers.paper import Paper
from stablecast.papers.timestamp import (
    ack_bytes,
    bounds,
    buffers,
    clock_figures,
    clocks,
    comparison,
    comparison_figures,
    connecting,
    connecting_figures,
    examples,
    groups,
    membership,
    processor,
    readings,
    riding,
    schemes,
    slowest_sender,
    stamp_bytes,
    unequal_senders,
)
from stablecast.pipeline.point import Point

COSTS = (
    stamp_bytes,
    processor,
    buffers,
    clocks,
    unequal_senders,
    slowest_sender,
    membership,
    connecting,
    comparison,
)
RUN = (groups, examples, bounds, schemes, *COSTS)
SHOWN = (groups, examples, bounds, ack_bytes, riding, *COSTS)
JUDGED = (schemes.judged_points, clocks.judged_points, unequal_senders.judged_points)
"""Some of the runs that claims need under every other reading; of two further parts they need all."""


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation; some are wanted by several parts."""
    return list({point.key: point for part in RUN for point in part.points(full)}.values())


def judged_points(full: bool) -> list[Point]:
    """Return the runs that claims need under every other reading."""
    asked = (*JUDGED, buffers.points, slowest_sender.points)
    return list({point.key: point for make in asked for point in make(full)}.values())


PAPER = Paper(
    name="timestamp",
    title="Timestamp Acknowledgments for Determining Message Stability",
    question="Can a receiver acknowledge all messages of all senders by one timestamp, how much later do"
    " senders then know what is stable, what do clocks have to do with it, and which rules keep it safe when"
    " members come and go?",
    points=points,
    tables=tuple(table for part in SHOWN for table in part.TABLES),
    claims=tuple(sorted((claim for part in SHOWN for claim in part.CLAIMS), key=lambda claim: claim.id)),
    figures=(
        *examples.FIGURES,
        *bounds.FIGURES,
        *ack_bytes.FIGURES,
        *riding.FIGURES,
        *stamp_bytes.FIGURES,
        *processor.FIGURES,
        *buffers.FIGURES,
        *clock_figures.FIGURES,
        *unequal_senders.FIGURES,
        *slowest_sender.FIGURES,
        *membership.FIGURES,
        *connecting_figures.FIGURES,
        *comparison_figures.FIGURES,
    ),
    readings=readings.READINGS,
    judged_points=judged_points,
    exclusions=readings.EXCLUSIONS,
)
