"""How fast logs grow, and when they are full at that rate.

Theory
    Two snapshots give a rate: what was sent between them, by the system's own count, over the time between.
    A system that counts items only is taken to have items of the same mean size as those that are kept.  One
    snapshot gives what the system itself tells: the mean over the time for which it keeps entries, or since
    its statistics were reset.  ``over_s`` says which time that is.
    The time until full is the room divided by the rate.  It assumes that nothing is deleted meanwhile, which
    is so while a blocker holds the log, and a rate that stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stablecast.holdback.model import Amount, Log, Rate, Room, Snapshot

SHORTEST_S = 0.5
"""Two snapshots that are closer together say nothing about the rate."""
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Full:
    """When there is no more room."""

    in_s: float
    over_s: float
    """The time that the rate is the mean of."""
    then: str


def key_of(snapshot: Snapshot, log: Log) -> Key:
    """Return what a log is found by in another snapshot."""
    return snapshot.scope, log.group, log.source


def rate_between(before: Log, after: Log, seconds: float) -> Rate | None:
    """Return the rate between two snapshots of a log; None if they do not tell."""
    if seconds < SHORTEST_S:
        return None
    items = _per_second(before.sent.items, after.sent.items, seconds)
    size = _per_second(before.sent.bytes, after.sent.bytes, seconds)
    if size is None and items is not None and after.kept.bytes is not None and after.kept.items:
        size = items * after.kept.bytes / after.kept.items
    return None if items is None and size is None else Rate(items, size, seconds)


def _per_second(before: int | None, after: int | None, seconds: float) -> float | None:
    return None if before is None or after is None or after < before else (after - before) / seconds


def rates_of(snapshot: Snapshot, before: Snapshot | None) -> Mapping[Key, Rate]:
    """Return the rates of a snapshot's logs, between two snapshots where there is one before."""
    earlier = {} if before is None else {key_of(before, log): log for log in before.logs}
    seconds = 0.0 if before is None else (snapshot.time_us - before.time_us) / 1e6
    rates = {}
    for log in snapshot.logs:
        key = key_of(snapshot, log)
        rate = rate_between(earlier[key], log, seconds) if key in earlier else None
        if rate := rate or log.rate:
            rates[key] = rate
    return rates


def full(room: Room | None, rate: Rate | None) -> Full | None:
    """Return when a room is used up; None if that is not known, or never at this rate."""
    if room is None or rate is None:
        return None
    times = [
        left / speed
        for left, speed in (
            (room.left.items, rate.items_per_s),
            (room.left.bytes, rate.bytes_per_s),
        )
        if left is not None and speed
    ]
    return Full(min(times), rate.over_s, room.then) if times else None


def sum_of(rates: Iterable[Rate]) -> Rate | None:
    """Return the rate of logs together."""
    some = list(rates)
    if not some:
        return None
    items = sum(rate.items_per_s or 0.0 for rate in some)
    size = sum(rate.bytes_per_s or 0.0 for rate in some)
    return Rate(items, size, max(rate.over_s for rate in some))


def amount_sum(amounts: Iterable[Amount]) -> Amount:
    """Return amounts together; what is known of none of them is not known."""
    some = list(amounts)
    items = [one.items for one in some if one.items is not None]
    size = [one.bytes for one in some if one.bytes is not None]
    whole = len(some)
    return Amount(
        sum(items) if items or not whole else None,
        sum(size) if size or not whole else None,
        any(one.estimated for one in some) or 0 < len(items) < whole or 0 < len(size) < whole,
    )
