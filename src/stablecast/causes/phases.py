"""A critical path in three phases, for an answer in a sentence or two."""

from __future__ import annotations

from dataclasses import dataclass

HAD, BEGUN, COUNTED = "had", "begun", "counted"
PHASES = (HAD, BEGUN, COUNTED)
"""Until everyone had the message; until the execution that counted it had begun; that execution."""


@dataclass(frozen=True)
class Phase:
    """A stretch of a critical path; the three of a path sum exactly to it, and each may be empty."""

    name: str
    begin_us: int
    end_us: int
    text: str
    """A sentence or two for a person, without its number."""

    @property
    def length_us(self) -> int:
        """How long it took."""
        return self.end_us - self.begin_us
