"""Making runs of messages: many small ones into a datagram, one large one into several."""

from __future__ import annotations

from collections.abc import Callable

from stablecast.errors import StablecastError
from stablecast.multicast.frames import Data, Fragment, Run

RUN_BYTES = 64
"""Bytes of a run's frame beside its payloads, at most."""
PAYLOAD_BYTES = 5
"""Bytes of a payload beside its content, at most."""
NUMBER_BYTES = 9
RUN_MESSAGES = 4096

Attach = Callable[[int, float], list[int]]
"""Returns what the stability protocol puts into a part, at a time."""


def chunk_bytes(room: int, width: int) -> int:
    """Return the bytes of a message that fit where frames have room, beside attached numbers; 0 if none."""
    return max(room - RUN_BYTES - _part_bytes(width), 0)


def _part_bytes(width: int) -> int:
    return PAYLOAD_BYTES + width * NUMBER_BYTES


class Packer:
    """Numbers a member's messages in one view, and makes runs of them that fit into ``room`` bytes each.

    What the stability protocol attaches is asked for when a run is complete, right before the protocol hears
    that this member has it.  A stamp from earlier could be older than a word of the protocol that went out in
    between, which would then speak for a message that nobody has.
    """

    def __init__(
        self,
        view: int,
        rank: int,
        *,
        parts: int,
        messages: int,
        room: int,
        attach: Attach | None,
        width: int,
        stable: Callable[[], int] = lambda: 0,
    ) -> None:
        self.parts = parts
        """Parts so far, those that wait in the run under construction included."""
        self.messages = messages
        self.waiting = 0
        """Bytes in the run under construction."""
        self._view = view
        self._rank = rank
        self._room = room - RUN_BYTES
        self._chunk = chunk_bytes(room, width)
        self._attach = attach
        self._stable = stable
        self._each = _part_bytes(width)
        self._payloads: list[bytes] = []

    def parts_of(self, size: int) -> int:
        """Return how many parts a message of so many bytes has."""
        if not self._chunk:
            raise StablecastError(
                "a datagram has no room beside what the protocol attaches: it attaches fewer numbers in a"
                " larger group (accepted: no fewer)"
            )
        return 1 if size <= self._chunk else -(-size // self._chunk)

    def add(self, payload: bytes, now: float) -> list[Run]:
        """Number a message; return the runs that are complete now, in order."""
        size = len(payload) + self._each
        if len(payload) > self._chunk:
            return [*self.flush(now), *self._split(payload, now)]
        runs = (
            self.flush(now) if self.waiting + size > self._room or len(self._payloads) >= RUN_MESSAGES else []
        )
        self.messages += 1
        self.parts += 1
        self._payloads.append(payload)
        self.waiting += size
        return runs

    def flush(self, now: float) -> list[Run]:
        """Complete the run under construction, if there is one."""
        if not self._payloads:
            return []
        count = len(self._payloads)
        first = self.parts - count + 1
        attached: list[int] = []
        if self._attach is not None:
            for part in range(first, self.parts + 1):
                attached += self._attach(part, now)
        seq, stable = self.messages - count + 1, self._stable()
        run = Data(self._view, self._rank, first, seq, self._payloads, attached, stable)
        self._payloads, self.waiting = [], 0
        return [run]

    def _split(self, payload: bytes, now: float) -> list[Run]:
        chunks = [payload[at : at + self._chunk] for at in range(0, len(payload), self._chunk)]
        self.messages += 1
        seq, count, stable = self.messages, len(chunks), self._stable()
        runs: list[Run] = []
        for index, chunk in enumerate(chunks):
            self.parts += 1
            attached = [] if self._attach is None else self._attach(self.parts, now)
            runs.append(
                Fragment(self._view, self._rank, self.parts, seq, index, count, chunk, attached, stable)
            )
        return runs
