"""Numbers and times that are written as text, one at a time and exactly.

What is regular is converted a column at a time in :mod:`~stablecast.analysis.reading.values` and
:mod:`~stablecast.analysis.reading.times`; the functions here are the rule, and take what is left, each
different text once.  A number has at most 38 digits before its point and is rounded to 18 after it, so a
text, a decimal and a number of JSON with the same digits are the same number.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from zoneinfo import ZoneInfo

LONGEST = 2**63
DIGITS_AFTER = 18
DIGITS_BEFORE = 20
MICROS = {"ns": Decimal("0.001"), "us": Decimal(1), "ms": Decimal(1_000), "s": Decimal(1_000_000)}
"""Microseconds in each unit."""
BLANKS = "".join(map(chr, range(0x21))) + "\x7f"
"""What may stand before and after a number."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?")
"""Digits of any script: Arabic ones are as good as others."""
_MOMENT = re.compile(
    r"(?P<year>[+-]?[0-9]{4,6})-(?P<month>[0-9]{1,2})"
    r"(-(?P<day>[0-9]{1,2})([T ](?P<hour>[0-9]{1,2})(:(?P<minute>[0-9]{1,2})"
    r"(:(?P<second>[0-9]{1,2})(\.(?P<fraction>[0-9]*))?)?)? ?(?P<zone>[A-Za-z+-][\w+:/-]*)?)?)?"
)
_OFFSET = re.compile(
    r"(UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>[0-9]{1,2})(:?(?P<minutes>[0-9]{1,2})(:?(?P<seconds>[0-9]{2}))?)?"
)
_CONTEXT = Context(prec=80)
_STEP = Decimal(1).scaleb(-DIGITS_AFTER)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MOST_HOURS = 18


def number_of_text(text: str) -> Decimal | None:
    """Return the number that a text is, or None."""
    text = text.strip(BLANKS)
    return rounded(Decimal(text)) if _NUMBER.fullmatch(text) else None


def rounded(number: Decimal) -> Decimal | None:
    """Return a number as exactly as all are kept; None for what is too large, or no number."""
    if not number.is_finite() or (number and number.adjusted() >= DIGITS_BEFORE):
        return None
    if number and number.adjusted() < -DIGITS_AFTER - 1:
        return Decimal(0)
    return number.quantize(_STEP, rounding=ROUND_HALF_UP, context=_CONTEXT)


def whole(number: Decimal | None) -> int | None:
    """Return a number that is whole and fits into 64 bits."""
    if number is None or number != number.to_integral_value(context=_CONTEXT):
        return None
    return _long(int(number))


def micros(number: Decimal | None, unit: str) -> int | None:
    """Return microseconds, rounded down."""
    if number is None:
        return None
    exact = _CONTEXT.multiply(number, MICROS[unit])
    return _long(int(exact.to_integral_value(rounding=ROUND_FLOOR, context=_CONTEXT)))


def moment(text: str) -> int | None:
    """Return microseconds since 1970 for text such as ``2024-05-01T12:00:00Z``; without a zone it is UTC."""
    found = _MOMENT.fullmatch(text.strip(BLANKS))
    if found is None:
        return None
    days = _days(int(found["year"]), int(found["month"]), int(found["day"] or 1))
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((found["fraction"] or "")[:6].ljust(6, "0"))
    local = (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000 + fraction
    offset = _offset(found["zone"], local)
    return None if offset is None else _long(local - offset * 1_000_000)


def _long(number: int) -> int | None:
    return number if -LONGEST <= number < LONGEST else None


def _days(year: int, month: int, day: int) -> int | None:
    """Return the days since 1970 of a date of the Gregorian calendar, which is carried on backwards."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS[month - 1] - (month == 2 and not leap):
        return None
    # Years that begin in March have their leap day last.
    year -= month < 3
    day_of_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def _offset(zone: str | None, local_us: int) -> int | None:
    """Return the seconds by which a zone is ahead of UTC; None for a zone that nobody knows."""
    if zone in (None, "Z", "UTC", "GMT", "UT"):
        return 0
    assert zone is not None
    if found := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(found[part] or 0) for part in ("hours", "minutes", "seconds"))
        ahead = hours * 3_600 + minutes * 60 + seconds
        if minutes > 59 or seconds > 59 or ahead > _MOST_HOURS * 3_600:
            return None
        return -ahead if found["sign"] == "-" else ahead
    try:
        there = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=local_us)
        offset = there.replace(tzinfo=ZoneInfo(zone)).utcoffset()
    except (KeyError, ValueError, OSError, OverflowError):
        return None
    return None if offset is None else int(offset.total_seconds())
