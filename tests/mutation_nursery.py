"""A process that has imported what the package needs, and forks for each copy of it to be watched.

It reads folders and protocols, one pair a line, and answers each with the exit code of
``mutation_watch.py`` on that copy, whose words are in the folder.  Importing all that takes longer than most
of the runs.  Nothing of the package itself is imported here, and kernels are not compiled.
"""

import importlib
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path

WATCH = Path(__file__).with_name("mutation_watch.py")
SECONDS_MAX = 120
NEEDED = (
    *("asyncio", "msgspec", "numpy.typing", "pyarrow.parquet"),
    *("numba.cpython.randomimpl", "numba.extending", "numba.np.arrayobj"),
)


def watch(folder: Path, protocol: str) -> int:
    """Run the watcher in this process, on the copy in a folder; return its exit code."""
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
    signal.alarm(SECONDS_MAX)
    os.environ["STABLECAST_CACHE_DIR"] = str(folder / "cache")
    sys.path[:0] = [str(folder), str(WATCH.parent)]
    sys.argv = [str(WATCH), protocol]
    try:
        runpy.run_path(str(WATCH), run_name="__main__")
    except SystemExit as ending:
        return int(ending.code or 0)
    except BaseException:
        traceback.print_exc()
        return 3
    return 0


def main() -> None:
    for name in NEEDED:
        importlib.import_module(name)
    for line in sys.stdin:
        folder, _, protocol = line.rstrip("\n").rpartition("\t")
        child = os.fork()
        if child == 0:
            code = watch(Path(folder), protocol)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
