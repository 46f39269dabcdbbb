"""``stablecast reproduce``: the papers' evaluations on Spark, judged by code, as a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.extras import REPORT, SPARK, require, require_papers
from stablecast.cli.output import DONE, FOUND_FAILURE
from stablecast.cli.progress import SweepProgress
from stablecast.cli.spark_options import Conf, Force, KeepOld, Master, RetryFailed
from stablecast.cli.sweep import exit_code

if TYPE_CHECKING:
    from stablecast.papers.paper import Evaluation
    from stablecast.papers.reproduce import Reproduction


def reproduce_command(
    papers: Annotated[
        list[str] | None, typer.Argument(help="Short names; all by default.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for runs, claims, figures and report.")] = Path(
        "reproduced"
    ),
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The papers' own number of runs, or a few.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    force: Force = False,
    retry_failed: RetryFailed = False,
    keep_old: KeepOld = False,
    show_tables: Annotated[bool, typer.Option("--tables", help="Also print every table of results.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print claims and tables as JSON.")] = False,
) -> int:
    """Run papers' evaluations on Spark, judge every claim, and write a report to DIR/index.html.

    Example: stablecast reproduce hierarchical --full --out results
    """
    require_papers()
    require(*SPARK, *REPORT)
    from stablecast.papers.registry import paper, paper_names
    from stablecast.papers.reproduce import reproduce
    from stablecast.pipeline.session import check_master, parse_conf
    from stablecast.pipeline.sweep import Again, Where

    chosen = [paper(name) for name in dict.fromkeys(papers or paper_names())]
    settings = parse_conf(conf or [])
    if master is not None:
        check_master(master)
    watcher = SweepProgress()
    done = reproduce(
        chosen,
        out,
        full=full,
        where=Where(master=master, conf=settings),
        again=Again(force=force, failed=retry_failed, other_sources=not keep_old),
        watcher=watcher,
    )
    if done.swept.interrupted:
        return exit_code(done.swept)
    watcher.say("drawing the figures and the report")
    page = _write_report(done, out)
    _tell(done.evaluations, page, as_json=as_json, show_tables=show_tables)
    return exit_code(done.swept) or (FOUND_FAILURE if done.failed else DONE)


def _write_report(done: Reproduction, out: Path) -> Path:
    from stablecast import __version__
    from stablecast.papers.page import write_figures, write_page
    from stablecast.pipeline.store import CannotKeep

    try:
        write_figures(done.evaluations, out)
        return write_page(done.evaluations, out, version=__version__, details=_details(done))
    except OSError as error:
        raise CannotKeep(f"cannot write the report to '{out}': {error.strerror or error}") from error


def _details(done: Reproduction) -> dict[str, str]:
    """Return where the numbers come from."""
    import platform
    from importlib import metadata

    simulated_s = sum(run.row["point_wall_s"] or 0.0 for run in done.swept.runs)
    sources = sorted({str(run.row["sources"]) for run in done.swept.runs})
    return {
        "Runs": f"{len(done.swept.runs):,}, of which {done.swept.computed:,} computed now",
        "Time of all runs": f"{simulated_s:,.1f} s on one core",
        "Spark": metadata.version("pyspark"),
        "Python": platform.python_version(),
        "Sources": ", ".join(sources),
    }


def _tell(evaluations: Sequence[Evaluation], page: Path, *, as_json: bool, show_tables: bool) -> None:
    from stablecast.papers.claims_text import claims_table, matrix_text
    from stablecast.report.text import render

    if as_json:
        told: list[dict[str, Any]] = [_as_json(evaluation) for evaluation in evaluations]
        print(json.dumps({"papers": told, "report": str(page)}, indent=1, ensure_ascii=False))
        return
    for evaluation in evaluations:
        if show_tables:
            for table in evaluation.tables:
                print(render(table.title, table.columns, table.rows), end="\n\n")
        print(f"{evaluation.paper.name}: {evaluation.paper.title}")
        print(claims_table(evaluation.verdicts), end="\n\n")
        if len(evaluation.paper.readings) > 1:
            print(matrix_text(evaluation), end="\n\n")
    _tell_counts(evaluations)
    print(f"report: {page}")


def _tell_counts(evaluations: Sequence[Evaluation]) -> None:
    """Print how many of the papers' claims hold, and apart from them what is ours."""
    verdicts = [verdict for evaluation in evaluations for verdict in evaluation.counted]
    missed = [verdict.claim.id for verdict in verdicts if not verdict.judgement.holds]
    print(
        f"{len(verdicts) - len(missed)} of {len(verdicts)} claims hold"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    unsettled = [verdict.claim.id for verdict in verdicts if verdict.judgement.undecided]
    if unsettled:
        print(f"more seeds could turn: {', '.join(unsettled)}")
    ours = [verdict for evaluation in evaluations for verdict in evaluation.beyond]
    if ours:
        held = sum(verdict.judgement.holds for verdict in ours)
        print(f"beyond the papers: {held} of {len(ours)} of our own findings hold")


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    claims = [
        {
            "claim": verdict.claim.id,
            "kind": verdict.claim.kind,
            "paper_value": verdict.judgement.paper,
            "measured_value": verdict.judgement.measured,
            "holds": verdict.judgement.holds,
            "why": verdict.judgement.why,
            "undecided": verdict.judgement.undecided,
            "ours": verdict.claim.ours,
            "readings": {
                name: {"holds": each.holds if each.measurable else None, "measured_value": each.measured}
                for name, each in verdict.under.items()
            },
        }
        for verdict in evaluation.verdicts
    ]
    tables = [table.as_json() for table in evaluation.tables]
    return {"paper": evaluation.paper.name, "full": evaluation.full, "claims": claims, "tables": tables}
