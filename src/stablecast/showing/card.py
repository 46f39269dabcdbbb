"""A value as a card of HTML: a heading, facts, tables, what to paste.

What is true
    Every text is escaped on its way into the HTML, here and nowhere else: names come from traces, and a
    member may be called ``<script>``.  Cards have no script, and load nothing.
Light and dark
    A card has no colours of its own.  Text has the colour that the notebook gives to text, and rules are made
    of that colour, so both read on whatever background there is.
What can go wrong
    Notebooks that are not trusted, and sites that show notebooks, take the style away.  What is left is a
    heading and plain tables, in the same order.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from stablecast.words import printable

MOST_ROWS = 20
"""Rows of a table that are shown; how many there are beyond is told."""
MOST_LETTERS = 200
"""Of a text in a cell."""
NONE = "–"
STYLE = """
.stablecast-card { color: inherit; font-size: 13px; line-height: 1.45; max-width: 72em; margin: 0.3em 0; }
.stablecast-card .head { font-weight: 600; font-size: 1.1em; overflow-wrap: anywhere; }
.stablecast-card .lead, .stablecast-card .more { opacity: 0.75; margin: 0 0 0.4em; overflow-wrap: anywhere; }
.stablecast-card .scroll { overflow-x: auto; max-width: 100%; margin: 0 0 0.6em; }
.stablecast-card .parts { display: flex; flex-wrap: wrap; gap: 0 2.5em; align-items: flex-start; }
.stablecast-card table { border-collapse: collapse; border: 0; margin: 0; color: inherit; background: none;
  font-size: inherit; }
.stablecast-card caption { text-align: left; font-weight: 600; padding: 0.2em 0; color: inherit;
  caption-side: top; white-space: nowrap; }
.stablecast-card tr { background: none; }
.stablecast-card th, .stablecast-card td { text-align: left; vertical-align: top;
  padding: 0.15em 1.1em 0.15em 0; border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.35);
  color: inherit; background: none; }
.stablecast-card th { font-weight: 600; }
.stablecast-card tbody th { font-weight: 400; opacity: 0.75; }
.stablecast-card .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.stablecast-card pre { color: inherit; background: rgba(128, 128, 128, 0.12); padding: 0.4em 0.6em;
  margin: 0 0 0.5em; overflow-x: auto; border-radius: 4px; font-size: 0.95em; }
"""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with named columns."""

    title: str = ""
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int | None = None
    """How many rows there are, where not all are given."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a value says of itself."""

    title: str
    lead: str = ""
    """A line below the title: what was run, or read."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    pasted: Sequence[str] = ()
    """Code and commands to be pasted."""

    def html(self) -> str:
        """Return the card as HTML."""
        return "\n".join(
            ["<style>", STYLE.strip(), "</style>", '<div class="stablecast-card">', *self._parts(), "</div>"]
        )

    def _parts(self) -> Iterator[str]:
        yield f'<div class="head">{_text(self.title)}</div>'
        if self.lead:
            yield f'<div class="lead">{_text(self.lead)}</div>'
        yield '<div class="parts">'
        if self.facts:
            rows = (_row(name, value) for name, value in self.facts.items())
            yield f'<div class="scroll"><table><tbody>{"".join(rows)}</tbody></table></div>'
        yield from map(_table, self.tables)
        yield "</div>"
        for code in self.pasted:
            yield f"<pre>{_text(code, long=True)}</pre>"


def shown(value: Any) -> str:
    """Return a value as a cell's text: four digits of fractions, thousands separated, a dash for nothing."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, numbers.Integral):
        return f"{int(value):,}"
    if isinstance(value, numbers.Real):
        return _fraction(float(value))
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value)) or NONE
    return str(value)


def _fraction(value: float) -> str:
    if not math.isfinite(value):
        return NONE if math.isnan(value) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _row(name: str, value: Any) -> str:
    return f'<tr><th scope="row">{_text(name)}</th><td class="number">{_text(shown(value))}</td></tr>'


def _table(table: Table) -> str:
    rows = table.rows[:MOST_ROWS]
    total = len(table.rows) if table.total is None else table.total
    names = (f'<th scope="col"{_class(table, k)}>{_text(name)}</th>' for k, name in enumerate(table.columns))
    caption = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    head = f"<thead><tr>{''.join(names)}</tr></thead>"
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    more = f'<div class="more">{total - len(rows):,} more rows</div>' if total > len(rows) else ""
    return f'<div class="scroll"><table>{caption}{head}<tbody>{body}</tbody></table>{more}</div>'


def _class(table: Table, column: int) -> str:
    cells = [row[column] for row in table.rows[:MOST_ROWS] if row[column] is not None]
    return ' class="number"' if cells and all(map(_is_number, cells)) else ""


def _cell(value: Any) -> str:
    of_number = ' class="number"' if _is_number(value) else ""
    return f"<td{of_number}>{_text(shown(value))}</td>"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, numbers.Real) and not isinstance(value, bool))


def _text(text: str, *, long: bool = False) -> str:
    """Return a text as HTML takes it."""
    cut = text if long or len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"
    return escape("\n".join(map(printable, cut.split("\n"))))
