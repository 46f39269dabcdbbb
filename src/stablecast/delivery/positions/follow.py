"""Heads and positions followed through time: what is stable, for whom the rest waits, and what that costs.

Theory
    ``head`` says that a source has sent everything up to a number, ``position`` that a reader has everything
    of a source up to a number.  Both are cumulative: a row that goes back or repeats adds nothing.  Number q
    was sent at the first head of q or more.  It has to reach the members that joined at or before that time
    and were not gone by then, and it is stable once each of them has a position of q or more, or is gone.
    Positions belong to names: a member that comes back has what it had.

    A member that joined at time s need not receive what was sent before s.  At any time it therefore lacks
    exactly the numbers above b = max(its position, the head just before s) that were sent.  The first number
    that is sent and not stable is the first that any current member lacks.  So the stable prefix ends at

        F = min(head, min of b over the current members),

    and no number has to be looked at.  F never goes back: who joins begins at the head just before, and the
    prefix ends there at the latest.
One time
    All rows of one time act together.  The kernel raises the head first, then positions, then lets members
    go and come: a reader that joins at the time of a head must receive it, one that leaves at that time need
    not.  Between two times that is true which holds after all rows of the former.
Who holds back
    The numbers between the least b and the second least, as far as they were sent, are lacked by one member
    alone.  Nobody else lacks anything alone: what any other member lacks, the slowest lacks too.  The sum
    over time of these numbers can exceed 64 bits, and is kept in two limbs of 62.
Since when a member is behind
    Heads only rise, so a member that had everything has been behind since the first head above its b.  That
    head is looked up when the member moves, and at the end: a head costs no more for a thousand readers than
    for one.
What it costs
    A row costs about log2(readers) steps, and so does a beginning or an end of a stay for each source of
    the group.  How many numbers there are is of no consequence.
What can go wrong
    Numbers or times beyond 2^60 would overflow; they are refused where rows are read.  A reader that is the
    source itself, and has no position of its own numbers, is not waited for: it has what it sends.
"""

from __future__ import annotations

from stablecast.compiling import inlined, kernel
from stablecast.delivery.columns import Longs
from stablecast.delivery.kinds import EVER
from stablecast.delivery.positions.arrays import (
    BEYOND,
    FRONTIERS,
    LIMB_BITS,
    NO_NUMBER,
    READERS,
    WAITING_NAMES,
    Found,
    Reading,
    Sources,
)
from stablecast.delivery.positions.readers import NOBODY, Readers
from stablecast.delivery.positions.slowest import (
    ABSENT,
    begin_without_readers,
    change_reached,
    second_reached,
    slowest_reader,
)

HALF_BITS = LIMB_BITS // 2
LIMB = (1 << LIMB_BITS) - 1
HALF = (1 << HALF_BITS) - 1


@kernel
def follow(sources: Sources, readers: Readers, reading: Reading, found: Found) -> None:
    """Follow every source from its first row to the last time of its group, and write what was found."""
    for source in range(sources.group.size):
        _follow_source(source, sources, readers, reading, found)


@kernel
def _follow_source(source: int, sources: Sources, readers: Readers, reading: Reading, found: Found) -> None:
    group = sources.group[source]
    first_reader = readers.first_reader[group]
    n = readers.first_reader[group + 1] - first_reader
    _begin(reading, n)
    row, rows_end = sources.first_row[source], sources.first_row[source + 1]
    change, changes_end = readers.first_change[group], readers.first_change[group + 1]
    head = stable = sources.first[source] - 1
    heads, now, stable_us = 0, EVER, EVER
    while row < rows_end or change < changes_end:
        then = _next_time(sources, row, rows_end, readers, change, changes_end)
        blocker = NOBODY
        if stable < head:
            blocker = slowest_reader(reading.reached, reading.winner, n)
            _credit_alone(reading, n, head, then - now)
        now, head_before = then, head
        row_end, head = _raised_head(source, sources, row, rows_end, now, head)
        if head > head_before:
            reading.head_seq[heads], reading.head_us[heads] = head, now
            heads += 1
        for k in range(row, row_end):
            if sources.reader[k] != NOBODY:
                reader = sources.reader[k] - first_reader
                seq = sources.seq[k]
                if seq > reading.position[reader]:
                    _note_beyond(source, sources, reading, found, k, reader, head)
                    _take_position(reading, n, reader, seq, head, heads)
        row = row_end
        while change < changes_end and readers.change_us[change] == now:
            if readers.changed[change] != sources.unasked[source]:
                begins = readers.begins[change] != 0
                _take_change(reading, n, readers.changed[change] - first_reader, begins, head_before)
            change += 1
        prefix = _prefix(reading, n, head)
        if prefix > stable:
            _note_frontier(source, first_reader, found, head, prefix, blocker, now)
            if blocker != NOBODY:
                reading.completed[blocker] += prefix - stable
            stable, stable_us = prefix, now
    if stable < head:
        _credit_alone(reading, n, head, readers.last_us[group] - now)
    _note_source(source, first_reader, n, reading, found, head, heads, stable, stable_us)
    _note_readers(source, readers, first_reader, n, reading, found, head, heads, stable)


