"""From what Redis told of a stream to a log with its readers; the theory is in :mod:`.redis`."""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.holdback.addresses import Address
from stablecast.holdback.model import Amount, Log, Rate, Reader
from stablecast.holdback.numbering import Numbering
from stablecast.holdback.sources.redis_replies import Group, Stream

LONG_AGO_MS, DAY_MS = 978_307_200_000, 86_400_000
"""Names before 2001 are no times."""

Nexts = dict[int, int | None]
"""The first entry from a name on, None if there is none."""
Counts = dict[int, tuple[int, bool] | None]
"""How many entries were counted from a name on, and whether there may be more; None if Redis refused."""
NONE = 0, False


@dataclass(frozen=True)
class Seen:
    """What the first look at a stream told."""

    key: bytes
    stream: Stream
    bytes: int | None


def shown(name: bytes) -> str:
    """Return a name that may be any bytes."""
    return name.decode("utf-8", "backslashreplace")


def _behind(group: Group, one: Seen, stream: Stream, counts: Counts) -> Amount:
    """Return how many entries are kept from the first that a group needs."""
    items, estimated = stream.length, False
    if counts.get(group.needs_from, NONE) is None:
        return Amount()
    if group.needs_from > stream.last:
        items = 0
    elif group.needs_from > stream.first:
        counted, estimated = counts.get(group.needs_from) or NONE
        items = (group.lag or 0) + counted
        if estimated:  # entries that were deleted may still be pending
            items = max(items, (group.lag or 0) + group.pending, _share(group.needs_from, stream))
    size = None if one.bytes is None else one.bytes * min(items, stream.length) // max(1, stream.length)
    return Amount(items, size, estimated)


def _share(name: int, stream: Stream) -> int:
    """Estimate how many entries are from a name on, as if names were spread evenly."""
    return stream.length * (stream.last - name) // (stream.last - stream.first)


def log_of(
    address: Address,
    one: Seen,
    stream: Stream,
    nexts: Nexts,
    counts: Counts,
    now_us: int,
) -> Log:
    """Put together what is known of a stream."""
    name = shown(one.key)
    readers = (_reader(group, one, stream, nexts, counts, now_us) for group in stream.groups)
    return Log(
        group=f"{address.server}/{address.path[0] if address.path else '0'}/{name}",
        source=name,
        head=stream.last,
        first_seq=stream.first,
        readers=tuple(readers),
        numbering=Numbering.STREAM_ID,
        kept=Amount(stream.length, one.bytes if stream.length else 0),
        kept_since_us=time_of(stream.first, now_us) if stream.length else None,
        sent=Amount(stream.added),
        rate=_rate(one, stream, now_us),
        details={
            "length": stream.length,
            "entries-added": stream.added,
            "entries-per-node": stream.length // max(1, stream.nodes),
        },
        key=one.key,
    )


def _reader(
    group: Group,
    one: Seen,
    stream: Stream,
    nexts: Nexts,
    counts: Counts,
    now_us: int,
) -> Reader:
    needs = group.needs_from
    position, exact = _position(group, stream, nexts)
    lacks = position < stream.last and stream.length > 0
    return Reader(
        member=shown(group.name),
        position=position if needs > 1 else None,
        told=needs - 1,
        exact=exact,
        behind=_behind(group, one, stream, counts),
        behind_since_us=time_of(max(position + 1, stream.first), now_us) if lacks else None,
        connected=None if group.consumers else False,
        seen_us=group.seen_us,
        never_read=not group.pending
        and (group.delivered == 0 or not (group.consumers or group.entries_read)),
        key=group.name,
        in_hand=group.pending > 0,
        lost=group.lag is not None and group.lag > stream.length,
        details={
            "last-delivered-id": Numbering.STREAM_ID.text(group.delivered),
            "pending": group.pending,
            "lag": group.lag,
            "entries-read": group.entries_read,
            "consumers": group.consumers,
            "smallest-pending-id": None
            if group.first_pending is None
            else Numbering.STREAM_ID.text(group.first_pending),
        },
    )


def _position(group: Group, stream: Stream, nexts: Nexts) -> tuple[int, bool]:
    """Return a group's position, and whether what it needs next is known."""
    needs = group.needs_from
    if needs > stream.last:
        return stream.last, True
    if stream.length and needs not in nexts:
        return needs - 1, False
    found = nexts.get(needs) if stream.length else None
    if group.first_pending is not None and found != needs:
        return needs - 1, False  # the pending entry is gone
    return stream.last if found is None else found - 1, True


def _rate(one: Seen, stream: Stream, now_us: int) -> Rate | None:
    """Return the mean growth over the time that the stream holds, if its names are times."""
    since = time_of(stream.first, now_us) if stream.length > 1 else None
    if since is None or now_us - since < 1_000_000:
        return None
    over_s = (now_us - since) / 1e6
    return Rate(stream.length / over_s, None if one.bytes is None else one.bytes / over_s, over_s)


def time_of(seq: int, now_us: int) -> int | None:
    """Return the time in an entry's name; None if it makes no sense as one."""
    millis = seq >> 64
    return millis * 1000 if LONG_AGO_MS < millis < now_us // 1000 + DAY_MS else None
