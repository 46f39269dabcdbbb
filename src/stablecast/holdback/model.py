"""A snapshot of shared logs: for each what was sent, what is kept, and how far each reader is.

Theory
    A log hands out numbers that only rise.  Its *head* is the last one.  A reader's *position* says that the
    reader has everything up to that number and will never ask for it again; it is the papers' array R, with
    one entry for each log.  Sources are careful in one direction only: a position may be too low, never too
    high, so that whatever is called safe to delete is safe.  Where a system tells only what a reader was
    sent, ``unsure`` of the reader says so, and what is called safe is not: ``trim`` refuses the log.
What a source makes sure of
    A log's ``first_seq`` is read no later than its readers' positions, and these no later than its head.  So
    no reader looks as if it were beyond the head, and whoever lacks what ``first_seq`` says is gone really
    lacks it.  Systems that tell all three at once, as Redis and PostgreSQL do, give one moment.
Amounts
    Items and bytes are what the system itself counts, and None where it does not.  What had to be estimated
    says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stablecast.holdback.numbering import Numbering


@dataclass(frozen=True, slots=True)
class Amount:
    """So many items and bytes, as far as they are known."""

    items: int | None = None
    bytes: int | None = None
    estimated: bool = False
    """Not all of it was counted."""

    def less(self, other: Amount) -> Amount:
        """Return what is in this amount and not in a smaller one."""
        return Amount(
            _difference(self.items, other.items),
            _difference(self.bytes, other.bytes),
            self.estimated or other.estimated,
        )


NOTHING = Amount(0, 0)


def _difference(more: int | None, less: int | None) -> int | None:
    return None if more is None or less is None else max(0, more - less)


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of one log, by name, at the time of the snapshot."""

    member: str
    position: int | None
    """It has everything up to this number; None if it has nothing."""
    told: int | None = None
    """The position in the system's own words, where that is lower than what follows from what is kept."""
    exact: bool = True
    """Whether the number after its position is one that it lacks, or its position is the head.  If not, the
    position is right, and the first number that it lacks is not known."""
    behind: Amount = Amount()
    """What is kept above its position."""
    behind_since_us: int | None = None
    """When the first number was sent that it lacks."""
    connected: bool | None = None
    """Whether anybody reads under this name now, if the system tells."""
    seen_us: int | None = None
    """When it was last heard of."""
    never_read: bool = False
    holds: bool = True
    """Whether the system keeps anything for it; a slot that is lost, for example, holds nothing."""
    details: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    """The system's own words about it."""
    key: bytes | None = None
    """Its name as the system has it, where a name may be any bytes."""
    unsure: str | None = None
    """Why it is not known what it has: its position is then what it was sent, and may be too high."""
    in_hand: bool = False
    """Whether it may be at work without being heard of, on entries that it took."""
    lost: bool = False
    """Whether the system itself says, or its counts prove, that numbers went before the reader had them.  A
    slot that is lost holds nothing; its position is the last that is known of it, or None."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much more fits in."""

    left: Amount
    then: str
    """What happens when it is full, as in "the slot is lost"."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast a log grows."""

    items_per_s: float | None = None
    bytes_per_s: float | None = None
    over_s: float = 0.0
    """The time that it is the mean of."""


@dataclass(frozen=True, slots=True)
class Log:
    """One log that several readers share: one source of one group in the words of positions."""

    group: str
    source: str
    head: int
    """The last number that was sent."""
    first_seq: int
    """The first number that is still kept, or head + 1."""
    readers: tuple[Reader, ...]
    numbering: Numbering = Numbering.PLAIN
    kept: Amount = Amount()
    """All that is in it."""
    kept_since_us: int | None = None
    """When the oldest number that is kept was sent."""
    sent: Amount = Amount()
    """All that was ever sent, as far as the system counts it."""
    room: Room | None = None
    rate: Rate | None = None
    """How fast it has grown until now, as the system tells."""
    details: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    key: bytes | None = None
    """The source as the system has it, where a name may be any bytes."""
    untrimmable: str | None = None
    """Why nothing of it is to be trimmed, whatever the frontier."""
    remarks: tuple[str, ...] = ()
    """What has to be known about its frontier, a line each."""

    @property
    def name(self) -> str:
        """What people call it: server, and source."""
        above, slash, last = self.group.rpartition("/")
        same = self.source.startswith(last)
        return f"{above}{slash}{self.source}" if same else f"{self.group}/{self.source}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Logs of one system at one time."""

    server: str
    """Which one, without a password."""
    system: str
    time_us: int
    logs: tuple[Log, ...]
    room: Room | None = None
    """What is left for all logs together, where the system has one limit for all."""
    problems: tuple[str, ...] = ()
    """What could not be read, a line each: the rest of the snapshot is right, and not all."""
    asked: str = ""
    """The address that was asked, with who asks and what part is asked for; without a password."""

    @property
    def scope(self) -> str:
        """What this is a snapshot of: only one of the same scope says that a log is no longer there."""
        return self.asked or self.server
