"""Progress of work whose length is not known: what is being done, and for how long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


class Steps:
    """Shows steps on standard error: a live line on a terminal, a plain line each otherwise."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._live: Status | None = None

    def say(self, line: str) -> None:
        """Tell what is done now."""
        if not sys.stderr.isatty():
            print(f"# {time.monotonic() - self._began:.1f} s: {line}", file=sys.stderr, flush=True)
            return
        if self._live is None:
            from rich.console import Console

            self._live = Console(stderr=True).status(line)
            self._live.start()
        self._live.update(line)

    def end(self) -> None:
        """Put the live line away."""
        if self._live is not None:
            self._live.stop()
            self._live = None
