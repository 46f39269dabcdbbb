"""Tables as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from stablecast.report.numbers import is_number, show

if TYPE_CHECKING:
    from stablecast.pipeline.experiments.paper import Verdict

WIDTH = 110
GAP = "  "
_CLAIM_COLUMNS = ("claim", "verdict", "kind", "paper", "measured", "why")
_VALUE_WIDTH = 22  # a longer value of the paper or of the runs is wrapped


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


def claims_table(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as a table of at most 110 columns; long cells are wrapped."""
    rows = [_claim_cells(verdict) for verdict in verdicts]
    widths = _claim_widths(rows)
    rule = GAP.join("-" * width for width in widths)
    lines = [line for row in rows for line in _wrapped(row, widths)]
    return "\n".join([*_wrapped(_CLAIM_COLUMNS, widths), rule, *lines])


def _claim_cells(verdict: Verdict) -> tuple[str, ...]:
    claim, judgement = verdict.claim, verdict.judgement
    outcome = "holds" if judgement.holds else "MISSED"
    return claim.id, outcome, claim.kind, judgement.paper, judgement.measured, judgement.why


def _claim_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    natural = [max(map(len, column)) for column in zip(_CLAIM_COLUMNS, *rows, strict=True)]
    widths = [min(width, _VALUE_WIDTH) for width in natural[:-1]]
    return [*widths, min(natural[-1], WIDTH - sum(widths) - len(GAP) * len(widths))]


def _wrapped(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, widths, strict=True)]
    return [
        GAP.join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
        for parts in zip_longest(*columns, fillvalue="")
    ]
