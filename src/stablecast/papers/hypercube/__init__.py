"""The hypercube paper: four protocols on random graphs, with loss, with failures, and beyond its sizes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from stablecast.papers.hypercube import (
    beyond,
    coordinator,
    failures,
    figure_7,
    loss,
    message_counts,
    nearness,
    plain_cubes,
    readings,
    recovery,
    sensitivity,
    size_figures,
    sizes,
    stalls,
    structure,
    time_to_stable,
)
from stablecast.papers.paper import Claim, Paper
from stablecast.pipeline.point import Point

PARTS = (
    structure,
    figure_7,
    loss,
    sizes,
    size_figures,
    coordinator,
    message_counts,
    readings,
    sensitivity,
    failures,
    stalls,
    time_to_stable,
    nearness,
    plain_cubes,
    recovery,
    beyond,
)
"""In the order of tables and figures.

A part may have ``points`` and ``judged_points`` (runs under the main reading, and in its terms under the
others), ``TABLES``, ``FIGURES`` and ``CLAIMS``.
"""


def _asked(name: str, full: bool) -> list[Point]:
    """Return the runs that parts ask for; many are wanted by several."""
    makers = [getattr(part, name) for part in PARTS if hasattr(part, name)]
    return list({point.key: point for make in makers for point in make(full)}.values())


def points(full: bool) -> list[Point]:
    """Return every run of the main reading."""
    return _asked("points", full)


def judged_points(full: bool) -> list[Point]:
    """Return the runs that claims need under every other reading."""
    return _asked("judged_points", full)


def _all(name: str) -> tuple[Any, ...]:
    """Return the tables, figures or claims of all parts."""
    return tuple(one for part in PARTS for one in _of(part, name))


def _place(claim: Claim) -> tuple[int, str]:
    """Return a claim's place by its number, then its letter."""
    number = claim.id.strip("Cabcdefghij")
    return int(number), claim.id


def _of(part: ModuleType, name: str) -> tuple[Any, ...]:
    return getattr(part, name, ())


PAPER = Paper(
    name="hypercube",
    title="Scalable Stability Detection Using Logical Hypercube",
    question="Can members that only talk to their neighbours in a logical hypercube find out fast what"
    " everyone has, in large groups, on networks that nobody chose, and while some of them fail?",
    points=points,
    tables=_all("TABLES"),
    claims=tuple(sorted(_all("CLAIMS"), key=_place)),
    figures=_all("FIGURES"),
    readings=readings.READINGS,
    judged_points=judged_points,
    exclusions=readings.EXCLUSIONS,
)
