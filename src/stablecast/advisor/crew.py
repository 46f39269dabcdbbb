"""Who makes runs: processes of this machine, or whatever else takes runs and gives their results.

Processes are forked from one that has loaded the simulator, so the first result of each is there at once.
They are started when there is something to run, and end with the crew.

Who ends them
    A run cannot be interrupted from inside, and may take a minute.  So each process has a thread that waits
    for two things: the end of the process that asked, however it ended, and the closing of a pipe that the
    crew has.  Either ends the process at once, in the middle of a run.  Nothing is lost by that: results are
    kept by the process that asked.
Ctrl-C
    A terminal sends it to all processes.  Those that simulate pass it over, and end when the crew does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Protocol

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
        self._leash: Connection | None = None

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
        pool = self._pool or self._started()
        places = {pool.submit(measure, run): place for place, run in enumerate(runs)}
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
        """End the processes, at once; what they are running is given up."""
        if self._leash is not None:
            self._leash.close()
            self._leash = None
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        end, self._leash = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self._count, mp_context=context, initializer=_end_with, initargs=(end,)
        )
        return self._pool


def _end_with(leash: Connection) -> None:
    """End this process when the one that asked ends, or lets go of the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asker = multiprocessing.parent_process()
    ends: list[Any] = [leash] if asker is None else [leash, asker.sentinel]

    def watch() -> None:
        wait(ends)
        os._exit(1)

    threading.Thread(target=watch, name="ends with the crew", daemon=True).start()
