"""The report of an analysed trace: one page of HTML, and its figures as files for print."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stablecast.report.analysis_buffers import buffers_fact, buffers_section, read_buffers
from stablecast.report.analysis_frontiers import deletable_fact, frontiers_section
from stablecast.report.analysis_laggards import Laggards, laggards_fact, laggards_section, read_laggards
from stablecast.report.analysis_messages import Messages, read_messages
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_sources import Sources, read_sources
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_times import times_fact, times_section
from stablecast.report.analysis_trace import Trace, read_trace, whole
from stablecast.report.analysis_units import clean, counted, digits, duration, listed, percent
from stablecast.report.analysis_violations import (
    Violations,
    read_violations,
    violations_fact,
    violations_section,
)
from stablecast.report.files import write_whole
from stablecast.report.interactive import plot
from stablecast.report.template import render
from stablecast.report.view import FigureView, TableView, table_view


@dataclass(frozen=True)
class AnalysisReport:
    """Everything that the page shows."""

    trace: Trace
    messages: Messages
    sources: Sources
    laggards: Laggards
    violations: Violations
    facts: list[Fact]
    sections: list[Section]
    remarks: list[str]
    """Sentences under the facts: where times count from, what of the trace could not be read."""
    details: dict[str, str]
    """How the analysis was made."""


@dataclass(frozen=True)
class Written:
    """The files of a report."""

    page: Path
    figures: list[Path]


@dataclass(frozen=True)
class SectionView:
    """A section as the template shows it."""

    section: Section
    figures: list[FigureView]
    tables: list[TableView]


def read_analysis(folder: Path) -> AnalysisReport:
    """Read what ``stablecast analyze`` wrote, and work out all that the page shows."""
    tables = Tables(folder)
    messages = read_messages(tables)
    trace = read_trace(tables, messages)
    sources = read_sources(tables, messages)
    buffers, laggards, violations = read_buffers(tables), read_laggards(tables), read_violations(tables)
    return AnalysisReport(
        trace=trace,
        messages=messages,
        sources=sources,
        laggards=laggards,
        violations=violations,
        facts=[
            _messages_fact(trace, messages),
            times_fact(messages, tables.summary),
            deletable_fact(trace, sources, messages.count),
            violations_fact(violations),
            laggards_fact(trace, laggards),
            buffers_fact(trace, buffers),
        ],
        sections=[
            times_section(messages, tables.summary),
            frontiers_section(tables, trace, sources),
            buffers_section(tables, trace, buffers, released=messages.released > 0),
            laggards_section(trace, laggards, messages.stable),
            violations_section(tables, trace, violations),
        ],
        remarks=_remarks(trace, messages, tables.summary),
        details=_details(trace, tables.summary),
    )


def write_report(report: AnalysisReport, page: Path, *, folder: Path, version: str) -> Written:
    """Draw the figures, then write the page that links to them.

    Parameters
    ----------
    report
        What to show.
    page
        The file of HTML. Figures go to ``figures`` beside an ``index.html``, else to ``NAME-figures``.
    folder
        The analysis, for the command that makes the report again.
    version
        Of stablecast.
    """
    from stablecast.report.static import draw

    place = page.parent / ("figures" if page.name == "index.html" else f"{page.stem}-figures")
    figures = [
        path for section in report.sections for figure in section.figures for path in draw(figure, place)
    ]
    content = render(
        "analysis.html.j2",
        report=report,
        sections=[_view(section, place.name) for section in report.sections],
        command=f"stablecast report {shlex.quote(str(folder))}",
        version=version,
    )
    return Written(page=write_whole(page, content), figures=figures)


def _view(section: Section, place: str) -> SectionView:
    return SectionView(
        section=section,
        figures=[
            FigureView(f"figure-{one.key}", one, f"{quote(place)}/{one.key}", plot(one))
            for one in section.figures
        ],
        tables=[table_view(f"table-{k}-{section.key}", one) for k, one in enumerate(section.tables, start=1)],
    )


def _messages_fact(trace: Trace, messages: Messages) -> Fact:
    members = "" if trace.members is None else f", {counted(trace.members, 'member')}"
    groups = f" in {counted(trace.groups, 'group')}" if trace.grouped else ""
    unstable = messages.count - messages.stable
    if not messages.count:
        return Fact(
            name="Messages", value="none", note=f"no message was sent{members}", section="time-to-stable"
        )
    return Fact(
        name="Stable",
        value=f"{messages.stable:,} of {messages.count:,}",
        note=f"{percent(messages.stable, messages.count)} of the messages; {counted(trace.sources, 'source')}"
        f"{members}{groups}",
        tone="" if unstable else "holds",
        section="time-to-stable",
    )


def _remarks(trace: Trace, messages: Messages, summary: dict[str, Any]) -> list[str]:
    remarks = []
    if messages.count:
        remarks.append(f"The trace lasts {duration(trace.last_us - trace.first_us)}. {trace.beginning}")
    bad = whole(summary.get("bad_rows"))
    if bad:
        reasons = summary.get("bad_rows_by_reason")
        told = (
            [f"{clean(str(reason))}: {number}" for reason, number in reasons.items()]
            if isinstance(reasons, dict)
            else []
        )
        remarks.append(
            f"{counted(bad, 'row')} of the trace could not be used and {'is' if bad == 1 else 'are'} left out"
            + (f" ({'; '.join(told)})." if told else ".")
        )
    return remarks


def _details(trace: Trace, summary: dict[str, Any]) -> dict[str, str]:
    """Return where the numbers come from, as far as the summary tells."""
    kinds, inputs, wall = (summary.get(name) for name in ("kinds", "inputs", "wall_s"))
    details = {}
    if (events := whole(summary.get("events"))) is not None:
        details["Events"] = f"{events:,}"
    if isinstance(kinds, dict):
        told = [f"{number:,} {clean(kind)}" for kind, number in kinds.items() if whole(number)]
        details["Of these"] = ", ".join(told) or "none"
    if isinstance(inputs, Sequence) and not isinstance(inputs, str) and inputs:
        details["Read from"] = listed([clean(str(one)) for one in inputs])
    parts = whole(summary.get("parts"))
    if isinstance(wall, int | float):
        details["Time of the analysis" if parts is None else "Time of the last part"] = f"{digits(wall)} s"
    if parts is not None:
        details |= _stream_details(parts, summary)
    for name, key in (("Spark", "spark"), ("On", "master"), ("Analysed by stablecast", "version")):
        if isinstance(summary.get(key), str):
            details[name] = clean(summary[key])
    return details


def _stream_details(parts: int, summary: dict[str, Any]) -> dict[str, str]:
    """Return what only `watch` tells: how far it has come, and how much it carries on."""
    details = {"Parts so far": f"{parts:,}"}
    for name, key in (
        ("Events of the last part", "arrived"),
        ("Messages still open", "open"),
        ("Rows of state", "carried_rows"),
        ("Computed anew", "rebuilt"),
    ):
        if (number := whole(summary.get(key))) is not None:
            details[name] = counted(number, "time") if key == "rebuilt" else f"{number:,}"
    return details
