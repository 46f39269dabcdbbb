"""How commands speak: one line for an error, a bar or plain lines for progress."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from types import TracebackType

from stablecast.words import printable

DONE, FOUND_FAILURE, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
PLAIN_LINE_SECONDS = 5.0


def complain(message: str) -> None:
    """Print one line to standard error."""
    print(f"stablecast: {printable(' '.join(message.split()))}", file=sys.stderr)


def finish_output(code: int) -> int:
    """Write out what standard output still holds, and return the exit code.

    Python would do so when it ends, and fail with words of its own.  A reader that has gone, as ``head``
    does, has read what it wanted.
    """
    if sys.stdout is None:  # it was closed from the start
        return code
    try:
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if isinstance(error, BrokenPipeError):
            return code
        complain(f"cannot write to standard output: {error.strerror or error}")
        return code or FOUND_FAILURE
    return code


def drop_output() -> None:
    """Let nothing more come of standard output, nor of what it still holds."""
    if sys.stdout is None:
        return
    with contextlib.suppress(OSError):  # what stands for it in a test may be no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class SimulationProgress:
    """Shows a long run's progress: a live line on a terminal, a plain line now and then otherwise."""

    def __init__(self, what: str, *, executions: int, shown: bool) -> None:
        self._what = what
        self._executions = executions
        self._shown = shown
        self._began = self._last = time.monotonic()
        self._live = shown and sys.stderr.isatty()
        self._drawn = False

    def __enter__(self) -> SimulationProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def __call__(self, events: int, simulated_ps: int, executions: int) -> None:
        """Take note of how far the run of a protocol is."""
        done = (
            f"execution {executions} of {self._executions}" if self._executions else f"execution {executions}"
        )
        self._show(events, simulated_ps, f"{done}, ")

    def of_group(self, events: int, simulated_ps: int) -> None:
        """Take note of how far the run of a live group is."""
        self._show(events, simulated_ps, "")

    def _show(self, events: int, simulated_ps: int, done: str) -> None:
        now = time.monotonic()
        if not self._shown or now - self._last < (0.2 if self._live else PLAIN_LINE_SECONDS):
            return
        self._last = now
        rate = events / max(now - self._began, 1e-9)
        text = f"{self._what}: {done}{simulated_ps / 1e12:.3f} s simulated, {events:,} events, {rate:,.0f}/s"
        if self._live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(text, file=sys.stderr, flush=True)
