"""A newcomer that asks for what was sent before it came, and is checked in what it gets."""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import TYPE_CHECKING

from stablecast.live.history import Wanted, fetch
from stablecast.live.results import HistoryGone
from stablecast.live.transport import Cancellable

if TYPE_CHECKING:
    from stablecast.live.engine import Engine
    from tests.soak.witness import Witness


class _Wait(Awaitable[None]):
    """Gives the seconds to wait to who drives the coroutine, and goes on when that goes on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self._seconds


class HistoryRequest:
    """One request, from the beginning to the end, driven by the process's clock and its news."""

    def __init__(self, engine: Engine, witness: Witness) -> None:
        self._engine = engine
        self._witness = witness
        self._is_running = False
        self._timer: Cancellable | None = None
        self._request: Generator[float, None, None] | None = None
        engine.transport.call_at(engine.transport.now(), self._begin)

    def _begin(self) -> None:
        here = self._engine.in_view
        if here is None or self._engine.closed:
            return
        known = [(stream.label, stream.seq) for stream in here.streams if stream.seq]
        if known:
            self._request = self._ask(*known[0])
            self.go_on()

    def _ask(self, source: str, last: int) -> Generator[float, None, None]:
        wanted = Wanted.checked(source, 1, last)
        found = yield from fetch(self._engine, wanted, _Wait).__await__()
        if not isinstance(found, HistoryGone):
            self._witness.got_history(source, found)

    def go_on(self) -> None:
        """Look again whether something has come."""
        if self._request is None or self._is_running or self._engine.closed:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._is_running = True
        try:
            seconds = next(self._request)
        except StopIteration:
            self._request = None
        else:
            transport = self._engine.transport
            self._timer = transport.call_at(transport.now() + seconds, self.go_on)
        self._is_running = False
