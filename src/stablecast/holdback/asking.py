"""All systems asked at once, again and again if need be."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from stablecast.holdback.model import Snapshot
from stablecast.holdback.sources import open_source
from stablecast.holdback.sources.base import CannotAsk, Source

AT_ONCE = 16


class Asking:
    """Sources of addresses; a context manager that closes them.

    Addresses that cannot be meant, and clients that are not installed, are told before anything is asked.
    """

    def __init__(self, addresses: Sequence[str], *, timeout_s: float | None = None) -> None:
        self.sources: list[Source] = [open_source(one, timeout_s=timeout_s) for one in addresses]
        self._pool = ThreadPoolExecutor(max_workers=min(AT_ONCE, max(1, len(self.sources))))

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for source in self.sources:
            source.close()

    def ask(self) -> tuple[list[Snapshot], list[str]]:
        """Return a snapshot of each system that answers, and a line for each that does not."""
        asked = [self._pool.submit(source.take) for source in self.sources]
        snapshots, problems = [], []
        for one in asked:
            try:
                snapshots.append(one.result())
            except CannotAsk as error:
                problems.append(str(error))
            except Exception as error:  # one system that answers oddly must not hide the others
                problems.append(f"an answer was not understood: {type(error).__name__}: {error}")
        return snapshots, problems
