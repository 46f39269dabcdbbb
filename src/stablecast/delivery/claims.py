"""When members said that messages were stable, and whether they said so too early.

Theory
    A claim covers all numbers up to its own.  Going down the numbers of a source, each claimer's earliest
    claim so far is the time since which it has covered the number at hand; the first and the last of these
    times, over those that had to have the message, are what is asked for.  They change only where a claim is
    met, unless claimers came or went while messages were sent.  What is claimed in later runs of numbers is
    one time for each claimer, so that runs can be gone through apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stablecast.compiling import kernel
from stablecast.delivery.columns import Ints, Longs, shortened
from stablecast.delivery.happened import Events, Ordered
from stablecast.delivery.kinds import NEVER, RUN_BITS, STABLE
from stablecast.delivery.line import Before, Claims, Line, Runs
from stablecast.delivery.membership import Membership, Stays, is_required
from stablecast.delivery.messages import Messages
from stablecast.delivery.violations import EARLY_STABLE, MISSING_SEND, Violations, accuse, violations_by


class Cells(NamedTuple):
    """The earliest claim of each claimer in a run of numbers, or in all later ones."""

    source: Ints
    run: Longs
    stay: Ints
    time: Longs


class Known(NamedTuple):
    """Of each message: when the first and the last one that had to have it knew that it was stable."""

    first: Longs
    """NEVER if nobody claimed it; of the last likewise."""
    last: Longs


def claims_of(events: Events, order: Ordered) -> Claims:
    """Return the claims among events."""
    place = order.key & ((1 << order.place_bits) - 1)
    place = place[events.kind[place] == STABLE]
    return Claims(events.source[place], events.seq[place], events.stay[place], events.time[place])


def cells_of(claims: Claims, stay_count: int) -> Cells:
    """Return the earliest claim of each claimer in each run."""
    room = len(claims.seq)
    cells = Cells(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int64)
    )
    count = find_cells(claims, np.full(stay_count, -1), cells)
    return shortened(cells, count)


@kernel
def find_cells(claims: Claims, cell_of: Ints, cells: Cells) -> int:
    """Fill in cells; ``cell_of`` has the newest cell of each claimer."""
    count, begin = 0, 0
    for k in range(claims.seq.size):
        run = claims.seq[k] >> RUN_BITS
        if count > 0 and (cells.source[count - 1] != claims.source[k] or cells.run[count - 1] != run):
            begin = count
        cell = cell_of[claims.stay[k]]
        if cell >= begin:
            cells.time[cell] = min(cells.time[cell], claims.time[k])
            continue
        cell_of[claims.stay[k]] = count
        cells.source[count] = claims.source[k]
        cells.run[count] = run
        cells.stay[count] = claims.stay[k]
        cells.time[count] = claims.time[k]
        count += 1
    return count


class Later(NamedTuple):
    """The earliest claim of each claimer in later runs, for each run with messages."""

    begin: Longs
    """The first row of each run."""
    rows: Longs
    stay: Ints
    time: Longs


def claimed_later(cells: Cells, runs: Runs, stay_count: int) -> Later:
    """Tell each run what is claimed in later ones; cells and runs are by source and number."""
    starts = _cell_starts(cells, runs)
    room = len(cells.run)
    while True:
        later = Later(
            np.zeros(len(runs.source), np.int64),
            np.zeros(len(runs.source), np.int64),
            np.empty(room, np.int32),
            np.empty(room, np.int64),
        )
        best, claimers = np.full(stay_count, NEVER), np.empty(stay_count, np.int32)
        rows = tell_later(cells, starts, runs, best, claimers, later)
        if rows <= room:
            return later
        room = int(rows)


def _cell_starts(cells: Cells, runs: Runs) -> Longs:
    """Return where the cells of each run begin; each cell's run is among the runs."""
    if not len(cells.run):
        return np.zeros(len(runs.source) + 1, np.int64)
    changes = (cells.source[1:] != cells.source[:-1]) | (cells.run[1:] != cells.run[:-1])
    place = np.cumsum(np.concatenate([[0], changes]))
    firsts = np.flatnonzero(np.concatenate([[True], changes]))
    keys = {
        (s, r): k for k, (s, r) in enumerate(zip(runs.source.tolist(), runs.number.tolist(), strict=True))
    }
    run_of = np.array(
        [keys[key] for key in zip(cells.source[firsts].tolist(), cells.run[firsts].tolist(), strict=True)]
    )
    return np.searchsorted(run_of[place], np.arange(len(runs.source) + 1))


