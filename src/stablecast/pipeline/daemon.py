"""The parent of Spark's Python workers: it loads the simulator once, and every worker is a fork of it.

Spark starts this module by its name (``spark.python.daemon.module``) on each executor.  What is compiled
already comes from the cache on disk; what is not, on a machine that has never run it, is compiled here once
and not by every worker.  Standard output belongs to Spark, so nothing is printed there.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from pyspark import daemon

from stablecast.pipeline.session import PROTOCOLS_VARIABLE, first_line

Serve = Callable[[Any, bool], int]
"""How a worker serves Spark at a socket."""


def preload(names: list[str]) -> None:
    """Load protocols' loops and call each once; one process on a machine compiles what is missing.

    A protocol that cannot be loaded is told in one line.  The others are loaded all the same, and a worker
    that needs that one reports it with its point.
    """
    from stablecast.compiling import CACHE_FOLDER
    from stablecast.protocols import protocol
    from stablecast.simulate.compiled import is_compiled
    from stablecast.simulate.warm import compile_loop

    with (CACHE_FOLDER / "compiling.lock").open("w") as lock:
        for name in names:
            try:
                if not is_compiled(protocol(name)):
                    fcntl.flock(lock, fcntl.LOCK_EX)
                compile_loop(name)
            except Exception as error:
                _tell(f"cannot load protocol '{name}' before Spark's workers start", error)


def _tell(what: str, error: Exception) -> None:
    print(f"stablecast: {what}: {type(error).__name__}: {first_line(error)}", file=sys.stderr, flush=True)


def leaving_quietly(serve: Serve) -> Serve:
    """Let a worker end without a traceback when Spark has closed its connection.

    Spark does so when a worker has had nothing to do for a minute, as while a sweep's traces are analysed.
    """

    def worker(sock: Any, authenticated: bool) -> int:
        try:
            return serve(sock, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)

    return worker


def preload_reading() -> None:
    """Load what the workers of an analysis read with; it does without the compiler."""
    importlib.import_module("stablecast.pipeline.analysis.spread.pack")


def main() -> None:
    """Load, freeze what was loaded so that workers share its memory, and serve Spark."""
    try:
        names = [name for name in os.environ.get(PROTOCOLS_VARIABLE, "").split(",") if name]
        if names:
            preload(names)
        else:
            preload_reading()
    except Exception as error:
        _tell("cannot load protocols before Spark's workers start", error)
    gc.collect()
    gc.freeze()
    daemon.worker = leaving_quietly(daemon.worker)  # type: ignore[assignment]
    daemon.manager()


if __name__ == "__main__":
    main()
