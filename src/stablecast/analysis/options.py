"""How a trace is to be read and judged."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from stablecast.analysis.reading.events import ON_BAD_ROWS
from stablecast.analysis.reading.foreign import Foreign, check_first_seq
from stablecast.delivery.kinds import FirstSeq
from stablecast.errors import InvalidInput, unknown_name


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a trace is to be read and judged."""

    first_seq: FirstSeq = 1
    """The number that every source begins with, or ``earliest``."""
    foreign: Foreign = field(default_factory=Foreign)
    on_bad_rows: str = "fail"
    """``fail``, or ``count`` to leave them out."""
    format: str | None = None
    """``parquet``, ``json`` or ``csv``, whatever files are called."""
    cumulative: bool = False
    """Whether sends are heads and receipts are positions: each stands for everything up to its number."""
    next_offset: bool = False
    """Whether positions name the next number to be read, as Kafka's commits do."""
    numbers_are_bytes: bool = False
    """Whether numbers count bytes, as positions in PostgreSQL's log do."""

    def __post_init__(self) -> None:
        check_first_seq(self.first_seq)
        if self.on_bad_rows not in ON_BAD_ROWS:
            raise unknown_name("way with bad rows", self.on_bad_rows, ON_BAD_ROWS)

    @property
    def meaning(self) -> dict[str, Any]:
        """Return by name all that says what rows mean: everything but what becomes of bad ones."""
        told = asdict(self)
        del told["on_bad_rows"]
        return {**told.pop("foreign"), **told}


def check_kinds(kinds: set[str]) -> None:
    """Refuse a log that has messages and positions."""
    messages, positions = kinds & {"send", "receive", "stable", "release"}, kinds & {"head", "position"}
    if messages and positions:
        raise InvalidInput(
            f"the log has both '{min(messages)}' and '{min(positions)}' (accepted: messages, which are send,"
            " receive, stable and release, or positions, which are head and position; --kind NAME=- leaves"
            " rows out)"
        )
