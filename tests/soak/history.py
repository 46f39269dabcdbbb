"""A newcomer that asks for what was sent before it came, and is checked in what it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stablecast.engine.history import Fetch
from stablecast.live.driver import Driver

if TYPE_CHECKING:
    from tests.soak.witness import Witness


class HistoryRequest:
    """One request, from the beginning to the end."""

    def __init__(self, driver: Driver, witness: Witness) -> None:
        self._driver = driver
        self._witness = witness
        self._source = ""
        self._fetch: Fetch | None = None
        driver.transport.call_at(driver.now(), self._begin)

    def _begin(self) -> None:
        here = self._driver.engine.in_view
        if here is None or self._driver.closed:
            return
        seqs = map(here.data.streams.seq, range(here.size))
        known = [(label, seq) for label, seq in zip(here.labels, seqs, strict=True) if seq]
        if known:
            self._source, last = known[0]
            self._fetch = self._driver.fetch(self._source, 1, last)

    def go_on(self) -> None:
        """Look whether everything has come."""
        fetch = self._fetch
        if fetch is not None and fetch.is_done:
            self._fetch = None
            self._driver.engine.stop_fetch(fetch)
            if fetch.gone is None:
                self._witness.got_history(self._source, fetch.found)
