"""What can be wrong with a row, in the order in which it is told, and how many rows have it."""

from __future__ import annotations

from stablecast.analysis.reading.foreign import TIME_UNITS, TIMESTAMP, Foreign
from stablecast.analysis.reading.heads import CSV
from stablecast.delivery.kinds import EARLIEST

FARTHEST = 2**60
"""Times, in microseconds, and numbers from here on could not be added up; it is the year 38,000."""
BYTES_MAX = 2**31 - 1
UNKNOWN_KIND = "unknown kind"


def reasons(format: str, foreign: Foreign, first_seq: int | str) -> dict[str, str]:
    """Return the texts of all problems; the first that holds for a row is the one that is told."""
    first = 0 if first_seq == EARLIEST else first_seq
    unit = foreign.time_unit
    time = "a timestamp" if unit == TIMESTAMP else f"a number of {TIME_UNITS[unit]}"
    return {
        "unread": "wrong number of columns" if format == CSV else "not JSON",
        "group": "no group",
        "kind": "no kind",
        "unknown": UNKNOWN_KIND,
        "source": "no source",
        "member": "no member",
        "seq_absent": "no seq",
        "seq": "seq is not a whole number",
        "seq_low": f"seq below {first}",
        "time_absent": "no time_us",
        "time": f"time_us is not {time}",
        "time_far": "time_us is out of range",
        "seq_far": "seq is out of range",
        "bytes": "bytes is not a whole number",
        "bytes_low": "negative bytes",
        "bytes_far": f"bytes above {BYTES_MAX}",
    }
