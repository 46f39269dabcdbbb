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
    schemes,
    slowest_sender,
    stamp_bytes,
)
from stablecast.pipeline.point import Point

COSTS = (stamp_bytes, processor, buffers, clocks, slowest_sender, membership, connecting, comparison)
RUN = (groups, examples, bounds, schemes, *COSTS)
SHOWN = (groups, examples, bounds, ack_bytes, *COSTS)


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation; some are wanted by several parts."""
    return list({point.key: point for part in RUN for point in part.points(full)}.values())


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
        *stamp_bytes.FIGURES,
        *processor.FIGURES,
        *buffers.FIGURES,
        *clock_figures.FIGURES,
        *slowest_sender.FIGURES,
        *membership.FIGURES,
        *connecting_figures.FIGURES,
        *comparison_figures.FIGURES,
    ),
)
