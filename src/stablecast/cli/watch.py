"""``stablecast watch``: the tables of a trace kept current while it is written."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Annotated, Any

import typer

from stablecast.cli.extras import SPARK, require
from stablecast.cli.output import DONE, FOUND_FAILURE, INTERRUPTED
from stablecast.cli.spark_options import Conf, Master
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
from stablecast.errors import InvalidInput


def watch_command(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A folder, or an address, that files of events arrive in.")
    ],
    out: Annotated[
        str,
        typer.Option(metavar="DIR2", help="Folder or address for the tables, and the state between parts."),
    ],
    once: Annotated[
        bool, typer.Option("--once", help="Read what is there, and leave: for a job that runs now and then.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Read files while they grow, as a running group's traces do.")
    ] = False,
    every_s: Annotated[float, typer.Option(help="Seconds between looks at the folder.")] = 5.0,
    max_files: Annotated[
        int | None, typer.Option(help="Most files to take at a time.", min=1, show_default=False)
    ] = None,
    delay_s: Annotated[
        float,
        typer.Option(help="How much older than its group's newest event an event may be when it arrives."),
    ] = 60.0,
    linger_s: Annotated[
        float, typer.Option(help="How long claims and releases of a message that is stable are waited for.")
    ] = 600.0,
    first_seq: FirstSeqOption = "1",
    on_bad_rows: OnBadRows = "count",
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each part's summary as a line of JSON.")
    ] = False,
) -> int:
    """Keep the tables of a trace current as its files arrive; killed at any moment, it goes on where it was.

    Example: stablecast watch incoming --out current
    """
    require(*SPARK)
    from stablecast.delivery.stream.fold import Patience
    from stablecast.pipeline.analysis.stream.places import check_places
    from stablecast.pipeline.analysis.stream.watch import Watch, Watching
    from stablecast.pipeline.session import check_master, data_conf, parse_conf, spark_session

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
    for name, value in (("--every-s", every_s), ("--delay-s", delay_s), ("--linger-s", linger_s)):
        if not 0 <= value < float("inf"):
            raise InvalidInput(f"{name} {value} is not accepted (accepted: seconds from 0)")
    settings = data_conf(parse_conf(conf or []))
    if master is not None:
        check_master(master)
    check_places(folder, out, follow=follow)
    watching = Watching(
        options=options,
        patience=Patience(round(delay_s * 1e6), round(linger_s * 1e6)),
        once=once,
        every_s=every_s,
        follow=follow,
        files_per_part=max_files,
    )

    def say(line: str) -> None:
        print(f"# {line}", file=sys.stderr, flush=True)

    def tell(summary: dict[str, Any]) -> None:
        if as_json:
            print(json.dumps(summary), flush=True)

    with _java_spared(), spark_session(master=master, conf=settings) as spark, _stop_on_signals() as stopped:
        watch = Watch(folder, out, spark, watching, say, tell)
        watch.run(stopped)
    summary = watch.summary
    if summary is not None and not as_json:
        print(
            f"{summary['events']:,} events, {summary['messages']:,} messages, {summary['open']:,} open,"
            f" {sum(summary['violations'].values()):,} violations; {out}"
        )
    if once and stopped.is_set():
        return INTERRUPTED  # not all that was there has been read
    return FOUND_FAILURE if summary and any(summary["violations"].values()) else DONE


@contextmanager
def _java_spared() -> Iterator[None]:
    """Let Spark's Java, which inherits it, ignore a SIGTERM that goes to every process of a service."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _stop_on_signals() -> Iterator[Event]:
    """Give what signals set; Spark takes Ctrl-C for itself when it starts, so this comes after."""
    stopped = Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stopped.set()) for number in signals]
    try:
        yield stopped
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