@kernel
def tell_later(cells: Cells, starts: Longs, runs: Runs, best: Longs, claimers: Ints, later: Later) -> int:
    """Go down the runs; return how many rows there are, of which no more were written than there is room."""
    rows, known = 0, 0
    for k in range(runs.source.size - 1, -1, -1):
        if k + 1 < runs.source.size and runs.source[k] != runs.source[k + 1]:
            for c in range(known):
                best[claimers[c]] = NEVER
            known = 0
        if runs.messages[k] > 0:
            later.begin[k] = rows
            later.rows[k] = known
            for c in range(known):
                if rows < later.stay.size:
                    later.stay[rows] = claimers[c]
                    later.time[rows] = best[claimers[c]]
                rows += 1
        for cell in range(starts[k], starts[k + 1]):
            stay = cells.stay[cell]
            if best[stay] == NEVER:
                claimers[known] = stay
                known += 1
            best[stay] = min(best[stay], cells.time[cell])
    return rows


def known_when(
    messages: Messages,
    starts: Longs,
    claims: Claims,
    claim_starts: Longs,
    later: Later,
    membership: Membership,
) -> Known:
    """Find when each message was first and last known to be stable."""
    known = Known(np.full(len(messages.seq), NEVER), np.full(len(messages.seq), NEVER))
    stays = len(membership.stays.start)
    best, claimers = np.full(stays, NEVER), np.empty(stays, np.int32)
    find_known(messages, starts, claims, claim_starts, later, membership.stays, best, claimers, known)
    return known


@kernel
def find_known(
    messages: Messages,
    starts: Longs,
    claims: Claims,
    claim_starts: Longs,
    later: Later,
    stays: Stays,
    best: Longs,
    claimers: Ints,
    known: Known,
) -> None:
    """Go down the numbers of each run; ``best`` is NEVER for all before and after each run."""
    for run in range(starts.size - 1):
        if starts[run] == starts[run + 1]:
            continue
        count = 0
        for row in range(later.begin[run], later.begin[run] + later.rows[run]):
            claimers[count] = later.stay[row]
            best[later.stay[row]] = later.time[row]
            count += 1
        steady, changed, first, last = False, True, NEVER, NEVER
        c = claim_starts[run + 1] - 1
        for m in range(starts[run + 1] - 1, starts[run] - 1, -1):
            while c >= claim_starts[run] and claims.seq[c] >= messages.seq[m]:
                stay = claims.stay[c]
                if best[stay] == NEVER:
                    claimers[count] = stay
                    count += 1
                if claims.time[c] < best[stay]:
                    best[stay] = claims.time[c]
                    changed = True
                c -= 1
            if changed:
                steady = all_stayed(claimers, count, stays)
            if changed or not steady:
                first, last = NEVER, NEVER
                for k in range(count):
                    stay = claimers[k]
                    if stay == messages.sender[m] or is_required(stays, stay, messages.sent[m]):
                        first = min(first, best[stay])
                        last = best[stay] if last == NEVER else max(last, best[stay])
                changed = False
            known.first[m] = first
            known.last[m] = last
        for k in range(count):
            best[claimers[k]] = NEVER


@kernel
def all_stayed(claimers: Ints, count: int, stays: Stays) -> bool:
    """Tell whether claimers are members for all time, so that the message does not matter."""
    for k in range(count):
        stay = claimers[k]
        if not stays.belongs[stay] or stays.start[stay] > -NEVER or stays.end[stay] < NEVER:
            return False
    return True


def early_claims(
    claims: Claims, claim_starts: Longs, messages: Messages, starts: Longs, line: Line, before: Before
) -> Violations:
    """Return claims of what was not stable then, and of numbers beyond all that their source sent."""
    return violations_by(
        lambda count, found: find_early(claims, claim_starts, messages, starts, line, before, count, found),
        64 + len(claims.seq) // 64,
    )


@kernel
def find_early(
    claims: Claims,
    claim_starts: Longs,
    messages: Messages,
    starts: Longs,
    line: Line,
    before: Before,
    count: Longs,
    found: Violations,
) -> None:
    """Go up the numbers of each run, along messages and claims together."""
    for run in range(starts.size - 1):
        prefix = NEVER if before.open[run] > 0 else before.latest[run]
        m = starts[run]
        for c in range(claim_starts[run], claim_starts[run + 1]):
            while m < starts[run + 1] and messages.seq[m] <= claims.seq[c]:
                prefix = line.prefix[m]
                m += 1
            source, seq, stay, time = claims.source[c], claims.seq[c], claims.stay[c], claims.time[c]
            if time < prefix:
                accuse(found, count, EARLY_STABLE, source, seq, stay, time)
            if before.source_last[run] > -NEVER and seq > before.source_last[run]:
                accuse(found, count, MISSING_SEND, source, seq, stay, time)
