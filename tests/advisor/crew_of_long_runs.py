"""Starts two runs that take minutes, and prints the numbers of the processes that make them."""

import contextlib
import multiprocessing
import sys
import threading
import time
from concurrent.futures import CancelledError

from stablecast.advisor.candidates import default_candidate
from stablecast.advisor.crew import Processes
from stablecast.advisor.measuring import run_of
from stablecast.advisor.question import Question
from stablecast.errors import StablecastError

LONG = Question(members=24, rate_per_s=20_000, message_bytes=100, rtt_ms=900)


def main() -> None:
    runs = [run_of(LONG, default_candidate(), seed) for seed in (1, 2)]
    with Processes(2) as crew:

        def ask() -> None:
            with contextlib.suppress(StablecastError, CancelledError):
                list(crew.run(runs))

        threading.Thread(target=ask, daemon=True).start()
        while len(found := multiprocessing.active_children()) < 2:
            time.sleep(0.01)
        print(*(process.pid for process in found), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main()
