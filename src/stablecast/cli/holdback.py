"""``stablecast holdback``: what may be deleted in systems that run, and who stands in the way."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from stablecast.cli.output import DONE, FOUND_FAILURE, complain, drop_output
from stablecast.errors import BindFailed, InvalidInput

if TYPE_CHECKING:
    from stablecast.holdback.answer import Answer, Limits
    from stablecast.holdback.asking import Asking
    from stablecast.holdback.metrics import HoldbackCollector
    from stablecast.holdback.model import Snapshot

CLEAR = "\033[H\033[2J"
METRICS_EVERY_S = 15.0


def holdback_command(
    urls: Annotated[
        list[str],
        typer.Argument(metavar="URL...", help="redis://, postgres://, nats://, kafka:// or stablecast://"),
    ],
    watch: Annotated[
        float | None,
        typer.Option(metavar="S", help="Ask every S seconds, and draw the answer anew.", show_default=False),
    ] = None,
    max_held: Annotated[
        str | None,
        typer.Option(help="Exit with 1 if a log holds back more: 10GB, or 5000 entries.", show_default=False),
    ] = None,
    max_age: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if a log is held back for longer: 90s, 5m, 1h, 7d.", show_default=False
        ),
    ] = None,
    gone_after: Annotated[
        str, typer.Option(help="A reader that was not heard of for so long is called gone.")
    ] = "5m",
    top: Annotated[int, typer.Option(help="So many logs, and readers of each, are shown.", min=1)] = 10,
    timeout_s: Annotated[float, typer.Option(help="How long a system is waited for, in seconds.")] = 5.0,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve metrics for Prometheus there, asking every S seconds of --watch, or 15.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as one line of JSON.")] = False,
) -> int:
    """Say what may be deleted up to where, who stands in the way since when, and what if they went.

    It only reads. The exit code is 1 if a limit is passed, or if part of the answer is missing.

    Example: stablecast holdback redis://localhost:6379 postgres://looker@localhost/orders --max-age 1h
    """
    from stablecast.holdback.answer import Limits
    from stablecast.holdback.asking import Asking
    from stablecast.holdback.units import check_seconds, parse_amount, parse_duration

    for name, value in (("--watch", watch), ("--timeout-s", timeout_s)):
        if value is not None:
            check_seconds(value, name)
    limits = Limits(
        parse_amount(max_held, "--max-held") if max_held is not None else None,
        parse_duration(max_age, "--max-age") if max_age is not None else None,
    )
    gone_after_s = parse_duration(gone_after, "--gone-after")
    quiet = metrics is not None and watch is None and not as_json
    every_s = METRICS_EVERY_S if metrics is not None and watch is None else watch
    with Asking(urls, timeout_s=timeout_s) as asking, _serving(metrics) as collector:
        telling = Telling(asking, limits, gone_after_s, top, as_json, quiet, collector)
        code, last = telling.once({}, again=False)
        while every_s is not None and (telling.is_read or collector is not None):
            time.sleep(every_s)
            code, last = telling.once(last, again=True)
    return code


@contextmanager
def _serving(place: str | None) -> Iterator[HoldbackCollector | None]:
    """Serve metrics, if they are asked for."""
    if place is None:
        yield None
        return
    from stablecast.holdback.metrics import HoldbackCollector, MetricsServer, parse_place

    host, port = parse_place(place)
    collector = HoldbackCollector()
    try:
        serving = MetricsServer((host, port), collector)
    except BindFailed as error:  # 1 would say that a limit is passed
        raise InvalidInput(str(error)) from None
    with serving as server:
        print(f"# metrics at http://{host}:{server.port}/metrics", file=sys.stderr, flush=True)
        yield collector


def _width() -> int | None:
    """Return how wide lines may be; what is no terminal, and of which nothing is said, takes any."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    return max(20, shutil.get_terminal_size().columns)


@dataclass
class Telling:
    """Asks, tells and judges, again and again."""

    asking: Asking
    limits: Limits
    gone_after_s: float
    top: int
    as_json: bool
    quiet: bool
    """Nothing but metrics is wanted."""
    collector: HoldbackCollector | None
    is_read: bool = True
    """Whether anybody still reads what is printed; ``head`` goes when it has what it wanted."""

    def once(self, before: dict[str, Snapshot], *, again: bool) -> tuple[int, dict[str, Snapshot]]:
        """Return the exit code, and the last snapshot of each system for the next time.

        No answer at all is wrong usage, the first time.
        """
        from stablecast.holdback.answer import answer_of, exceeded

        snapshots, problems = self.asking.ask()
        if not snapshots and not again:
            for line in problems[:-1]:
                complain(line)
            raise InvalidInput(problems[-1])
        answer = answer_of(snapshots, before=before, problems=problems, gone_after_s=self.gone_after_s)
        if self.collector is not None:
            self.collector.show(snapshots, self.gone_after_s, self.asking.scopes)
        if not self.quiet:
            try:
                self._tell(answer, clear=again and not self.as_json and sys.stdout.isatty())
            except BrokenPipeError:
                drop_output()
                self.is_read = False
        passed = [*self._unjudged(snapshots), *exceeded(answer, self.limits)]
        for line in [*answer.problems, *passed]:
            complain(line)
        code = FOUND_FAILURE if passed or answer.problems else DONE
        return code, before | {one.scope: one for one in snapshots}

    def _unjudged(self, snapshots: list[Snapshot]) -> list[str]:
        """Return a line for each system without a log: a check that looks at nothing must not be green."""
        given = (("--max-held", self.limits.held), ("--max-age", self.limits.age_s))
        names = " and ".join(name for name, limit in given if limit is not None)
        empty = [one.scope for one in snapshots if not one.logs] if names else []
        return [f"{scope}: there is no log, so {names} cannot be judged" for scope in empty]

    def _tell(self, answer: Answer, *, clear: bool) -> None:
        from stablecast.holdback import as_json as to_json
        from stablecast.holdback import as_text as to_text

        if self.as_json:
            print(json.dumps(to_json.as_json(answer)), flush=True)
            return
        print((CLEAR if clear else "") + to_text.as_text(answer, top=self.top, width=_width()), flush=True)
