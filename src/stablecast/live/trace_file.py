"""Where rows of a trace are written; one that cannot be written ends, and nothing else does."""

from __future__ import annotations

from stablecast.engine.rows import ChangeRow, Log, Row, put
from stablecast.trace.log import CannotTrace


class TraceFile:
    """Hands rows to a log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def write(self, rows: list[Row], *, flush: bool) -> str:
        """Write rows, and all that waits if asked to; return why that failed, nothing if it did not.

        Who came and went is written at once: there may be no other sign of it for long.
        """
        try:
            for row in rows:
                put(row, self._log)
                flush |= isinstance(row, ChangeRow)
            if flush:
                self._log.flush()
        except (CannotTrace, OSError) as error:
            return str(error)
        return ""
