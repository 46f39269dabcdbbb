"""Write a live member's events to a file of JSON lines, one event each.

A member may be killed at any moment, and what it did has to be in its log all the same.  Events are gathered
and written together, in whole lines; a member that flushes its log before it sends a datagram has told, by
the time anyone learns of it, everything that the datagram rests on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import msgspec

from stablecast.errors import InvalidInput, StablecastError
from stablecast.trace.schema import WIRE_COLUMNS
from stablecast.trace.wire_event import WireEvent

FLUSH_EVERY = 1_000
CHANGES = ("join", "leave", "fail")

END = "}\n"
_REST = "".join(f',"{column}":null' for column in WIRE_COLUMNS if column != "step") + END

_encode = msgspec.json.Encoder().encode


class CannotTrace(StablecastError):
    """Events can no longer be written: the disk is full, or failed."""


class EventLog:
    """Appends events to a file, which must be new or empty; closed, it takes no notice of any more.

    Parameters
    ----------
    path
        The file, which appears at once.
    flush_every
        Events that are gathered before they are written; ``flush`` writes them at any time.
    wire
        Whether to write a wire trace (:mod:`stablecast.trace.schema`): a member then tells its datagrams and
        timers too.
    """

    def __init__(self, path: Path | str, *, flush_every: int = FLUSH_EVERY, wire: bool = False) -> None:
        if flush_every < 1:
            raise InvalidInput(f"flush_every of {flush_every} events (accepted: from 1 on)")
        self.path = Path(path)
        self.events = 0
        """How many were noted."""
        self.wire = wire
        self._flush_every = flush_every
        self._lines: list[str] = []
        self._beginnings: dict[tuple[str, str, str, str], str] = {}
        self._end = _end_of_step(None) if wire else END
        self._file = _open_empty(self.path)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def send(self, group: str, member: str, seq: int, time_us: int, size: int) -> None:
        """Note that a member sent a message."""
        begin = self._beginning("send", group, member, member)
        self._add([f'{begin}{seq},"time_us":{time_us},"bytes":{size}{self._end}'])

    def receive(
        self, group: str, member: str, source: str, first_seq: int, sizes: Iterable[int], time_us: int
    ) -> None:
        """Note that a member received messages in a row, given by their sizes."""
        self._add(self._run("receive", group, member, source, first_seq, sizes, time_us))

    def stable(self, group: str, member: str, source: str, seq: int, time_us: int) -> None:
        """Note that a member knows everything of a source up to ``seq`` to be everywhere."""
        begin = self._beginning("stable", group, member, source)
        self._add([f'{begin}{seq},"time_us":{time_us},"bytes":null{self._end}'])

    def release(
        self,
        group: str,
        member: str,
        source: str,
        first: int,
        last: int,
        sizes: Iterable[int] | None,
        time_us: int,
    ) -> None:
        """Note that a member let go of messages in a row; ``sizes`` may be unknown."""
        if sizes is not None:
            self._add(self._run("release", group, member, source, first, sizes, time_us))
            return
        begin = self._beginning("release", group, member, source)
        end = f',"time_us":{time_us},"bytes":null{self._end}'
        self._add([f"{begin}{seq}{end}" for seq in range(first, last + 1)])

    def change(self, group: str, kind: str, member: str, time_us: int) -> None:
        """Note that a member joined, left or failed."""
        if kind not in CHANGES:
            raise InvalidInput(f"a change of kind '{kind}' (accepted: {', '.join(CHANGES)})")
        begin = self._beginning(kind, group, member, "")
        self._add([f'{begin}null,"time_us":{time_us},"bytes":null{self._end}'])

    def step(self, number: int | None) -> None:
        """Note that what follows, up to the next call, happens in this step of its member."""
        if self.wire:
            self._end = _end_of_step(number)

    def wire_event(self, event: WireEvent) -> None:
        """Note that something went over the wire, or that a timer went off; only a wire trace tells it."""
        if self.wire:
            self._add([f"{_encode(event).decode()}\n"])

    def flush(self) -> None:
        """Write what was gathered."""
        if not self._lines or self._file < 0:
            return
        waiting = memoryview("".join(self._lines).encode())
        self._lines.clear()
        written = 0
        try:
            while written < len(waiting):
                written += os.write(self._file, waiting[written:])
        except OSError as error:
            self._take_back(written - bytes(waiting[:written]).rfind(b"\n") - 1)
            raise CannotTrace(f"cannot write the trace '{self.path}': {error.strerror or error}") from None

    def close(self) -> None:
        """Write what was gathered, and take no notice of anything further; may be called again."""
        if self._file < 0:
            return
        try:
            self.flush()
        finally:
            os.close(self._file)
            self._file = -1

    def _take_back(self, count: int) -> None:
        """Let the file end with a whole line, if it is one that can be cut."""
        if count:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, os.fstat(self._file).st_size - count)

    @property
    def closed(self) -> bool:
        """Whether nothing is noted any more."""
        return self._file < 0

    def _run(
        self, kind: str, group: str, member: str, source: str, first: int, sizes: Iterable[int], time_us: int
    ) -> list[str]:
        begin = self._beginning(kind, group, member, source)
        end = f',"time_us":{time_us},"bytes":'
        tail = self._end
        return [f"{begin}{seq}{end}{size}{tail}" for seq, size in enumerate(sizes, first)]

    def _beginning(self, kind: str, group: str, member: str, source: str) -> str:
        """Return a line up to its number; the same few come again and again."""
        found = self._beginnings.get((kind, group, member, source))
        if found is None:
            fields = {"group": group, "kind": kind, "member": member, "source": source or None}
            found = self._beginnings[kind, group, member, source] = f'{_encode(fields).decode()[:-1]},"seq":'
        return found

    def _add(self, lines: list[str]) -> None:
        if self._file < 0:
            return
        self._lines += lines
        self.events += len(lines)
        if len(self._lines) >= self._flush_every:
            self.flush()


def _end_of_step(number: int | None) -> str:
    """Return the end of a line of a wire trace that is about a message or a change."""
    return f',"step":{"null" if number is None else number}{_REST}'


def _open_empty(path: Path) -> int:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise InvalidInput(f"cannot write the trace '{path}': {error.strerror or error}") from None
    if os.fstat(file).st_size:
        os.close(file)
        raise InvalidInput(f"cannot write the trace '{path}': it holds something (accepted: a new file)")
    return file
