"""A result table: what people read, and what is kept as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Report = Callable[[str], None]
"""Called with one line about what is being done."""


@dataclass(frozen=True)
class Table:
    """Rows under headings, with the claims of the papers that they bear on and a verdict on each."""

    key: str
    """A short name, for files."""
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    verdicts: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """For each claim's id: whether it holds, and a sentence why."""
    exact: bool = False
    """Whether a miss is a failure of the run, not only a remark."""

    @property
    def failed(self) -> bool:
        """Whether an exact claim is missed."""
        return self.exact and not all(holds for holds, _ in self.verdicts.values())

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "key": self.key,
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "verdicts": {
                claim: {"holds": holds, "why": why} for claim, (holds, why) in self.verdicts.items()
            },
        }
