"""Verdicts as aligned text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from stablecast.papers.paper import Evaluation, Judgement, Verdict
from stablecast.report.text import GAP, render

WIDTH = 110
_CLAIM_COLUMNS = ("claim", "verdict", "kind", "paper", "measured", "why")
_VALUE_WIDTH = 22  # a longer value of the paper or of the runs is wrapped


def claims_table(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as a table of at most 110 columns; long cells are wrapped."""
    rows = [_claim_cells(verdict) for verdict in verdicts]
    widths = _claim_widths(rows)
    rule = GAP.join("-" * width for width in widths)
    lines = [line for row in rows for line in _wrapped(row, widths)]
    return "\n".join([*_wrapped(_CLAIM_COLUMNS, widths), rule, *lines])


def matrix_text(evaluation: Evaluation) -> str:
    """Return which claim holds under which reading; the main reading is the first column."""
    judged = [
        verdict
        for verdict in evaluation.verdicts
        if sum(judgement.measurable for judgement in verdict.under.values()) > 1
    ]
    names = [reading.name for reading in evaluation.paper.readings]
    rows = [(each.claim.id, *(mark(each.under[name]) for name in names)) for each in judged]
    return render("Readings (the first is the main one)", ("claim", *names), rows)


def mark(judgement: Judgement) -> str:
    """Return a verdict in a word."""
    if not judgement.measurable:
        return "-"
    return ("holds" if judgement.holds else "missed") + ("?" if judgement.undecided else "")


def _claim_cells(verdict: Verdict) -> tuple[str, ...]:
    claim, judgement = verdict.claim, verdict.judgement
    outcome = ("holds" if judgement.holds else "MISSED") + ("?" if judgement.undecided else "")
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
