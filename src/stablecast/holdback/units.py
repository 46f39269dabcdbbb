"""Amounts and times as people write and read them: 10GB, 36 h; sizes are decimal, KiB and so on binary."""

from __future__ import annotations

import re

from stablecast.errors import InvalidInput
from stablecast.holdback.model import Amount

_DECIMAL = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
SIZES = {name.lower(): size for name, size in (_DECIMAL | _BINARY).items()}
TIMES = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
LONGEST_S = 1_000_000
"""Eleven days: the longest time that anything waits; clients count milliseconds in 32 bits."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse_amount(text: str, option: str) -> Amount:
    """Return a limit: ``10GB`` of bytes, ``5000`` of items."""
    found = _NUMBER.fullmatch(text.strip())
    if found and not found[2] and found[1].isdecimal():
        return Amount(items=int(found[1]))
    if found and found[2].lower() in SIZES:
        return Amount(bytes=round(float(found[1]) * SIZES[found[2].lower()]))
    raise InvalidInput(f"{option} '{text}' (accepted: a size such as 10GB, or a number of items)")


def parse_duration(text: str, option: str) -> float:
    """Return seconds: ``90s``, ``5m``, ``1h``, ``7d``."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (found[2].lower() or "s") not in TIMES:
        raise InvalidInput(f"{option} '{text}' (accepted: a time such as 90s, 5m, 1h or 7d)")
    return float(found[1]) * TIMES[found[2].lower() or "s"]


def check_seconds(value: float, option: str) -> None:
    """Refuse a time that cannot be waited for."""
    if not 0 < value <= LONGEST_S:
        raise InvalidInput(f"{option} {value:g} (accepted: seconds above 0, at most {LONGEST_S:,})")


def size_text(size: int) -> str:
    """Return a number of bytes with three figures."""
    for name, unit in reversed(_DECIMAL.items()):
        if size >= unit and unit > 1:
            value = size / unit
            return f"{value:,.0f} {name}" if value >= 100 else f"{value:.3g} {name}"
    return f"{size} B"


def duration_text(seconds: float) -> str:
    """Return a time in its two largest units."""
    whole = max(0, int(seconds + 0.5))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 172_800:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400:,} d {whole % 86_400 // 3600} h"


def amount_text(amount: Amount, *, item: str = "entry", items: str = "entries") -> str:
    """Return an amount, as far as it is known."""
    words = []
    if amount.items is not None:
        words.append(f"{amount.items:,} {item if amount.items == 1 else items}")
    if amount.bytes is not None:
        words.append(size_text(amount.bytes))
    if not words:
        return "an unknown amount"
    return ("about " if amount.estimated else "") + ", ".join(words)
