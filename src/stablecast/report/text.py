"""Tables as aligned text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stablecast.report.numbers import is_number, show

GAP = "  "


def render(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table with a title; numbers are aligned to the right, text to the left."""
    cells = [[show(value) for value in row] for row in rows]
    right = [all(is_number(row[k]) for row in rows) if rows else False for k in range(len(columns))]
    widths = [max([len(name), *(len(row[k]) for row in cells)]) for k, name in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        parts = (
            value.rjust(width) if at_right else value.ljust(width)
            for value, width, at_right in zip(values, widths, right, strict=True)
        )
        return GAP.join(parts).rstrip()

    rule = GAP.join("-" * width for width in widths)
    return "\n".join([title, line(columns), rule, *map(line, cells)])
