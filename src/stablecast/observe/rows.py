"""Rows of traces as they are written: whole lines of files that grow, each read once.

Only what stands before the last line end is read; the rest of a line comes with the next look.  A file that
has become shorter is another one, and is read from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from stablecast.errors import InvalidInput

PIECE_BYTES = 4 << 20
PATTERN = "*.jsonl"


class Row(msgspec.Struct, frozen=True, gc=False):
    """One event of a trace; other columns, as of traces of the wire, are skipped."""

    kind: str
    member: str
    group: str = ""
    source: str | None = None
    seq: int | None = None
    time_us: int = 0
    bytes: int | None = None


class Tail:
    """The traces of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[int, int]] = {}
        """How far each file was read, with its number, which another file of this name would not have."""
        self._decode = msgspec.json.Decoder(Row).decode

    def new_rows(self) -> Iterator[list[Row]]:
        """Yield the rows that were written since the last time, in pieces."""
        files = sorted(self._folder.glob(PATTERN))
        for file in files:
            yield from self._new_rows_of(file)

    @property
    def read_bytes(self) -> int:
        """How much was read so far."""
        return sum(at for at, _ in list(self._read.values()))

    @property
    def files(self) -> int:
        """How many files were found so far."""
        return len(self._read)

    def _new_rows_of(self, file: Path) -> Iterator[list[Row]]:
        try:
            with file.open("rb") as opened:
                status = os.fstat(opened.fileno())
                at, number = self._read.get(file, (0, status.st_ino))
                if number != status.st_ino or status.st_size < at:
                    at = 0
                opened.seek(at)
                while True:
                    piece = opened.read(PIECE_BYTES)
                    end = piece.rfind(b"\n") + 1
                    self._read[file] = (at, status.st_ino)
                    if not end:
                        return
                    yield self._rows(piece[:end], file, at)
                    at += end
                    opened.seek(at)
                    self._read[file] = (at, status.st_ino)
        except OSError as error:
            raise InvalidInput(f"cannot read '{file}': {error.strerror or error}") from None

    def _rows(self, piece: bytes, file: Path, at: int) -> list[Row]:
        decode = self._decode
        try:
            return [decode(line) for line in piece.splitlines() if line]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = f"'{file}', after byte {at:,}: no event of a trace: {error}"
            raise InvalidInput(f"{why} (accepted: JSON lines as --trace writes them)") from None
