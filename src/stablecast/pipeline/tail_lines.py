"""Find where lines end in a file without reading all of it."""

from __future__ import annotations

import os
from pathlib import Path

from stablecast.errors import InvalidInput

LOOK_BYTES = 64 << 10


def last_end(path: Path, floor: int, ceiling: int) -> int:
    """Return the position behind the last line that ends between two positions; else the lower one."""
    file = _open(path)
    try:
        high = ceiling
        while high > floor:
            low = max(floor, high - LOOK_BYTES)
            found = os.pread(file, high - low, low).rfind(b"\n")
            if found >= 0:
                return low + found + 1
            high = low
    finally:
        os.close(file)
    return floor


def first_end(path: Path, begin: int, ceiling: int) -> int:
    """Return the position behind the first line that ends from ``begin`` on; else the upper one."""
    file = _open(path)
    try:
        low = begin
        while low < ceiling:
            looked_at = os.pread(file, min(LOOK_BYTES, ceiling - low), low)
            found = looked_at.find(b"\n")
            if found >= 0:
                return low + found + 1
            if not looked_at:
                break
            low += len(looked_at)
    finally:
        os.close(file)
    return ceiling


def lines_from(path: Path, positions: list[int]) -> list[tuple[int, bytes]]:
    """Return for some positions the line that begins first from there on, and where it does.

    Lines that are too long to be found at one look are left out.
    """
    file = _open(path)
    found = []
    try:
        for position in positions:
            # A line begins here if the one before it has its end just before here.
            look_at = max(position - 1, 0)
            text = os.pread(file, LOOK_BYTES // 16, look_at)
            begin = 0 if position == 0 else text.find(b"\n") + 1
            end = text.find(b"\n", begin)
            if end >= 0 and (begin or position == 0):
                found.append((look_at + begin, text[begin:end]))
    finally:
        os.close(file)
    return found


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidInput(f"cannot read the trace '{path}': {error.strerror or error}") from None
