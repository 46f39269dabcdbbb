"""Quantities and names of a trace as people read them: ``3.1 ms``, ``4.2 GB·s``, a long name shortened."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from stablecast.report.view import Cell

SECOND, MINUTE, HOUR, DAY = 1e6, 60e6, 3600e6, 86400e6
"""In microseconds, as everything here that is called ``us``."""
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
LONGEST_NAME = 24
EARLIEST_CLOCK, LATEST_CLOCK = 946_684_800_000_000, 4_102_444_800_000_000
"""From 2000 to 2100 in Unix time; other times are counted from something else."""
Pair = tuple[str, str]
"""A group, and a member or source of it."""


@dataclass(frozen=True)
class Unit:
    """What the numbers of an axis are multiples of."""

    name: str
    size: float

    def of(self, value: float) -> float:
        """Return a value in this unit."""
        return value / self.size


def time_unit(us: float) -> Unit:
    """Return the unit in which a time is neither tiny nor huge."""
    steps = ((2e3, "µs", 1.0), (2e6, "ms", 1e3), (180e6, "s", SECOND), (3 * HOUR, "min", MINUTE))
    for limit, name, size in steps:
        if abs(us) < limit:
            return Unit(name, size)
    return Unit("h", HOUR) if abs(us) < 4 * DAY else Unit("days", DAY)


def prefixed_unit(value: float, name: str) -> Unit:
    """Return a unit with the decimal prefix that suits a value: ``GB·s`` for ``B·s``."""
    power = 0
    while abs(value) >= 1000 ** (power + 1) and power < len(PREFIXES) - 1:
        power += 1
    return Unit(PREFIXES[power] + name, float(1000**power))


def duration(us: float) -> str:
    """Return a length of time with three digits: ``3.1 ms``, ``42 s``, ``1.5 h``."""
    steps = ((1e3, "µs", 1.0), (1e6, "ms", 1e3), (120e6, "s", SECOND), (2 * HOUR, "min", MINUTE))
    for limit, name, size in steps:
        # What would be rounded up to the limit is told in the larger unit.
        if abs(us) < limit * 0.9995:
            return f"{digits(us / size)} {name}"
    return f"{digits(us / HOUR)} h" if abs(us) < 2 * DAY else f"{digits(us / DAY)} days"


def digits(value: float) -> str:
    """Return a number with three significant digits, and thousands separated."""
    return f"{float(f'{value:.3g}'):,.10g}"


def prefixed(value: float, name: str) -> str:
    """Return a quantity with three digits and a decimal prefix: ``4.2 GB·s``."""
    unit = prefixed_unit(float(f"{value:.3g}"), name)
    return f"{digits(value / unit.size)} {unit.name}"


def message_time(us: float) -> str:
    """Return messages times how long: ``1,230 message·s``."""
    return f"{digits(us / SECOND)} message·s"


def long_unit(us: float) -> Unit:
    """Return the unit for amounts times how long, in something that lasts so long: s, h or days."""
    if abs(us) < 2 * HOUR:
        return Unit("s", SECOND)
    return Unit("h", HOUR) if abs(us) < 2 * DAY else Unit("days", DAY)


def percent(part: float, whole: float) -> str:
    """Return a share; nearly all is never called 100 %, nor nearly nothing 0 %."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "< 0.1 %"
    if 99.9 < share < 100:
        return "> 99.9 %"
    return f"{digits(share)} %"


def clock(us: int) -> str:
    """Return a moment by its distance from the first event, to the microsecond."""
    sign, rest = ("−" if us < 0 else ""), abs(us)
    seconds, micros = divmod(rest, 1_000_000)
    if seconds < 60:
        return f"{sign}{seconds}.{micros:06d} s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}:{minutes:02d}:{seconds:02d}.{micros:06d}"


def utc(us: int) -> str | None:
    """Return the date and time of a moment in Unix time; None if it cannot be one."""
    if not EARLIEST_CLOCK <= us < LATEST_CLOCK:
        return None
    return datetime.fromtimestamp(us // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clean(name: str) -> str:
    """Return a name without what would break a line or turn its direction."""
    shown = "".join("�" if _breaks(letter) else letter for letter in name)
    return shown if shown.strip() else f"“{shown}”"


def _breaks(letter: str) -> bool:
    kind = unicodedata.category(letter)
    return kind[0] == "C" or kind in ("Zl", "Zp")


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name of at most some letters, with its beginning and its end."""
    whole = clean(name)
    if len(whole) <= longest:
        return whole
    front = (longest - 1) * 2 // 3
    return f"{whole[:front]}…{whole[front + 1 - longest :]}"


def name_cell(name: str | None) -> Cell:
    """Return a name for a table; pointing at it shows the whole."""
    if name is None:
        return Cell("–")
    shown = short(name)
    return Cell(shown, title="" if shown == name else clean(name), unbroken=True)


def names(pairs: Sequence[Pair], *, groups: bool) -> list[str]:
    """Return names of members or sources for a picture, all different, with the group if so wished."""
    given: dict[str, int] = {}
    texts = []
    for group, name in pairs:
        text = f"{short(group, 14)} / {short(name, 18)}" if groups else short(name)
        given[text] = given.get(text, 0) + 1
        texts.append(text if given[text] == 1 else f"{text} ({given[text]})")
    return texts


def listed(texts: Iterable[str], most: int = 5, what: str = "") -> str:
    """Return some words as a list in a sentence: ``a, b and 3 more``, which may be called ``kinds``."""
    words = list(texts)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more {what}".rstrip()]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
