"""Colours, markers and dashes: one look for each name, the same in every figure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from stablecast.report.diagram import Diagram
    from stablecast.report.figure import Figure, Series

Marker = Literal[
    "circle", "square", "diamond", "triangle-up", "triangle-down", "x", "cross", "star", "hexagon", "pentagon"
]
Dash = Literal["solid", "dash", "dot", "dashdot"]

# Okabe and Ito's colours, told apart by people with any colour vision. Their black and yellow are left out,
# since one cannot be seen on a dark background and the other not on white; a grey reads on both.
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, GREY = "#E69F00", "#56B4E9", "#868686"
INK = "#1d2329"
"""Of the one thing that stands out in print."""
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
MARKERS: tuple[Marker, ...] = (
    *("circle", "square", "triangle-up", "diamond", "cross"),
    *("triangle-down", "star", "x", "hexagon", "pentagon"),
)
DASHES: tuple[Dash, ...] = ("solid", "dash", "dashdot", "dot")
# Bars have neither marker nor dash, so each colour has a hatch of its own, for print in grey.
HATCHES = dict(zip(COLOURS, ("", "/", "x", ".", "\\", "-", "|"), strict=True))

PALE_OPACITY = 0.5
AREA_OPACITY = 0.15
MOST_MARKERS = 40
"""A line with more points than this is drawn without markers."""
MOST_BAR_TICKS = 12
"""Bars at no more places than this have a tick at each place."""


@dataclass(frozen=True)
class Look:
    """How everything under one name is drawn."""

    colour: str
    marker: Marker
    dash: Dash = "solid"
    pale: bool = False
    """Whether it accompanies another series: less opaque and smaller."""

    @property
    def opacity(self) -> float:
        """Between 0 and 1."""
        return PALE_OPACITY if self.pale else 1.0

    @property
    def hatch(self) -> str:
        """The pattern of bars, as one character."""
        return HATCHES[self.colour]


# A protocol and its successor in another paper share a colour, and differ in marker and dashes.
KNOWN = {
    "coordp": Look(BLUE, "circle"),
    "fulldist": Look(SKY, "x", "dash"),  # it often lies on coordp's line
    "train": Look(VERMILLION, "square"),
    "s_coordp": Look(GREEN, "triangle-up"),
    "s_train": Look(ORANGE, "diamond"),
    "coord": Look(BLUE, "hexagon", "dashdot"),
    "s_coord": Look(GREEN, "triangle-down", "dashdot"),
    "cubefulldist": Look(PURPLE, "cross"),
    "gsgc": Look(VERMILLION, "star"),
    "gsgc-local": Look(PURPLE, "pentagon", "dash"),
    "timestamp": Look(BLUE, "diamond"),
    "vector": Look(VERMILLION, "triangle-down", "dash"),
    "explicit": Look(GREY, "square", "dash"),
    "transitive": Look(GREEN, "star"),
    # What is drawn of every analysed trace.
    "sent": Look(ORANGE, "circle"),
    "stable": Look(BLUE, "square"),
    "head": Look(ORANGE, "triangle-up"),
    "frontier": Look(BLUE, "triangle-down"),
    "stable at every member": Look(BLUE, "star"),
    "known to the last member": Look(VERMILLION, "x", "dash"),
    "p50, p90, p99": Look(GREY, "diamond", "dot"),
    "all members": Look(BLUE, "pentagon"),
    "held back": Look(BLUE, "cross"),
}

# Messages of a space-time diagram are arrows, which show no marker.
MESSAGES = {
    "data": Look(BLUE, "circle"),
    "NULL": Look(GREEN, "circle", "dashdot"),
    "acknowledgement": Look(VERMILLION, "circle", "dash"),
    "lost": Look(GREY, "circle", "dot"),
}

# What traces call them. These are more than there are dashes: arrows of a trace have their names beside them.
TRANSMISSIONS = {
    "DATA": Look(BLUE, "circle"),
    "delivery": Look(BLUE, "circle"),
    "REPAIR": Look(ORANGE, "circle", "dash"),
    "NAK": Look(VERMILLION, "circle", "dash"),
    "START": Look(GREEN, "circle"),
    "ACK": Look(PURPLE, "circle"),
    "INFO": Look(SKY, "circle", "dashdot"),
    "GOSSIP": Look(PURPLE, "circle"),
    "SENT": Look(GREY, "circle", "dash"),
    "HEARTBEAT": Look(GREY, "circle", "dot"),
    "ALIVE": Look(GREY, "circle", "dot"),
    "critical path": Look(INK, "circle"),
}


def looks(figure: Figure) -> dict[str, Look]:
    """Return the look of every series of a figure, by name.

    A known protocol always has the same look. Another name starts from a look that follows from the name
    alone and moves on only if the figure has already given that colour away.
    """
    series = [one for panel in figure.panels for one in panel.series]
    given = assign([one.name if one.like is None else one.like for one in series])
    return {one.name: given[one.name] if one.like is None else _paler(given[one.like]) for one in series}


def kind_looks(diagram: Diagram) -> dict[str, Look]:
    """Return the look of every kind of message in a diagram, in the order of the legend: known ones first."""
    looks_of_kinds = MESSAGES | TRANSMISSIONS
    known = [kind for kind in looks_of_kinds if kind in diagram.kinds]
    return assign([*known, *diagram.kinds], looks_of_kinds)


def is_marked(series: Series) -> bool:
    """Whether a series shows a marker at each point."""
    return series.style == "points" or (series.style == "line" and len(series.x) <= MOST_MARKERS)


def needs_legend(figure: Figure) -> bool:
    """Whether there is anything to tell apart.

    Bars from the left, of one name, have what they are about on the axis; spans are about somebody else.
    """
    series = [one for panel in figure.panels for one in panel.series]
    are_bars = all(one.style == "across" and not one.start for one in series)
    return not are_bars or len({one.name for one in series}) > 1


def dash_of(series: Series, look: Look) -> Dash:
    """Return how a line is dashed: not at all if it has many steps, where dashes would look like noise."""
    if series.style == "steps" and len(series.x) > MOST_MARKERS:
        return "solid"
    return "dot" if look.pale else look.dash


def assign(names: Iterable[str], known: Mapping[str, Look] = KNOWN) -> dict[str, Look]:
    """Return a look for each name; no two are equal until all combinations are used up."""
    wanted = list(dict.fromkeys(names))
    given = {name: known[name] for name in wanted if name in known}
    for name in wanted:
        if name not in given:
            given[name] = _free_look(name, list(given.values()))
    return given


def _free_look(name: str, taken: list[Look]) -> Look:
    start = zlib.crc32(name.encode())  # unlike hash(), the same in every process
    candidates = [_numbered(start + step) for step in range(len(COLOURS) * len(MARKERS))]
    colours = {look.colour for look in taken}
    markers = {(look.colour, look.marker) for look in taken}
    for look in candidates:
        if look.colour not in colours:
            return look
    return next((look for look in candidates if (look.colour, look.marker) not in markers), candidates[0])


def _numbered(number: int) -> Look:
    # The lengths have no common divisor, so that 70 numbers in a row give 70 pairs of colour and marker.
    return Look(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)], DASHES[number % len(DASHES)])


def _paler(look: Look) -> Look:
    return replace(look, pale=True)
