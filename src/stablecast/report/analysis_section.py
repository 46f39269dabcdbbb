"""The parts of the page: a section has words, figures and tables; a fact stands at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablecast.report.figure import Figure
from stablecast.report.table import Table

Tone = Literal["", "holds", "missed"]


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number that the reader should see first."""

    name: str
    value: str
    note: str = ""
    tone: Tone = ""
    """Whether it is good or bad news."""
    section: str
    """The key of the section that tells more."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page."""

    key: str
    """For links: letters and hyphens."""
    title: str
    words: tuple[str, ...]
    """Paragraphs before the figures."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
