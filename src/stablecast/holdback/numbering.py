"""How a system writes its numbers, and how they become the numbers of positions.

Theory
    A position is one number, and all that counts is the order.  Kafka's offsets and JetStream's sequence
    numbers are such numbers.  PostgreSQL's are bytes of its log, written as two words.  A Redis stream names
    entries by two numbers of 64 bits, a time in milliseconds and a counter.  Within a snapshot that is
    ``time << 64 | counter``, which keeps the order of every name that there can be.
The numbers of files
    Files of positions have numbers below 2^60.  There a name of a Redis stream is ``time << 18 | counter``,
    which holds times up to the year 2109 and 262,143 entries in one millisecond.  What the server names
    itself is well within that.  An application that chooses names of its own may leave it; then ``narrow``
    gives None, and the caller says so.  A number that was cut off would be a wrong position.
"""

from __future__ import annotations

from enum import Enum

WIDE_BITS, NARROW_BITS = 64, 18
LARGEST = (1 << 60) - 1
"""The largest number that files of positions hold."""


class Numbering(Enum):
    """How one system writes its numbers."""

    PLAIN = "number"
    OFFSET = "next offset"
    """Kafka's; the position that is written 20 has the offsets below 20."""
    BYTE = "byte"
    """A byte of PostgreSQL's log; the position that is written ``0/10`` has the first 16 bytes."""
    STREAM_ID = "stream id"
    """An entry of a Redis stream."""

    def text(self, seq: int) -> str:
        """Return a number as the system itself writes it."""
        if self is Numbering.BYTE:
            return f"{seq >> 32:X}/{seq & 0xFFFFFFFF:X}"
        if self is Numbering.STREAM_ID:
            return f"{seq >> WIDE_BITS}-{seq & ((1 << WIDE_BITS) - 1)}"
        return str(seq)

    def up_to(self, seq: int) -> str:
        """Return in words what is up to a number, that one included."""
        if self is Numbering.OFFSET:
            return f"before offset {seq}"
        if self is Numbering.BYTE:
            return f"before {self.text(seq)}"
        if self is Numbering.STREAM_ID and (seq + 1) & ((1 << WIDE_BITS) - 1) == 0:
            return f"before {self.text(seq + 1)}"
        return f"up to {self.text(seq)}"

    def narrow(self, seq: int) -> int | None:
        """Return a number as files of positions have it; None if it has no place there."""
        if self is Numbering.STREAM_ID:
            time, counter = seq >> WIDE_BITS, seq & ((1 << WIDE_BITS) - 1)
            if counter == (1 << WIDE_BITS) - 1 and time < 1 << (60 - NARROW_BITS):
                # Just before the first entry of a millisecond: no entry of the one before has this name.
                return (time << NARROW_BITS) | ((1 << NARROW_BITS) - 1)
            if counter >= (1 << NARROW_BITS) - 1:
                return None
            seq = (time << NARROW_BITS) | counter
        return seq if 0 <= seq <= LARGEST else None

    def widen(self, seq: int) -> int:
        """Return a number that `narrow` gave as it was."""
        if self is not Numbering.STREAM_ID:
            return seq
        time, counter = seq >> NARROW_BITS, seq & ((1 << NARROW_BITS) - 1)
        if counter == (1 << NARROW_BITS) - 1:
            counter = (1 << WIDE_BITS) - 1
        return (time << WIDE_BITS) | counter

    @classmethod
    def of_group(cls, group: str) -> Numbering:
        """Return the numbering of a group of a collection, whose name begins with its server's address."""
        return _OF_SCHEME.get(group.partition("://")[0], cls.PLAIN)


_OF_SCHEME = {
    "redis": Numbering.STREAM_ID,
    "rediss": Numbering.STREAM_ID,
    "postgres": Numbering.BYTE,
    "postgresql": Numbering.BYTE,
    "kafka": Numbering.OFFSET,
}


def parse_stream_id(text: str) -> int:
    """Return the number of a Redis stream's entry."""
    time, _, counter = text.partition("-")
    return (int(time) << WIDE_BITS) | int(counter or 0)


def parse_lsn(text: str) -> int:
    """Return how many bytes of PostgreSQL's log are before a position."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)
