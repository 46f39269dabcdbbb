"""Who makes runs: processes of this machine, or whatever else takes runs and gives their results.

Processes are forked from one that has loaded the simulator, so the first result of each is there at once.
They are started when there is something to run, and end with the crew.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from types import TracebackType
from typing import Protocol

from stablecast.advisor.measuring import Measured, Run, measure
from stablecast.errors import StablecastError

PRELOADED = ["stablecast.advisor.measuring"]


class Crew(Protocol):
    """Makes runs."""

    def run(self, runs: Sequence[Run]) -> Iterator[tuple[int, Measured]]:
        """Make runs, and yield the place and the result of each as it comes."""

    def close(self) -> None:
        """End."""


class Processes:
    """A crew of local processes."""

    def __init__(self, count: int | None = None) -> None:
        self._count = count or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def run(self, runs: Sequence[Run]) -> Iterator[tuple[int, Measured]]:
        """Make runs side by side."""
        if self._count == 1 or len(runs) == 1:
            yield from ((place, measure(run)) for place, run in enumerate(runs))
            return
        if self._pool is None:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(PRELOADED)
            self._pool = ProcessPoolExecutor(self._count, mp_context=context)
        places = {self._pool.submit(measure, run): place for place, run in enumerate(runs)}
        try:
            for future in as_completed(places):
                yield places[future], future.result()
        except BaseException as error:
            for future in places:
                future.cancel()
            if isinstance(error, multiprocessing.ProcessError | OSError) or "process pool" in str(error):
                raise StablecastError(f"a process that simulates has died: {error}") from None
            raise

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
