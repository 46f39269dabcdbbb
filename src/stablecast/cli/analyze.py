"""``stablecast analyze``: what is stable in a trace, what is held back, and by whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stablecast.cli.extras import SPARK, require
from stablecast.cli.output import DONE, FOUND_FAILURE
from stablecast.cli.spark_options import Conf, Master
from stablecast.cli.steps import Steps
from stablecast.cli.trace_options import (
    Cumulative,
    FirstSeqOption,
    Format,
    Kind,
    Map,
    NextOffset,
    NumbersAreBytes,
    OnBadRows,
    Set,
    TimeUnit,
    trace_options,
)
from stablecast.errors import unknown_name
from stablecast.words import counted

if TYPE_CHECKING:
    from stablecast.pipeline.analysis.analyze import Analysis


def analyze_command(
    events: Annotated[
        list[str],
        typer.Argument(metavar="EVENTS...", help="Files, folders or patterns: Parquet, JSON Lines, CSV."),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the tables, or an address.")],
    first_seq: FirstSeqOption = "1",
    on_bad_rows: OnBadRows = "fail",
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier analysis in DIR.")] = False,
    engine: Annotated[
        str, typer.Option(help="spark, or local: in this process, without Spark.", metavar="spark|local")
    ] = "spark",
    mapped: Map = None,
    constants: Set = None,
    kinds: Kind = None,
    time_unit: TimeUnit = None,
    format: Format = None,
    cumulative: Cumulative = False,
    next_offset: NextOffset = False,
    numbers_are_bytes: NumbersAreBytes = False,
    master: Master = None,
    conf: Conf = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> int:
    """Analyse events or positions: what is stable, who holds the rest back, what is wrong, as Parquet in DIR.

    The exit code is 1 if there are violations.

    Example: stablecast analyze traces --out analysed
    """
    require(*(SPARK if engine == "spark" else ()))
    from stablecast.analysis.output import check_free, place_of
    from stablecast.analysis.reading.early import check_early
    from stablecast.analysis.reading.inputs import find_inputs
    from stablecast.pipeline.analysis.analyze import ENGINES, analyze

    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    options = trace_options(
        mapped=mapped,
        constants=constants,
        kinds=kinds,
        time_unit=time_unit or "us",
        first_seq=first_seq,
        on_bad_rows=on_bad_rows,
        format=format,
        cumulative=cumulative,
        next_offset=next_offset,
        numbers_are_bytes=numbers_are_bytes,
    )
    where = place_of(out)
    if isinstance(where, Path):
        check_free(where, replace=force)
    inputs = find_inputs(events, format=format, without=[str(where)])
    for warning in check_early(
        inputs,
        options.foreign,
        first_seq=options.first_seq,
        on_bad_rows=on_bad_rows,
        unit_given=time_unit is not None,
    ):
        print(f"# warning: {warning}", file=sys.stderr)
    steps = Steps()
    loading = Thread(target=_load_kernels, daemon=True)
    loading.start()  # while Spark starts
    try:
        with _session(engine, master, conf, steps) as spark:
            found = analyze(list(events), where, spark=spark, options=options, replace=force, say=steps.say)
    finally:
        steps.end()
    _tell(found, as_json=as_json)
    return FOUND_FAILURE if found.violations else DONE


def _load_kernels() -> None:
    """Load the compiled computation; should that fail, so does the analysis itself, which tells why."""
    from stablecast.delivery.warm import warm

    with suppress(Exception):
        warm()


@contextmanager
def _session(engine: str, master: str | None, conf: list[str] | None, steps: Steps) -> Iterator[Any]:
    """Give a session of Spark, or nothing if this process computes alone."""
    if engine == "local":
        yield None
        return
    from stablecast.pipeline.session import check_master, data_conf, parse_conf, spark_session

    settings = data_conf(parse_conf(conf or []))
    if master is not None:
        check_master(master)
    steps.say("starting Spark")
    with spark_session(master=master, conf=settings) as spark:
        yield spark


def _tell(found: Analysis, *, as_json: bool) -> None:
    told = found.summary
    if as_json:
        print(json.dumps(dict(told)))
        return
    print(_first_line(told))
    taken = told["time_to_stable_us"]
    if taken:
        parts = ", ".join(f"{name} {taken[name] / 1000:,.3f} ms" for name in ("p50", "p90", "p99", "max"))
        print(f"time to stable: {parts}")
    if told["bad_rows"]:
        print(f"{counted(told['bad_rows'], 'bad row')} {'was' if told['bad_rows'] == 1 else 'were'} left out")
    wrong = {kind: count for kind, count in told["violations"].items() if count}
    if wrong:
        print("violations: " + ", ".join(f"{count:,} {kind}" for kind, count in wrong.items()))
    else:
        print("no violations")
    print(f"{found.out} in {told['wall_s']:.1f} s")


def _first_line(told: Mapping[str, Any]) -> str:
    groups, members = counted(told["groups"], "group"), told["members"]
    if not told["positions"]:
        return (
            f"{counted(told['events'], 'event')} of {counted(members, 'member')} in {groups}:"
            f" {counted(told['messages'], 'message')}, {told['stable']:,} stable, {told['unstable']:,} not"
        )
    line = (
        f"{counted(told['events'], 'row')} of {counted(members, 'reader')}"
        f" of {counted(told['sources'], 'source')} in {groups}:"
        f" {counted(told['messages'], 'number')}, {told['stable']:,} safe to delete, {told['unstable']:,} not"
    )
    if told["heads_missing"]:
        missing = counted(told["heads_missing"], "source")
        line += f"\nsends are missing: frontier among readers only ({missing})"
    return line