@kernel
def _begin(reading: Reading, n: int) -> None:
    """Forget the source before."""
    begin_without_readers(reading.reached, reading.winner, n)
    for k in range(n):
        reading.position[k] = NO_NUMBER
        reading.behind_us[k] = EVER
        reading.alone_us[k] = reading.alone_low[k] = reading.alone_high[k] = 0
        reading.completed[k] = 0
        reading.beyond[k] = -1


@inlined
def _next_time(
    sources: Sources, row: int, rows_end: int, readers: Readers, change: int, changes_end: int
) -> int:
    """Return the time of the next row or change, of which there is one at least."""
    if row == rows_end:
        return int(readers.change_us[change])
    if change == changes_end:
        return int(sources.time_us[row])
    return int(min(sources.time_us[row], readers.change_us[change]))


@inlined
def _raised_head(
    source: int, sources: Sources, row: int, rows_end: int, now: int, head: int
) -> tuple[int, int]:
    """Return where the rows of this time end, and the head after them."""
    while row < rows_end and sources.time_us[row] == now:
        if sources.reader[row] == NOBODY or sources.has_heads[source] == 0:
            head = max(head, sources.seq[row])
        row += 1
    return row, head


@inlined
def _prefix(reading: Reading, n: int, head: int) -> int:
    """Return where the stable prefix ends."""
    slowest = slowest_reader(reading.reached, reading.winner, n)
    return head if slowest == NOBODY else int(min(head, reading.reached[slowest]))


@kernel
def _credit_alone(reading: Reading, n: int, head: int, passed_us: int) -> None:
    """Charge the slowest reader with what it alone kept from being stable for so long."""
    slowest = reading.winner[1]
    numbers = min(head, second_reached(reading.reached, reading.winner, n)) - reading.reached[slowest]
    if numbers > 0:
        reading.alone_us[slowest] += passed_us
        _add_product(reading.alone_low, reading.alone_high, slowest, numbers, passed_us)


@inlined
def _add_product(low: Longs, high: Longs, k: int, one: int, other: int) -> None:
    """Add the product of two numbers below 2^62 to a sum in two limbs."""
    one_high, one_low = one >> HALF_BITS, one & HALF
    other_high, other_low = other >> HALF_BITS, other & HALF
    middle = one_high * other_low + one_low * other_high
    part = low[k] + ((middle & HALF) << HALF_BITS)
    carry = part >> LIMB_BITS
    part = (part & LIMB) + one_low * other_low
    carry += part >> LIMB_BITS
    low[k] = part & LIMB
    high[k] += one_high * other_high + (middle >> HALF_BITS) + carry


@kernel
def _take_position(reading: Reading, n: int, reader: int, seq: int, head: int, heads: int) -> None:
    """Raise the position of a reader, which may be in the group or not."""
    reading.position[reader] = seq
    before = reading.reached[reader]
    if before == ABSENT or seq <= before:
        return
    if reading.behind_us[reader] == EVER and before < head:
        reading.behind_us[reader] = _sent_us(reading, heads, before + 1)
    if seq >= head:
        reading.behind_us[reader] = EVER
    change_reached(reading.reached, reading.winner, n, reader, seq)


