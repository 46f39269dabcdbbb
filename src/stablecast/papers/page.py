"""The report: one page of HTML that needs nothing but a browser, and its figures as files for print."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from stablecast.papers.page_view import PaperView, figure_files, view
from stablecast.report.diagram import Diagram, Drawing
from stablecast.report.files import write_whole
from stablecast.report.template import render

if TYPE_CHECKING:
    from stablecast.papers.paper import Evaluation


FEW_FIGURES = 8
"""So many for each further process that draws: starting one takes as long as some figures."""


def write_page(
    evaluations: Sequence[Evaluation], folder: Path, *, version: str, details: Mapping[str, str]
) -> Path:
    """Write ``index.html`` into a folder and return its path.

    Parameters
    ----------
    evaluations
        The papers, in the order of the page.
    folder
        Where the page goes; :func:`write_figures` puts there the files that it links to.
    version
        Of stablecast.
    details
        How the runs were made, by name: the version of Spark, the number of runs and so on.
    """
    papers = [view(one) for one in evaluations]
    content = render(
        "page.html.j2",
        folder=Path(__file__).parent,
        papers=papers,
        held=sum(paper.held for paper in papers),
        ours=sum(len(paper.beyond) for paper in papers),
        ours_held=sum(one.verdict.judgement.holds for paper in papers for one in paper.beyond),
        claimed=sum(len(paper.claims) for paper in papers),
        extent=_extent(papers),
        version=version,
        details=details,
    )
    return write_whole(folder / "index.html", content)


def write_figures(evaluations: Sequence[Evaluation], folder: Path) -> list[Path]:
    """Draw every figure as SVG and PNG at the paths that the page links to, and return them."""
    figures = [
        (figure, (folder / figure_files(evaluation.paper.name, figure)).parent)
        for evaluation in evaluations
        for figure in evaluation.figures
    ]
    cores = min(os.cpu_count() or 1, len(figures) // FEW_FIGURES)
    if cores < 2:
        return [path for figure, place in figures for path in _draw(figure, place)]
    with ProcessPoolExecutor(cores, mp_context=get_context("forkserver")) as pool:
        drawn = pool.map(_draw, *zip(*figures, strict=True))
        return [path for paths in drawn for path in paths]


def _draw(figure: Drawing, place: Path) -> list[Path]:
    # matplotlib takes a while to load, and the page needs none of it
    from stablecast.report.diagram_static import draw_diagram
    from stablecast.report.static import draw

    return draw_diagram(figure, place) if isinstance(figure, Diagram) else draw(figure, place)


def _extent(papers: Sequence[PaperView]) -> str:
    full = {paper.evaluation.full for paper in papers}
    if full == {True}:
        return "Full runs: the papers' own numbers of runs and sizes."
    if full == {False}:
        return "Quick runs: a few of those that the papers made."
    return "Some papers with full runs, some with quick ones; each section says which."
