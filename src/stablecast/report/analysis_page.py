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
from stablecast.report.analysis_groups import (
    groups_section,
    missing_fact,
    read_groups,
    retained_fact,
    safe_fact,
)
from stablecast.report.analysis_heads import heads_section
from stablecast.report.analysis_laggards import (
    Laggards,
    laggards_fact,
    laggards_section,
    read_laggards,
    told_of_positions,
)
from stablecast.report.analysis_messages import Messages, read_messages
from stablecast.report.analysis_readers import read_readers, readers_section, way_fact
from stablecast.report.analysis_section import Fact, Section
from stablecast.report.analysis_sources import Sources, read_position_sources, read_sources
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_times import times_fact, times_section
from stablecast.report.analysis_trace import Trace, read_position_trace, read_trace, whole
from stablecast.report.analysis_units import clean, digits, duration, listed, percent
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
from stablecast.words import counted


@dataclass(frozen=True)
class AnalysisReport:
    """Everything that the page shows."""

    trace: Trace
    count: int
    """Messages or numbers that were sent."""
    stable: int
    sources: Sources
    laggards: Laggards
    violations: Violations
    facts: list[Fact]
    sections: list[Section]
    remarks: list[str]
    """Sentences under the facts: where times count from, what of the trace could not be read."""
    details: dict[str, str]
    """How the analysis was made."""
    template: str = "analysis.html.j2"


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


def read_analysis(folder: Path | str) -> AnalysisReport:
    """Read what ``stablecast analyze`` or ``watch`` wrote, and work out all that the page shows."""
    tables = Tables(folder)
    return _of_positions(tables) if tables.of_positions else _of_messages(tables)


def _of_messages(tables: Tables) -> AnalysisReport:
    messages = read_messages(tables)
    trace = read_trace(tables, messages)
    sources = read_sources(tables, messages)
    buffers, laggards, violations = read_buffers(tables), read_laggards(tables), read_violations(tables)
    return AnalysisReport(
        trace=trace,
        count=messages.count,
        stable=messages.stable,
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
        remarks=_remarks(trace, messages.count, tables.summary),
        details=_details(trace, tables.summary),
    )


def _of_positions(tables: Tables) -> AnalysisReport:
    trace = read_position_trace(tables)
    sources = read_position_sources(tables)
    groups, readers = read_groups(tables), read_readers(tables)
    laggards, violations = read_laggards(tables), read_violations(tables)
    told = told_of_positions(trace)
    whole_of = groups.whole
    sized = whole_of.retained_bytes is not None
    return AnalysisReport(
        trace=trace,
        count=whole_of.sent,
        stable=whole_of.stable,
        sources=sources,
        laggards=laggards,
        violations=violations,
        facts=[
            safe_fact(trace, groups),
            retained_fact(trace, groups),
            way_fact(trace, readers, whole_of.waiting, sized=sized),
            laggards_fact(trace, laggards, told),
            violations_fact(violations),
            *missing_fact(trace, groups),
        ],
        sections=[
            groups_section(trace, groups),
            readers_section(tables, trace, readers, sources, sized=sized),
            heads_section(tables, trace, sources, sized=sized),
            laggards_section(trace, laggards, whole_of.stable, told),
            violations_section(tables, trace, violations),
        ],
        remarks=_remarks(trace, whole_of.sent, tables.summary),
        details=_details(trace, tables.summary),
        template="positions.html.j2",
    )


def write_report(report: AnalysisReport, page: Path, *, folder: Path | str, version: str) -> Written:
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
        report.template,
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


def _remarks(trace: Trace, count: int, summary: dict[str, Any]) -> list[str]:
    remarks = []
    if count:
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
