"""The gossip paper: time per round of GSGC, the search for a good step, failures, and local gossip."""

from __future__ import annotations

from stablecast.papers.gossip import (
    adaptive,
    example,
    failure_detection,
    fixed_group,
    fixed_group_figures,
    grid,
    group_sizes,
    local,
    membership,
    readings,
    running,
    sharing,
)
from stablecast.papers.paper import Paper
from stablecast.pipeline.point import Point


def points(full: bool) -> list[Point]:
    """Return every run of the evaluation; some are wanted by two parts."""
    parts = (sharing, example, failure_detection, membership, grid, group_sizes, running, local)
    return list({point.key: point for part in parts for point in part.points(full)}.values())


def judged_points(full: bool) -> list[Point]:
    """Return the runs that claims need under every other reading."""
    makers = (membership.judged_points, grid.judged_points, group_sizes.points, local.points)
    return list({point.key: point for make in makers for point in make(full)}.values())


PAPER = Paper(
    name="gossip",
    title="GSGC: An Efficient Gossip-Style Garbage Collection Scheme for Scalable Reliable Multicast",
    question="Can members that tell a few random others what they know, again and again, find out which"
    " messages everyone has? How often should they, on slow links, and what do failures do?",
    points=points,
    tables=sharing.TABLES
    + example.TABLES
    + failure_detection.TABLES
    + membership.TABLES
    + fixed_group.TABLES
    + group_sizes.TABLES
    + adaptive.TABLES
    + running.TABLES
    + local.TABLES,
    claims=sharing.CLAIMS
    + example.CLAIMS
    + failure_detection.CLAIMS
    + membership.CLAIMS
    + fixed_group.CLAIMS
    + group_sizes.CLAIMS
    + adaptive.CLAIMS
    + running.CLAIMS
    + local.CLAIMS,
    figures=example.FIGURES
    + fixed_group_figures.FIGURES
    + adaptive.FIGURES
    + running.FIGURES
    + group_sizes.FIGURES
    + local.FIGURES
    + failure_detection.FIGURES,
    readings=readings.READINGS,
    judged_points=judged_points,
)
