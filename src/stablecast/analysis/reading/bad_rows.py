"""Say in one line which rows are bad, and show one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stablecast.analysis.reading.classify import Classified
from stablecast.analysis.reading.foreign import KIND
from stablecast.analysis.reading.problems import UNKNOWN_KIND
from stablecast.trace.schema import ALL_KINDS
from stablecast.words import counted

NO_EVENTS = "no events: the files hold no rows"
KNOWN_KINDS = f"known kinds are {', '.join(ALL_KINDS)}, and {KIND} says what others mean"
LEAVE_OUT = "(--on-bad-rows count leaves them out)"
REASONS_SHOWN = 5
TEXT_SHOWN = 160


@dataclass(frozen=True)
class Example:
    """A bad row."""

    file: str
    text: str


@dataclass
class BadRows:
    """All bad rows that were met: how many for which reason, and one of each."""

    problems: dict[str, int] = field(default_factory=dict)
    examples: dict[str, Example] = field(default_factory=dict)

    def add(self, found: Classified) -> None:
        """Take in the bad rows among some rows."""
        for reason, count in found.problems.items():
            self.problems[reason] = self.problems.get(reason, 0) + count
            self.examples.setdefault(reason, Example(found.file, found.examples[reason]))

    def include(self, others: BadRows) -> None:
        """Take in the bad rows that somebody else met."""
        for reason, count in others.problems.items():
            self.problems[reason] = self.problems.get(reason, 0) + count
            self.examples.setdefault(reason, others.examples[reason])


def explain_bad_rows(bad: Mapping[str, int], examples: Mapping[str, Example]) -> str:
    """Return one line about bad rows: how many for which reasons, and a row of the most frequent one.

    Parameters
    ----------
    bad
        How many rows have each problem.
    examples
        A row for each problem, as far as there is one.
    """
    reasons = sorted(bad, key=lambda reason: (-bad[reason], reason))
    told = ", ".join(f"{bad[reason]:,} × {reason}" for reason in reasons[:REASONS_SHOWN])
    if len(reasons) > REASONS_SHOWN:
        told += f", and {counted(len(reasons) - REASONS_SHOWN, 'more reason')}"
    rows = sum(bad.values())
    line = f"{counted(rows, 'row')} {'is' if rows == 1 else 'are'} bad: {told}"
    row = examples.get(reasons[0])
    if row is not None:
        line += f"; for example{_place(row)}: {_short(row.text)}"
    if UNKNOWN_KIND in bad:
        line += f"; {KNOWN_KINDS}"
    return f"{line} {LEAVE_OUT}"


def _short(text: str) -> str:
    """Return a row's text as one line that is not long."""
    words = " ".join(text.split())
    plain = "".join(sign if sign.isprintable() else "\ufffd" for sign in words[:TEXT_SHOWN])
    return plain if len(words) <= TEXT_SHOWN else f"{plain[:-1]}…"


def _place(row: Example) -> str:
    return f" in '{row.file}'" if row.file else ""
