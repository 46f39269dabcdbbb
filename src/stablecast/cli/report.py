"""``stablecast report``: an analysed trace as a page of figures and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.extras import REPORT, require
from stablecast.cli.output import DONE
from stablecast.errors import InvalidInput

if TYPE_CHECKING:
    from stablecast.report.analysis_page import AnalysisReport, Written


def report_command(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="What 'stablecast analyze' or 'stablecast watch' wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page; by default DIR/report/index.html.", show_default=False),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a few lines.")
    ] = False,
) -> int:
    """Make a page of an analysed trace: times, what is safe to delete, buffers, laggards, violations.

    Of positions: what is safe to delete, who stands in the way since when, what it cost.

    Example: stablecast report analysed
    """
    require(*REPORT)
    from stablecast.analysis.output import place_of
    from stablecast.report.analysis_page import read_analysis

    place = place_of(folder)
    if out is None and isinstance(place, str):
        raise InvalidInput(f"the page cannot be written to the address '{place}' (accepted: --out FILE)")
    report = read_analysis(place)
    written = _write(report, place, _page(place, out))
    if as_json:
        print(json.dumps(_as_json(report, written), ensure_ascii=False))
    else:
        print("\n".join([*_lines(report), f"report: {written.page}"]))
    return DONE


def _page(folder: Path | str, out: Path | None) -> Path:
    """Return where the page goes, after making sure that something can be written there."""
    if out is not None and (out.is_dir() or not out.name):
        raise InvalidInput(f"--out '{out}' is a folder (accepted: the name of a file, such as report.html)")
    page = out or Path(folder) / "report" / "index.html"
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"cannot write the report to '{page}': {error.strerror or error}") from None
    return page


def _write(report: AnalysisReport, folder: Path | str, page: Path) -> Written:
    from stablecast import __version__
    from stablecast.pipeline.store import CannotKeep
    from stablecast.report.analysis_page import write_report

    try:
        return write_report(report, page, folder=folder, version=__version__)
    except OSError as error:
        raise CannotKeep(f"cannot write the report to '{page}': {error.strerror or error}") from error


def _lines(report: AnalysisReport) -> list[str]:
    """Return what stands at the top of the page."""
    width = max(len(fact.name) for fact in report.facts)
    return [
        f"{fact.name.lower():<{width}}  {fact.value}" + (f", {fact.note}" if fact.note else "")
        for fact in report.facts
    ]


def _as_json(report: AnalysisReport, written: Written) -> dict[str, object]:
    trace = report.trace
    return {
        "report": str(written.page),
        "figures": [str(path) for path in written.figures],
        "groups": trace.groups,
        "members": trace.members,
        "sources": trace.sources,
        "messages": report.count,
        "stable": report.stable,
        "unstable": report.count - report.stable,
        "safe_to_delete": report.sources.deletable,
        "violations": report.violations.counts,
    }
