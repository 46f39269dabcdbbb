"""``stablecast analyze``: what is stable in a trace, what is held back, and by whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.extras import SPARK, require
from stablecast.cli.output import DONE, FOUND_FAILURE
from stablecast.cli.spark_options import Conf, Master
from stablecast.cli.steps import Steps
from stablecast.cli.trace_options import (
    FirstSeqOption,
    Format,
    Kind,
    Map,
    OnBadRows,
    Set,
    TimeUnit,
    trace_options,
)

if TYPE_CHECKING:
    from stablecast.pipeline.analysis.analyze import Analysis


def analyze_command(
    events: Annotated[
        list[str],
        typer.Argument(metavar="EVENTS...", help="Files, folders or patterns: Parquet, JSON Lines, CSV."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the tables.")],
    first_seq: FirstSeqOption = "1",
    on_bad_rows: OnBadRows = "fail",
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier analysis in DIR.")] = False,
    mapped: Map = None,
    constants: Set = None,
    kinds: Kind = None,
    time_unit: TimeUnit = "us",
    format: Format = None,
    cumulative: Annotated[
        bool,
        typer.Option(
            "--cumulative",
            help="A receipt stands for everything up to its number, as a consumer's commit does.",
            rich_help_panel="Foreign logs",
        ),
    ] = False,
    master: Master = None,
    conf: Conf = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> int:
    """Analyse events on Spark: messages, frontiers, buffers, laggards and violations, as Parquet under DIR.

    The exit code is 1 if there are violations.

    Example: stablecast analyze traces --out analysed
    """
    require(*SPARK)
    from stablecast.analysis.reading.inputs import find_inputs
    from stablecast.analysis.reading.mapping import check_columns
    from stablecast.pipeline.analysis.analyze import analyze
    from stablecast.pipeline.analysis.workspace import check_free
    from stablecast.pipeline.session import check_master, data_conf, parse_conf, spark_session

    options = trace_options(
        mapped=mapped,
        constants=constants,
        kinds=kinds,
        time_unit=time_unit,
        first_seq=first_seq,
        on_bad_rows=on_bad_rows,
        format=format,
        cumulative=cumulative,
        replace=force,
    )
    settings = data_conf(parse_conf(conf or []))
    if master is not None:
        check_master(master)
    check_free(out, replace=force)
    check_columns(find_inputs(events, format=format, without=[str(out)]), options.foreign)
    steps = Steps()
    steps.say("starting Spark")
    try:
        with spark_session(master=master, conf=settings) as spark:
            found = analyze(list(events), out, spark=spark, options=options, say=steps.say)
    finally:
        steps.end()
    _tell(found, as_json=as_json)
    return FOUND_FAILURE if found.violations else DONE


def _tell(found: Analysis, *, as_json: bool) -> None:
    told = found.summary
    if as_json:
        print(json.dumps(dict(told)))
        return
    groups = "1 group" if told["groups"] == 1 else f"{told['groups']:,} groups"
    print(
        f"{told['events']:,} events of {told['members']:,} members in {groups}:"
        f" {told['messages']:,} messages, {told['stable']:,} stable, {told['unstable']:,} not"
    )
    taken = told["time_to_stable_us"]
    if taken:
        parts = ", ".join(f"{name} {taken[name] / 1000:,.3f} ms" for name in ("p50", "p90", "p99", "max"))
        print(f"time to stable: {parts}")
    if told["bad_rows"]:
        print(f"{told['bad_rows']:,} bad rows were left out")
    wrong = {kind: count for kind, count in told["violations"].items() if count}
    if wrong:
        print("violations: " + ", ".join(f"{count:,} {kind}" for kind, count in wrong.items()))
    else:
        print("no violations")
    print(f"{found.out} in {told['wall_s']:.1f} s")
