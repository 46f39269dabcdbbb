"""A journal of snapshots, so that a collection killed at any moment goes on without a wrong row.

Theory
    Journal N begins with all that is known of every log, and has a line for each snapshot since: its rows,
    and what changed of what is known.  A line is written with one call and ends with a line break; one
    without is torn, was never relied on, and is cut off.  So what is known is a fold over a journal's lines.
Rotation
    1. Files N of the tables are written from the lines of journal N, each beside its place and renamed.
    2. Journal N + 1 is written beside, with all that is known, and renamed.
    3. Journal N is removed.
    A file N therefore appears at most once with the same rows: it is made from lines that are complete, and
    no line is added to journal N once a file N may be there.
Going on
    After a kill the newest journal counts.  One that is older is left from between 2 and 3: its files are
    there.  If the newest has files already, the kill came between 1 and 2: its files are written again, with
    the same rows, and the rotation is completed.  Otherwise its lines are taken up, and the next snapshot is
    added to them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from stablecast.errors import InvalidInput
from stablecast.holdback.collecting.history import Added, Deletion, Held, Known, Row
from stablecast.holdback.collecting.tables import (
    DELETIONS,
    HELD,
    POSITIONS,
    CannotCollect,
    Rows,
    file_of,
    write,
)

NAME = ".journal-{:06}.jsonl"
JOURNALS = ".journal-[0-9][0-9][0-9][0-9][0-9][0-9].jsonl"
LOCK = ".lock"
TABLES = (POSITIONS, DELETIONS, HELD)


def check_folder(out: Path) -> None:
    """Refuse a folder of something else, before anything is written there."""
    if not out.is_dir() or any(out.glob(JOURNALS)):
        return
    if any(not file.name.startswith((".journal-", LOCK)) for file in out.iterdir()):
        raise InvalidInput(
            f"the folder '{out}' holds something else (accepted: a new or empty folder, or a collection)"
        )


class Journal:
    """The journal of one folder, which belongs to one collection at a time."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.known: dict[str, Known] = {}
        self._lines: list[dict[str, Any]] = []
        self._file = -1
        try:
            check_folder(out)
            out.mkdir(parents=True, exist_ok=True)
            self._take_up()
        except OSError as error:
            raise InvalidInput(f"cannot write to '{out}': {error.strerror or error}") from None

    @property
    def snapshots(self) -> int:
        """How many snapshots wait for the next files."""
        return len(self._lines)

    def close(self) -> None:
        """Let the file go; nothing is written."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def add(self, added: Added) -> None:
        """Add what a snapshot added."""
        if not (added.rows or added.deletions or added.held or added.known):
            return
        known = {key: one and one.plain() for key, one in added.known.items()}
        line = {"rows": added.rows, "deletions": added.deletions, "held": added.held, "known": known}
        self._append(line)
        self._fold(line)
        self._lines.append(json.loads(json.dumps(line)))

    def rotate(self) -> None:
        """Write files of what waits, and begin the next journal."""
        if self._lines:
            write(self.out, self.number, _rows(self._lines))
            self._begin(self.number + 1)

    def _take_up(self) -> None:
        numbers = sorted(int(file.stem.rpartition("-")[2]) for file in self.out.glob(JOURNALS))
        if not numbers:
            self._begin(1)
            return
        self.number = numbers[-1]
        for older in numbers[:-1]:
            self._path(older).unlink()
        for number, line in enumerate(self._read(), 1):
            self._take(number, line)
        self._file = os.open(self._path(self.number), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        if any(file_of(self.out, table, self.number).exists() for table in TABLES):
            self.rotate()

    def _take(self, number: int, data: bytes) -> None:
        try:
            line = json.loads(data)
            self._fold(line)
            if "rows" in line:
                _rows([line])
                self._lines.append(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidInput(
                f"line {number} of '{self._path(self.number)}' is damaged"
                " (accepted: what `stablecast collect` wrote; move the folder away to begin anew)"
            ) from None

    def _read(self) -> Iterator[bytes]:
        """Yield the lines of the journal, and cut off one that is torn."""
        path = self._path(self.number)
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.truncate(path, whole)
        yield from data[:whole].splitlines()

    def _begin(self, number: int) -> None:
        beside = self.out / f".journal-{number:06}.part"
        known = {key: one.plain() for key, one in self.known.items()}
        try:
            with beside.open("wb") as file:
                file.write(_line({"known": known}))
                file.flush()
                os.fsync(file.fileno())
            beside.rename(self._path(number))
            self.close()
            if number > 1:
                self._path(number - 1).unlink(missing_ok=True)
            self._file = os.open(self._path(number), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise CannotCollect(f"cannot write to '{self.out}': {error.strerror or error}") from None
        self.number = number
        self._lines = []

    def _append(self, line: dict[str, Any]) -> None:
        data = _line(line)
        before = os.fstat(self._file).st_size
        try:
            if os.write(self._file, data) < len(data):
                raise OSError(28, "No space left on device")
            os.fdatasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise CannotCollect(f"cannot write to '{self.out}': {error.strerror or error}") from None

    def _fold(self, line: dict[str, Any]) -> None:
        for key, plain in line["known"].items():
            if plain is None:
                self.known.pop(key, None)
            else:
                self.known[key] = Known.of(plain)

    def _path(self, number: int) -> Path:
        return self.out / NAME.format(number)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _rows(lines: Iterable[dict[str, Any]]) -> Rows:
    rows = Rows([], [], [])
    positions, deletions, held = [], [], []
    for line in lines:
        positions += [Row(*row) for row in line["rows"]]
        deletions += [Deletion(*row) for row in line["deletions"]]
        held += [Held(*row) for row in line["held"]]
    return rows._replace(positions=positions, deletions=deletions, held=held)
