"""What became of one message at every member."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.causes.chains import chain
from stablecast.causes.coming import COPY, REPAIRED, SENT, UNKNOWN, Coming, coming
from stablecast.causes.deliveries import NEVER, Truth
from stablecast.causes.run import ABSENT, Run
from stablecast.causes.segments import Segment

__all__ = ["COPY", "REPAIRED", "SENT", "UNKNOWN", "Life", "MemberLife", "life", "way_to_last"]


@dataclass(frozen=True)
class MemberLife:
    """One message at one member; times are None where the trace has none."""

    member: str
    required: bool
    """Whether the message had to reach it."""
    received_us: int | None
    known_us: int | None
    """Since when it has known the message to be stable."""
    released_us: int | None
    how: str
    origin: str | None
    """Who transmitted what it received."""


@dataclass(frozen=True)
class Life:
    """One message in the whole group."""

    source: str
    seq: int
    bytes: int | None
    sent_us: int | None
    stable_us: int | None
    """Since when every member that had to receive it has had it; None while one lacks it."""
    last_member: str | None
    """Who had it last (of equals, the smallest name)."""
    members: tuple[MemberLife, ...]
    """In the order of names."""
    way: tuple[Segment, ...]
    """How it came to the last member."""


def life(run: Run, source: str, seq: int) -> Life:
    """Return what became of a message; one line says what there is if there is no such message."""
    place = run.member(source)
    truth = run.deliveries.truth(place, seq)
    sent_row = int(truth.received_row[place])
    size = int(run.rows.size[sent_row])
    released = _released(run, place, seq)
    knowers = run.deliveries.knowers(place, seq)
    members = tuple(
        _at_member(run, truth, member, knowers.get(member, ABSENT), released.get(member, ABSENT))
        for member in range(len(run.members))
        if truth.required[member] or truth.received_row[member] != ABSENT
    )
    return Life(
        source,
        seq,
        None if size == ABSENT else size,
        truth.sent_us,
        None if truth.stable_us == NEVER else truth.stable_us,
        run.members[truth.last],
        members,
        way_to_last(run, truth, sent_row),
    )


def way_to_last(run: Run, truth: Truth, sent_row: int) -> tuple[Segment, ...]:
    """Return how a message came to the member that had it last; nothing if it was gone instead."""
    row = int(truth.received_row[truth.last])
    if row in (ABSENT, sent_row) or run.rows.time_us[row] < truth.sent_us:
        return ()
    return chain(run, row, sent_row).segments


def _at_member(run: Run, truth: Truth, member: int, known: int, released: int) -> MemberLife:
    received = int(truth.received_row[member])
    came = Coming(UNKNOWN, None) if received == ABSENT else coming(run, received)
    return MemberLife(
        run.members[member],
        bool(truth.required[member]),
        _time(run, received),
        _time(run, known),
        _time(run, released),
        came.how,
        came.origin,
    )


def _released(run: Run, source: int, seq: int) -> dict[int, int]:
    rows = run.deliveries.release_rows(source, seq)[::-1].tolist()
    return {int(run.rows.member[row]): row for row in rows}


def _time(run: Run, row: int) -> int | None:
    return None if row == ABSENT else int(run.rows.time_us[row])
