"""One part of a stream: what arrived and what was carried over become tables, and what is carried on.

Theory
    The state has the events of all messages that have not left.  A part adds what arrived to them, judges
    these messages as a whole trace is judged, and lets go of those that leave (:mod:`.leaving`).  Rows of the
    tables ``messages``, ``frontiers`` and ``violations`` are *final* when nothing that is not too late can
    change them, and each of them becomes final once, because what it follows from is let go then:

    - a message, and what is wrong with it, when it leaves, with its events, whether anybody sent it or not;
    - a change of the stable prefix when the start of its source's line was stable later;
    - what is out of line, when its number is in the start of the line;
    - a claim that was made too early, with the claim, when nothing up to its number can be sent any more.

    All others are *open*: the next part computes them anew.  Small tables are computed from sums over what
    has left and from what is at hand.
What is true after each part
    The final rows of all parts so far and the open rows of the last one are the tables of all events so far,
    as for a whole trace; so are the current small tables.  If that could not be true, the part raises
    :class:`~.late.Untimely` and nothing has changed.  A fold of all events so far with more patience then
    takes its place (:func:`folded_anew`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stablecast.delivery import durations, tables
from stablecast.delivery.columns import Ints, chosen, joined
from stablecast.delivery.durations import durations_of
from stablecast.delivery.happened import Events, events_of
from stablecast.delivery.kinds import RELEASE, STABLE, FirstSeq
from stablecast.delivery.laggards import Laggards, laggards_of
from stablecast.delivery.membership import membership_of
from stablecast.delivery.part import Part, part_of
from stablecast.delivery.scan import Scan, merged, scan_of
from stablecast.delivery.schema import encoded
from stablecast.delivery.sources import sources_table
from stablecast.delivery.stream.carried import Carried, Reader, written
from stablecast.delivery.stream.late import (
    Untimely,
    refuse_claims_of_left,
    refuse_events_of_left,
    refuse_old_events,
    refuse_other_past,
)
from stablecast.delivery.stream.leaving import Left, Tellers, left_by, tellers_with
from stablecast.delivery.stream.patience import Patience, marks_of
from stablecast.delivery.stream.settled import Holding, held_after
from stablecast.delivery.stream.state import SCHEMAS, State
from stablecast.delivery.stream.unsent import is_among
from stablecast.delivery.violations import MISSING_SEND, VIOLATIONS, Violations

__all__ = ["Folded", "Patience", "State", "Untimely", "fold", "folded_anew"]


@dataclass(frozen=True, eq=False)
class Folded:
    """What is known after a part."""

    final: Mapping[str, pa.Table]
    """Rows of messages, frontiers and violations that are final since this part."""
    open: Mapping[str, pa.Table]
    """Rows of the same tables that the next part computes anew."""
    current: Mapping[str, pa.Table]
    """buffers, laggards, sources and occupancy, as they are now."""
    state: State
    durations: pa.Table
    """How long it took until messages were stable and known to be, of all messages so far."""
    violations: Mapping[str, int]
    """How many there are of each kind so far, final and open ones."""

    @property
    def scan(self) -> Scan:
        """What is in all events so far."""
        return self.state.scan

    @property
    def open_messages(self) -> int:
        """How many messages have not left."""
        return int(self.open["messages"].num_rows)


def fold(
    state: State, events: pa.Table, patience: Patience | None = None, *, first_seq: FirstSeq = 1
) -> Folded:
    """Fold one more part into a state; ``events`` has the columns of the schema, kinds as numbers."""
    patience = patience or Patience()
    arrived = encoded(events)
    found = scan_of(arrived)
    refuse_old_events(arrived, state.scan, patience)
    refuse_other_past(state.scan, found, _groups_left(state), patience)
    scan = merged([state.scan, found])
    membership = membership_of(scan)
    carried = Reader(state, membership).carried()
    at_hand = pa.concat_tables([state.tables["events"], arrived]).unify_dictionaries().combine_chunks()
    happened = events_of(at_hand, membership)
    new = chosen(happened, slice(state.carried_rows, None))
    refuse_events_of_left(new, carried.start, carried.thin, carried.unsent)
    refuse_claims_of_left(new, carried.start, carried.thin, carried.claimers, membership)
    part = part_of(happened, membership, first_seq, carried.start, carried.thin)
    claimers, releasers = _tellers(part, new, carried)
    marks = marks_of(state.scan, membership, patience)
    left = left_by(part, carried.unsent, marks, claimers, releasers, patience.linger_us, first_seq)
    holding = held_after(part.judged.holdings, left.of_holdings, membership, carried.settled, marks)
    leaving, staying = (
        laggards_of(chosen(part.messages, rows), membership) for rows in (left.messages, ~left.messages)
    )
    after = Carried(
        start=left.start,
        thin=left.thin,
        unsent=left.unsent,
        claimers=claimers,
        releasers=releasers,
        laggards=carried.laggards.and_those(leaving),
        settled=holding.settled,
    )
    return _folded(state, scan, at_hand, part, left, after, after.laggards.and_those(staying), holding)


def folded_anew(
    parts: Iterable[pa.Table], patience: Patience, *, first_seq: FirstSeq = 1
) -> tuple[Folded, Patience]:
    """Fold all events so far as one part, with twice the patience; return that, and the new patience."""
    more = patience.doubled()
    everything = pa.concat_tables([encoded(part) for part in parts]).unify_dictionaries()
    return fold(State.nothing(), everything, more, first_seq=first_seq), more


def _groups_left(state: State) -> set[str]:
    """Return the groups that messages have left."""
    lefts = (state.tables[table]["group"] for table in ("line", "thin", "unsent"))
    return {name for groups in lefts for name in pc.unique(groups).to_pylist()}


def _tellers(part: Part, new: Events, carried: Carried) -> tuple[Tellers, Tellers]:
    """Return who claims and who releases anything of each source."""
    claims, released = part.claims, chosen(new, new.kind == RELEASE)
    return (
        tellers_with(carried.claimers, claims.source, claims.stay, claims.seq, claims.time),
        tellers_with(carried.releasers, released.source, released.stay, released.seq, released.time),
    )


def _folded(
    state: State,
    scan: Scan,
    at_hand: pa.Table,
    part: Part,
    left: Left,
    after: Carried,
    laggards: Laggards,
    holding: Holding,
) -> Folded:
    """Make the tables, and the next state."""
    names = tables.Names(part.membership)
    final, still = _split(part, left, names)
    took = [durations_of(part.messages, part.known, rows) for rows in (left.messages, ~left.messages)]
    settled_took = durations.added([state.tables["durations"], took[0]])
    accused = _counted(state.tables["violations"]) + Counter(final["violations"]["kind"].to_pylist())
    every = accused + Counter(still["violations"]["kind"].to_pylist())
    kept = {
        **scan.tables(),
        **written(after, names),
        "events": at_hand.filter(pa.array(_stays_at_hand(part, left, at_hand))).combine_chunks(),
        "durations": settled_took,
        "violations": pa.table([list(accused), list(accused.values())], schema=SCHEMAS["violations"]),
    }
    return Folded(
        final=final,
        open=still,
        current={
            "buffers": tables.buffers_table(holding.totals, holding.peaks, names),
            "laggards": tables.laggards_table(laggards, names),
            "sources": sources_table(part.runs, part.before.open, part.ends, part.start, names),
            "occupancy": tables.occupancy_table(holding.course, names),
        },
        state=State(kept),
        durations=durations.added([settled_took, took[1]]),
        violations={kind: every[kind] for kind in VIOLATIONS},
    )


def _counted(counts: pa.Table) -> Counter[str]:
    return Counter(dict(zip(counts["kind"].to_pylist(), counts["count"].to_pylist(), strict=True)))


def _split(
    part: Part, left: Left, names: tables.Names
) -> tuple[Mapping[str, pa.Table], Mapping[str, pa.Table]]:
    """Return the rows that are final now, and those that are open."""
    violations, sure = _violations(part, left)
    settled = part.frontiers.time < left.start.latest[part.frontiers.source]
    both = []
    for is_final in (True, False):
        leaves, changes = left.messages == is_final, settled == is_final
        known = None if part.known is None else chosen(part.known, leaves)
        frontiers = chosen(part.frontiers, changes)
        both.append(
            {
                "messages": tables.messages_table(chosen(part.messages, leaves), known, names),
                "frontiers": tables.frontiers_table(frontiers, part.sent[changes], names),
                "violations": tables.violations_table(chosen(violations, sure == is_final), names),
            }
        )
    return both[0], both[1]


def _violations(part: Part, left: Left) -> tuple[Violations, Ints]:
    """Return what should not be, and what of it is final."""
    own, lined, claimed = part.judged.violations, part.out_of_line, part.of_claims
    # That the sending of these is missing is told already.
    told = (claimed.kind == MISSING_SEND) & is_among(left.unsent, claimed.source, claimed.seq)
    claimed = chosen(claimed, ~told)
    sure = [
        left.has(part, own.source, own.seq),
        lined.seq <= left.start.last_seq[lined.source],
        claimed.seq <= left.floor[claimed.source],
    ]
    return joined([own, lined, claimed]), np.concatenate(sure)


def _stays_at_hand(part: Part, left: Left, at_hand: pa.Table) -> Ints:
    """Tell which events are carried on: of messages that stay, and claims that may cover any to come."""
    happened = part.happened
    matters = happened.seq > left.floor[happened.source]
    stays = np.where(happened.kind == STABLE, matters, ~left.has(part, happened.source, happened.seq))
    rows = np.zeros(at_hand.num_rows, bool)
    rows[np.flatnonzero(at_hand["kind"].to_numpy() <= RELEASE)] = stays
    return rows
