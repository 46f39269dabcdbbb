"""Numbers and axis labels as people read them."""

from __future__ import annotations

import math
import re
from typing import Any


def show(value: Any) -> str:
    """Return a table's cell as text: thousands separated, six significant digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return show_float(value) if isinstance(value, float) else str(value)


def show_float(value: float) -> str:
    """Return a number without an exponent unless it is tiny or huge."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


def is_number(value: Any) -> bool:
    """Whether a cell is aligned as a number; one without a value does not spoil its column."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def split_label(label: str) -> tuple[str, str]:
    """Return an axis label's quantity and its unit, which stands in brackets or is empty."""
    found = re.fullmatch(r"(.*?)\s*\[([^\]]*)\]\s*", label)
    return (found[1], found[2]) if found else (label, "")
