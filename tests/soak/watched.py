"""An engine whose every step is seen as it happens, by a witness that looks at its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablecast.engine.engine import Engine
from stablecast.engine.rows import Row
from stablecast.live.trace_file import TraceFile
from tests.soak.witness import Witness


class Rows(list[Row]):
    """Hands each row to a witness at once, and keeps none."""

    def __init__(self, witness: Witness) -> None:
        super().__init__()
        self._file = TraceFile(witness)

    def append(self, row: Row) -> None:
        """Let the witness see a row."""
        self._file.write([row], flush=False)


class Watched(Engine):
    """An engine that is watched."""

    def __init__(self, *args: Any, witness: Witness, **kwargs: Any) -> None:
        super().__init__(*args, traces=True, **kwargs)
        assert self.tracing is not None
        self.tracing.rows = Rows(witness)
        self.views._begin = _then(self.views._begin, witness.view_began)
        self.views._dissolve = _then(self.views._dissolve, witness.dissolved)


def _then(done: Callable[..., None], seen: Callable[[], None]) -> Callable[..., None]:
    """Return what does something, and then has a witness look."""

    def both(*args: Any) -> None:
        done(*args)
        seen()

    return both
