"""Follow a folder of traces that grow, by positions behind whole lines; nothing of Spark is in here.

A position is a number of bytes from a file's beginning and lies behind the end of a line.  Traces are only
ever appended to, so what lies between two positions is the same whenever it is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stablecast.errors import InvalidInput
from stablecast.pipeline.tail_limits import Backlog, share
from stablecast.pipeline.tail_lines import first_end, last_end

Positions = dict[str, int]
"""For each file's name, the position up to which it is read."""

ENDING = ".jsonl"
LINE_MOST = 1 << 20
"""Bytes after which what has no end cannot be a line that is still being written."""
PIECE_BYTES = 16 << 20
"""About as much as one task reads."""


@dataclass(frozen=True)
class Piece:
    """Whole lines of one file."""

    path: str
    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.end - self.begin


class Tail:
    """Tells how far the traces in a folder reach.

    Parameters
    ----------
    folder
        Where the files are; new ones may appear at any time, and all may grow.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._looked_at: dict[str, tuple[int, int]] = {}

    def ends(self) -> Positions:
        """Return for each file the position behind its last whole line."""
        looked_at = {name: self._look(name, size) for name, size in sorted(self._sizes())}
        self._looked_at = looked_at
        return {name: end for name, (_, end) in looked_at.items()}

    def latest(
        self, start: Positions, *, bytes_most: int | None = None, target: Positions | None = None
    ) -> Positions:
        """Return up to where to read next.

        Parameters
        ----------
        start
            Up to where was read before.
        bytes_most
            The most to read at once, though at least one line; files then advance together in time.
        target
            Where to stop, in place of the present ends of all files.
        """
        ends = self.ends()
        check_grown(self.folder, start, ends)
        if target is not None:
            ends = {name: min(end, target.get(name, 0)) for name, end in ends.items()}
        backlog = {
            name: Backlog(self.folder / name, start.get(name, 0), end)
            for name, end in ends.items()
            if end > start.get(name, 0)
        }
        if bytes_most is None or sum(one.size for one in backlog.values()) <= bytes_most:
            reached = {name: one.end for name, one in backlog.items()}
        else:
            reached = share(backlog, bytes_most)
        return dict(sorted((start | reached).items()))

    def pieces(self, start: Positions, end: Positions, *, most: int = PIECE_BYTES) -> list[list[Piece]]:
        """Divide what lies between two positions for tasks: large files are cut, small ones go together."""
        check_grown(self.folder, start, end)
        tasks: list[list[Piece]] = []
        room = 0
        for piece in self._cut(start, end, most):
            if not tasks or piece.size > room:
                tasks.append([])
                room = most
            tasks[-1].append(piece)
            room -= piece.size
        return tasks

    def _cut(self, start: Positions, end: Positions, most: int) -> Iterator[Piece]:
        for name, last in sorted(end.items()):
            path, begin = self.folder / name, start.get(name, 0)
            while begin < last:
                reached = last if last - begin <= most else first_end(path, begin + most - 1, last)
                yield Piece(str(path), begin, reached)
                begin = reached

    def _sizes(self) -> Iterator[tuple[str, int]]:
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name.endswith(ENDING) and not entry.name.startswith("."):
                        try:
                            status = entry.stat()
                        except FileNotFoundError:  # removed while the folder was being read
                            continue
                        if stat.S_ISREG(status.st_mode):
                            yield entry.name, status.st_size
        except OSError as error:
            reason = error.strerror or error
            raise InvalidInput(f"cannot read the folder of traces '{self.folder}': {reason}") from None

    def _look(self, name: str, size: int) -> tuple[int, int]:
        """Return a file's size and last whole line's end; one whose size is known is not opened."""
        known = self._looked_at.get(name, (0, 0))
        if known[0] == size:
            return known
        floor = known[1] if known[1] <= size else 0
        end = last_end(self.folder / name, floor, size)
        if size - end > LINE_MOST:
            raise InvalidInput(
                f"the trace '{self.folder / name}' has no end of a line within {size - end} bytes "
                f"from byte {end} on (accepted: JSON lines of up to {LINE_MOST} bytes)"
            )
        return size, end


def check_grown(folder: Path, start: Positions, ends: Positions) -> None:
    """Refuse files that have vanished or become shorter since they were read."""
    for name, begin in start.items():
        if name not in ends:
            raise InvalidInput(
                f"the trace '{folder / name}' has vanished, of which {begin} bytes were read "
                "(accepted: files that stay and grow)"
            )
        if ends[name] < begin:
            raise InvalidInput(
                f"the trace '{folder / name}' was truncated or replaced: {begin} bytes of it were read, "
                f"and {ends[name]} are there (accepted: files that stay and grow)"
            )
