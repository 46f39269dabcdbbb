"""Progress of a sweep: a live bar on a terminal, a plain line now and then otherwise."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from stablecast.cli.output import PLAIN_LINE_SECONDS

if TYPE_CHECKING:
    from rich.progress import Progress


class SweepProgress:
    """Shows points done and failed, the rate, and the time to the end, on standard error."""

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown
        self._live: Progress | None = None
        self._total = self._kept = 0
        self._last = time.monotonic()
        self._began: float | None = None
        self._reached = (0, 0)

    def say(self, line: str) -> None:
        """Tell about a step."""
        if not self._shown:
            return
        if self._live is not None:
            self._live.console.print(f"# {line}", markup=False, highlight=False)
        else:
            print(f"# {line}", file=sys.stderr, flush=True)

    def begin(self, total: int, kept: int) -> None:
        """Start to count."""
        self._total, self._kept, self._began = total, kept, None
        if kept:
            self.say(f"{kept:,} of {total:,} points are there already")
        if not self._shown or kept == total or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._live = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} points{task.fields[told]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._live.add_task("sweep", total=total, completed=kept, told="")
        self._live.start()

    def update(self, done: int, failed: int, seconds_left: float) -> None:
        """Show how far it is."""
        if not self._shown:
            return
        now = time.monotonic()
        self._began = self._began or now
        if self._live is not None:
            told = self._told(done, failed, seconds_left, now)
            self._live.update(self._live.task_ids[0], completed=self._kept + done, told=told)
        elif now - self._last > PLAIN_LINE_SECONDS:
            self._line(done, failed, seconds_left, now)
        self._reached = (done, failed)

    def _line(self, done: int, failed: int, seconds_left: float, now: float) -> None:
        told = self._told(done, failed, seconds_left, now)
        print(f"# {self._kept + done:,} of {self._total:,} points{told}", file=sys.stderr, flush=True)
        self._last = now

    def _told(self, done: int, failed: int, seconds_left: float, now: float) -> str:
        rate = done / max(now - (self._began or now), 0.1)
        words = [f"{failed:,} failed"] if failed else []
        if done:
            words.append(f"{rate:,.1f}/s")
        if done and seconds_left > 0:
            # Not from the rate: the longest points come first.
            words.append(f"about {_duration(seconds_left)} left")
        return "".join(f", {word}" for word in words)

    def end(self) -> None:
        """Put the bar away, or say a last line."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        elif self._shown and any(self._reached):
            self._line(*self._reached, 0.0, time.monotonic())


def _duration(seconds: float) -> str:
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
