"""Where rows of a trace are written; one that cannot be written ends, and nothing else does."""

from __future__ import annotations

from typing import Protocol

from stablecast.engine.rows import ChangeRow, ReceiveRow, ReleaseRow, Row, SendRow
from stablecast.trace.log import CannotTrace


class Log(Protocol):
    """What writes a trace, such as :class:`stablecast.trace.log.EventLog`."""

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """A message was sent."""

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: list[int], time_us: int
    ) -> None:
        """Messages in a row have come."""

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """A source's messages are everywhere up to this one."""

    def release(
        self, group: str, member: str, source: str, first: int, last: int, sizes: list[int], time_us: int
    ) -> None:
        """Copies were let go."""

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """A member joined, left or failed."""

    def flush(self) -> None:
        """Have everything written."""


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
                self._add(row)
                flush |= isinstance(row, ChangeRow)
            if flush:
                self._log.flush()
        except (CannotTrace, OSError) as error:
            return str(error)
        return ""

    def _add(self, row: Row) -> None:
        if isinstance(row, ReceiveRow):
            self._log.receive(*row)
        elif isinstance(row, SendRow):
            self._log.send(*row)
        elif isinstance(row, ReleaseRow):
            self._log.release(*row)
        elif isinstance(row, ChangeRow):
            self._log.change(*row)
        else:
            self._log.stable(*row)
