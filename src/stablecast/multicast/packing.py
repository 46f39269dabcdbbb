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


class OpenRun:
    """The run under construction, as who sends many messages sees it.

    What fits into the run, and needs no decision about room elsewhere, may be put into it without a call:
    ``payloads`` takes a message of fewer bytes than ``left``, which is then less by the message's bytes and
    ``each``.  Its number is ``before`` and the messages in the run, itself included.
    """

    __slots__ = ("before", "each", "left", "payloads")

    def __init__(self) -> None:
        self.left = 0
        """No message is smaller while something is to be decided first."""
        self.each = 0
        self.before = 0
        self.payloads: list[bytes] = []


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
        open_run: OpenRun | None = None,
    ) -> None:
        self._parts = parts
        self._open = OpenRun() if open_run is None else open_run
        self._open.before, self._open.left, self._open.payloads = messages, 0, []
        self._waiting = 0
        self._granted = 0
        self._view = view
        self._rank = rank
        self._room = room - RUN_BYTES
        self._chunk = chunk_bytes(room, width)
        self._attach = attach
        self._stable = stable
        self._open.each = self._each = _part_bytes(width)

    @property
    def parts(self) -> int:
        """Parts so far, those that wait in the run under construction included."""
        return self._parts + len(self._open.payloads)

    @property
    def messages(self) -> int:
        """Messages so far, likewise."""
        return self._open.before + len(self._open.payloads)

    @property
    def waiting(self) -> int:
        """Bytes in the run under construction."""
        return self._waiting + self._granted - self._open.left

    def parts_of(self, size: int) -> int:
        """Return how many parts a message of so many bytes has."""
        if not self._chunk:
            raise StablecastError(
                "a datagram has no room beside what the protocol attaches: it attaches fewer numbers in a"
                " larger group (accepted: no fewer)"
            )
        return 1 if size <= self._chunk else -(-size // self._chunk)

    def grant(self, room: int) -> None:
        """Let messages be put into the run without a call, as far as it and ``room`` bytes elsewhere go."""
        run = self._open
        self._waiting, self._granted = self.waiting, 0
        most = (RUN_MESSAGES - len(run.payloads)) * self._each
        run.left = self._granted = max(min(self._room - self._waiting, room, most) - self._each + 1, 0)

    def add(self, payload: bytes, now: float) -> list[Run]:
        """Number a message; return the runs that are complete now, in order."""
        self.grant(0)
        if len(payload) > self._chunk:
            return [*self.flush(now), *self._split(payload, now)]
        run, size = self._open, len(payload) + self._each
        is_full = self._waiting + size > self._room or len(run.payloads) >= RUN_MESSAGES
        runs = self.flush(now) if is_full else []
        run.payloads.append(payload)
        self._waiting += size
        return runs

    def flush(self, now: float) -> list[Run]:
        """Complete the run under construction, if there is one."""
        open_run = self._open
        self._waiting = self._granted = open_run.left = 0
        payloads = open_run.payloads
        if not payloads:
            return []
        first, seq, count = self._parts + 1, open_run.before + 1, len(payloads)
        self._parts += count
        open_run.before += count
        open_run.payloads = []
        attached: list[int] = []
        if self._attach is not None:
            for part in range(first, first + count):
                attached += self._attach(part, now)
        return [Data(self._view, self._rank, first, seq, payloads, attached, self._stable())]

    def _split(self, payload: bytes, now: float) -> list[Run]:
        chunks = [payload[at : at + self._chunk] for at in range(0, len(payload), self._chunk)]
        self._open.before += 1
        seq, count, stable = self._open.before, len(chunks), self._stable()
        runs: list[Run] = []
        for index, chunk in enumerate(chunks):
            self._parts += 1
            attached = [] if self._attach is None else self._attach(self._parts, now)
            runs.append(
                Fragment(self._view, self._rank, self._parts, seq, index, count, chunk, attached, stable)
            )
        return runs
