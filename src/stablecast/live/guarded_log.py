"""A trace that cannot be written ends, and nothing else does.

The engine writes its log in the midst of everything, before every datagram.  An error there, as on a full
disk, would leave it half-way through a step.  So the log is behind this guard: the first error is told, once,
and from then on nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable

from stablecast.live.sides import Log
from stablecast.trace.log import CannotTrace


class GuardedLog:
    """Passes events on until that fails.

    Parameters
    ----------
    log
        Where events go.
    on_failure
        Is told why no more can be written.
    """

    def __init__(self, log: Log, on_failure: Callable[[str], object]) -> None:
        self._log: Log | None = log
        self._on_failure = on_failure

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """A message was sent."""
        log = self._log
        if log is not None:
            self._try(lambda: log.send(group, member, seq, time_us, size))

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: list[int], time_us: int
    ) -> None:
        """Messages in a row have come."""
        log = self._log
        if log is not None:
            self._try(lambda: log.receive(group, member, source, first_seq, sizes, time_us))

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """A source's messages are everywhere up to this one."""
        log = self._log
        if log is not None:
            self._try(lambda: log.stable(group, member, source, seq, time_us))

    def release(
        self, group: str, member: str, source: str, first: int, last: int, sizes: list[int], time_us: int
    ) -> None:
        """Copies were let go."""
        log = self._log
        if log is not None:
            self._try(lambda: log.release(group, member, source, first, last, sizes, time_us))

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """A member joined, left or failed."""
        log = self._log
        if log is not None:
            self._try(lambda: log.change(group, kind, member, time_us))

    def flush(self) -> None:
        """Have everything written."""
        log = self._log
        if log is not None:
            self._try(log.flush)

    def _try(self, write: Callable[[], object]) -> None:
        try:
            write()
        except (CannotTrace, OSError) as error:
            self._log = None
            self._on_failure(str(error))
