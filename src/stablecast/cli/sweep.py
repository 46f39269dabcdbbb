"""``stablecast sweep SPEC.toml``: a grid of simulations on Spark, one Parquet row a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.extras import SPARK, require
from stablecast.cli.output import DONE, FOUND_FAILURE, INTERRUPTED, complain
from stablecast.cli.progress import SweepProgress
from stablecast.cli.spark_options import Conf, Force, KeepOld, Master, RetryFailed
from stablecast.errors import InvalidInput
from stablecast.words import counted

if TYPE_CHECKING:
    from stablecast.pipeline.spec import Spec
    from stablecast.pipeline.sweep import Swept
    from stablecast.pipeline.swept_traces import AnalysedTraces

FAILURES_SHOWN = 5


def sweep_command(
    spec: Annotated[Path, typer.Argument(help="A TOML file with grids of options.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for the results.", show_default=False)],
    master: Master = None,
    conf: Conf = None,
    force: Force = False,
    retry_failed: RetryFailed = False,
    keep_old: KeepOld = False,
    time_limit_s: Annotated[
        float | None, typer.Option(help="For each point; wins over the file's.", show_default=False)
    ] = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Also write the events of each point's data traffic.")
    ] = False,
    analyze: Annotated[
        bool,
        typer.Option("--analyze", help="Write these events, and analyse them into DIR/analysis."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file and tell how many points it has.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Run every point of a specification on Spark into DIR/runs.parquet; what is there is not run again.

    Example: stablecast sweep gain.toml --out results/gain --master local[2]
    """
    if not dry_run:
        require(*SPARK)
    from stablecast.pipeline.session import check_master, parse_conf
    from stablecast.pipeline.spec import read_spec
    from stablecast.pipeline.sweep import Again, Where, sweep

    asked = read_spec(spec)
    settings = parse_conf(conf or [])
    if time_limit_s is not None and not 0 < time_limit_s < float("inf"):
        raise InvalidInput(f"--time-limit-s {time_limit_s} is not accepted (accepted: seconds above 0)")
    if dry_run:
        return _tell_plan(asked, as_json=as_json)
    if master is not None:
        check_master(master)
    swept = sweep(
        asked.points,
        out,
        where=Where(master=master, conf=settings),
        again=Again(force=force, failed=retry_failed, other_sources=not keep_old),
        time_limit_s=time_limit_s or asked.time_limit_s,
        traces=traces or asked.traces,
        analyze=analyze or asked.analyze,
        watcher=SweepProgress(),
    )
    _tell(asked, swept, as_json=as_json)
    return exit_code(swept)


def exit_code(swept: Swept) -> int:
    """Return a sweep's exit code, after a line about every kind of failure."""
    failed = swept.runs.failed
    for run in failed[:FAILURES_SHOWN]:
        complain(f"{run.row['status']}: {run.row['error']}; replay: {run.row['replay']}")
    if len(failed) > FAILURES_SHOWN:
        complain(f"and {len(failed) - FAILURES_SHOWN:,} more, in {swept.file}")
    if swept.interrupted:
        complain(f"interrupted: {swept.missing:,} of {swept.points:,} points are left; run it again to go on")
        return INTERRUPTED
    wrong = swept.analysed is not None and swept.analysed.analysis.violations > 0
    return FOUND_FAILURE if failed or wrong else DONE


def _tell_plan(spec: Spec, *, as_json: bool) -> int:
    from stablecast.pipeline.cost import estimated_seconds, overhead_seconds

    runs, before = sum(map(estimated_seconds, spec.points)), overhead_seconds(spec.points)
    if as_json:
        told = {"runs_s": round(runs, 1), "start_s": round(before, 1), "estimated_s": round(runs + before, 1)}
        print(json.dumps({"name": spec.name, "points": len(spec.points), **told}))
    else:
        print(
            f"{spec.name}: {len(spec.points):,} points, very roughly {runs + before:,.0f} s on one core,"
            f" {before:,.0f} s of it to start Spark and compile"
        )
    return DONE


def _tell(spec: Spec, swept: Swept, *, as_json: bool) -> None:
    unfinished = sum(run.ok and not run.row["completed"] for run in swept.runs)
    told: dict[str, Any] = {
        "name": spec.name,
        "points": swept.points,
        "kept": swept.kept,
        "computed": swept.computed,
        "failed": len(swept.runs.failed),
        "unfinished": unfinished,
        "missing": swept.missing,
        "file": str(swept.file),
        "wall_s": round(swept.wall_s, 3),
    }
    if swept.analysed is not None:
        told["analysis"] = _as_json(swept.analysed)
    if as_json:
        print(json.dumps(told))
        return
    words = [f"{swept.computed:,} computed", f"{swept.kept:,} kept", f"{len(swept.runs.failed):,} failed"]
    if unfinished:
        words.append(f"{unfinished:,} ended before everything was stable")
    print(f"{spec.name}: {swept.points:,} points: {', '.join(words)}, in {swept.wall_s:.1f} s")
    print(swept.file)
    if swept.analysed is not None:
        print(_words(swept.analysed))
        print(swept.analysed.analysis.out)


def _as_json(analysed: AnalysedTraces) -> dict[str, Any]:
    found = analysed.analysis
    told = {"folder": str(found.out), "traces": analysed.traces, "computed": analysed.computed}
    return told | {name: found.summary[name] for name in ("events", "messages", "unstable", "violations")}


def _words(analysed: AnalysedTraces) -> str:
    told = analysed.analysis.summary
    wrong = ", ".join(f"{count:,} {kind}" for kind, count in told["violations"].items() if count)
    return (
        f"analysis of {counted(analysed.traces, 'trace')}{'' if analysed.computed else ', as it was'}:"
        f" {counted(told['messages'], 'message')}, {told['unstable']:,} not stable,"
        f" {f'violations: {wrong}' if wrong else 'no violations'}"
    )
