"""Whole lines of a file, or of a range of its bytes, block by block.

A range owns the lines that begin in it, so ranges that cover a file once give each line once, wherever they
are cut: a range that does not begin the file passes over what is left of the line before, and every range
reads on to the end of its last line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BLOCK_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Whole lines."""

    data: bytes
    first: bool = False
    """The file begins with them."""
    last: bool = False
    """The file ends with them; the last one may lack its end."""


def line_blocks(
    stream: Any, start: int = 0, end: int | None = None, *, size: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Yield the lines that begin from ``start`` on and before ``end``."""
    position, data = start, b""
    if start:
        position = _pass_over(stream, start, size)
        if position < 0 or (end is not None and position >= end):
            return
        stream.seek(position)
    first = start == 0
    while chunk := stream.read(size):
        if first and not data and chunk.startswith(BOM):
            chunk, position = chunk[len(BOM) :], position + len(BOM)
        data += chunk
        cut = _cut(data, None if end is None else end - 1 - position)
        if cut:
            yield Block(data[:cut], first=first)
            first, position, data = False, position + cut, data[cut:]
            if end is not None and position >= end:
                return
    if data:
        yield Block(data, first=first, last=True)


def _pass_over(stream: Any, start: int, size: int) -> int:
    """Return where the first line begins that does not begin before ``start``; -1 if none does."""
    position = start - 1
    stream.seek(position)
    while chunk := stream.read(min(size, 1 << 16)):
        found = chunk.find(b"\n")
        if found >= 0:
            return position + int(found) + 1
        position += len(chunk)
    return -1


def _cut(data: bytes, last: int | None) -> int:
    """Return how much of the data are whole lines, up to the one that holds the byte ``last``."""
    if last is not None and last < len(data):
        found = data.find(b"\n", max(last, 0))
        if found >= 0:
            return found + 1
    return max(data.rfind(b"\n"), -1) + 1 or data.rfind(b"\r") + 1