@kernel
def _take_change(reading: Reading, n: int, reader: int, begins: bool, head_before: int) -> None:
    """Let a reader come, who need not receive what was sent before; or let it go."""
    reading.behind_us[reader] = EVER
    reached = max(reading.position[reader], head_before) if begins else ABSENT
    change_reached(reading.reached, reading.winner, n, reader, reached)


@kernel
def _sent_us(reading: Reading, heads: int, seq: int) -> int:
    """Return when a number was sent: the time of the first of so many heads that reaches it."""
    low, high = 0, heads - 1
    while low < high:
        middle = (low + high) // 2
        if reading.head_seq[middle] >= seq:
            high = middle
        else:
            low = middle + 1
    return int(reading.head_us[low])


@kernel
def _note_beyond(
    source: int, sources: Sources, reading: Reading, found: Found, row: int, reader: int, head: int
) -> None:
    """Note the first time at which a reader is beyond the head, with the largest position of that time."""
    seq, time_us = sources.seq[row], sources.time_us[row]
    if seq <= head or sources.has_heads[source] == 0:
        return
    place = reading.beyond[reader]
    if place < 0:
        place = found.counts[BEYOND]
        found.counts[BEYOND] += 1
        reading.beyond[reader] = place
    elif found.beyond[place]["time_us"] != time_us:
        return
    into = found.beyond[place]
    into["source"], into["reader"], into["seq"], into["time_us"] = source, sources.reader[row], seq, time_us


@kernel
def _note_frontier(
    source: int,
    first_reader: int,
    found: Found,
    head: int,
    prefix: int,
    blocker: int,
    now: int,
) -> None:
    place = found.counts[FRONTIERS]
    found.counts[FRONTIERS] += 1
    into = found.frontier[place]
    into["source"], into["time_us"], into["sent"], into["stable"] = source, now, head, prefix
    into["blocker"] = NOBODY if blocker == NOBODY else first_reader + blocker


@kernel
def _note_source(
    source: int,
    first_reader: int,
    n: int,
    reading: Reading,
    found: Found,
    head: int,
    heads: int,
    stable: int,
    stable_us: int,
) -> None:
    """Note how a source stands at the end; it waits for all that have reached no more than the prefix."""
    waiting = 0
    if stable < head:
        for k in range(n):
            if reading.reached[k] == stable:
                if waiting < WAITING_NAMES:
                    found.waiting[source, waiting] = first_reader + k
                waiting += 1
    into = found.source[source]
    into["head"], into["stable"], into["stable_us"], into["waiting"] = head, stable, stable_us, waiting
    into["oldest_us"] = _sent_us(reading, heads, stable + 1) if stable < head else EVER


@kernel
def _note_readers(
    source: int,
    readers: Readers,
    first_reader: int,
    n: int,
    reading: Reading,
    found: Found,
    head: int,
    heads: int,
    stable: int,
) -> None:
    """Note each member that is in the group, or has a position, or has held the source back."""
    if n == 0:
        return
    slowest = reading.winner[1]
    without_slowest = min(head, second_reached(reading.reached, reading.winner, n))
    for k in range(n):
        gone = reading.reached[k] == ABSENT
        has_told = reading.position[k] != NO_NUMBER or reading.alone_us[k] > 0 or reading.completed[k] > 0
        if readers.is_member[first_reader + k] == 0 or (gone and not has_told):
            continue
        place = found.counts[READERS]
        found.counts[READERS] += 1
        into = found.reader[place]
        into["source"], into["reader"], into["gone"] = source, first_reader + k, gone
        into["position"] = reading.position[k]
        into["lag"] = NO_NUMBER if gone else max(0, head - reading.reached[k])
        into["behind_since_us"] = EVER if gone else _behind_us(reading, heads, k, head)
        into["alone_us"] = reading.alone_us[k]
        into["alone_low"], into["alone_high"] = reading.alone_low[k], reading.alone_high[k]
        into["completed"] = reading.completed[k]
        into["without_seq"] = without_slowest if k == slowest else stable


@kernel
def _behind_us(reading: Reading, heads: int, reader: int, head: int) -> int:
    """Return since when a member has not had all that was sent; ``EVER`` if it has."""
    if reading.behind_us[reader] != EVER or reading.reached[reader] >= head:
        return int(reading.behind_us[reader])
    return _sent_us(reading, heads, reading.reached[reader] + 1)
