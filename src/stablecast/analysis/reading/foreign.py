"""How a log that was not written in the event schema says what the schema says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stablecast.delivery.kinds import EARLIEST
from stablecast.errors import InvalidInput, unknown_name
from stablecast.trace.schema import ALL_KINDS, COLUMNS

MAP, SET, KIND = "--map", "--set", "--kind"
SKIPPED = "-"
"""In place of a kind: rows of such a kind are left out."""
TIME_UNITS = {
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "timestamp": "timestamp",
}
TIMESTAMP = "timestamp"
NUMBERS = ("seq", "time_us", "bytes")
_EXAMPLES = {MAP: "time_us=ts", SET: "group=orders", KIND: "produce=send"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Foreign:
    """Where the schema's columns are in a log, and how it writes kinds and times."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Column of the schema -> column of the log; dots reach into objects."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Column of the schema -> the one value that all rows have; times in microseconds."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kind in the log -> kind of the schema, or ``-`` to leave such rows out; others stay as they are."""
    time_unit: str = "us"
    """Of numbers; a column of timestamps needs none, and ``timestamp`` is for such that are text."""

    def __post_init__(self) -> None:
        for option, given in ((MAP, self.columns), (SET, self.constants), (KIND, self.kinds)):
            for key, value in given.items():
                _check_pair(option, key, value)
        for column in self.columns:
            if column in self.constants:
                raise InvalidInput(f"column '{column}' has both {MAP} and {SET} (accepted: one of them)")
        if self.time_unit not in TIME_UNITS:
            raise unknown_name("time unit", self.time_unit, TIME_UNITS)

    def column(self, name: str) -> str:
        """Return the log's column for one of the schema."""
        return self.columns.get(name, name)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Kinds of the log whose rows are left out."""
        return tuple(kind for kind, meaning in self.kinds.items() if meaning == SKIPPED)


def parse_pairs(words: Iterable[str], option: str) -> dict[str, str]:
    """Turn the ``a=b`` words of ``--map``, ``--set`` or ``--kind`` into a dictionary."""
    pairs: dict[str, str] = {}
    for word in words:
        # A kind may be any text, with signs of equality in it; what it means never is.
        key, equals, value = word.rpartition("=") if option == KIND else word.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key or not value:
            raise InvalidInput(f"{option} '{word}' is not accepted (accepted: {_form(option)})")
        _check_pair(option, key, value)
        if pairs.setdefault(key, value) != value:
            raise InvalidInput(
                f"{option} says both '{key}={pairs[key]}' and '{key}={value}' (accepted: one of them)"
            )
    return pairs


def check_first_seq(first_seq: int | str) -> None:
    """Refuse a first number that is neither a number nor ``earliest``."""
    if first_seq != EARLIEST and (not isinstance(first_seq, int) or first_seq < 0):
        raise InvalidInput(f"first number '{first_seq}' (accepted: a whole number from 0, or '{EARLIEST}')")


def _form(option: str) -> str:
    meaning = {MAP: "COLUMN=NAME", SET: "COLUMN=VALUE", KIND: "VALUE=KIND"}[option]
    return f"{meaning}, such as {_EXAMPLES[option]}"


def _check_pair(option: str, key: str, value: str) -> None:
    if option == KIND:
        if value != SKIPPED and value not in ALL_KINDS:
            raise unknown_name("kind", value, (*ALL_KINDS, SKIPPED))
        return
    if key not in COLUMNS:
        raise unknown_name(f"column of the schema in {option}", key, COLUMNS)
    if option == SET:
        _check_constant(key, value)


def _check_constant(column: str, value: str) -> None:
    if column == "kind" and value not in ALL_KINDS:
        raise unknown_name("kind", value, ALL_KINDS)
    if column in NUMBERS and not _WHOLE.fullmatch(value):
        raise InvalidInput(f"{SET} {column}={value}: '{value}' is not a whole number")
    if column == "bytes" and not 0 <= int(value) < 2**31:
        raise InvalidInput(f"{SET} {column}={value} is not accepted (accepted: from 0 to {2**31 - 1})")
