"""The runs that claims need under every reading but the main one.

The verdicts on the gains (H7) need the trees around 1,000 and 20,000 members, and those on queues and
times (H5, H6) both ends of Table 3, whose range the paper shows.  Between them fewer sizes are run than under
the main reading, and random trees (H8) of small groups only, as FullDist's messages grow with n²; judgements
say at which sizes they were made.  What runs data traffic (H10b to H13), and what is ours and not the
paper's, is judged under all readings with ``--full`` alone.
"""

from __future__ import annotations

from stablecast.papers.hierarchical import (
    gains,
    load,
    placement,
    random_trees,
    techniques,
    trade_off,
    wide_area,
)
from stablecast.papers.hierarchical.theory import PROTOCOLS
from stablecast.papers.hierarchical.trees import (
    PAPER_RANDOM_TREES,
    QUICK_RANDOM_TREES,
    Shape,
    on_tree,
    random_points,
)
from stablecast.pipeline.point import Point

QUICK_SHAPES: list[Shape] = [(2, 5, 1), (3, 5, 3), (4, 5, 2), (4, 5, 4)]
FULL_SHAPES: list[Shape] = [(2, 5, 1), (3, 5, 1), (3, 5, 3), (4, 5, 2), (4, 5, 3), (4, 5, 4)]
RATES = (4, 12)
SEEDS = 5


def points(full: bool) -> list[Point]:
    """Return them in the main reading's terms."""
    chosen = FULL_SHAPES if full else QUICK_SHAPES
    wanted = [on_tree(protocol, shape) for protocol in PROTOCOLS for shape in chosen]
    wanted += gains.points(full)
    wanted += random_points(PAPER_RANDOM_TREES if full else QUICK_RANDOM_TREES, random_trees.JUDGED_SHAPES)
    if full:
        wanted += load.points_at(RATES) + trade_off.points_at(trade_off.JUDGED) + techniques.points(full)
        wanted += placement.points_on(placement.JUDGED_SIZES, SEEDS) + wide_area.points_on(FULL_SHAPES)
    return list({point.key: point for point in wanted}.values())
