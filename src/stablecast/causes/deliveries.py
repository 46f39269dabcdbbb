"""Which rows tell of which message: its sending, its receipts, who knew it to be stable, who released it.

Rows of messages are sorted once by source and number, and claims (``stable`` rows, which are cumulative) by
member and source with the highest number so far.  Everything that is asked of one message is then a search.

Who had to receive a message is the schema's rule: those that joined at or before its sending and were not
gone by then.  It is stable, in truth, at the latest over them of the earlier of first receipt and departure.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stablecast.causes.run import ABSENT, Ints, Mask, Run
from stablecast.errors import InvalidInput

NEVER = int(np.iinfo(np.int64).max)
EVER = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class Truth:
    """Who had to have a message, and since when each has had it."""

    sent_us: int
    required: Mask
    had_us: Ints
    """For each member the earlier of its receipt and its departure; ``NEVER`` without either."""
    received_row: Ints
    """Of each member's first receipt that counts, or of the sending; -1 without one."""
    stable_us: int
    """``NEVER`` while a member that had to have it lacks it."""
    last: int
    """Who had it last; of equals, the smallest name."""


class _ByMessage:
    """Rows of one kind by source and number."""

    def __init__(self, run: Run, kind: str, width: int) -> None:
        chosen = np.flatnonzero(run.of_kind(kind))
        keys = run.rows.source[chosen] * width + run.rows.seq[chosen]
        # Of one message, the earliest row is the first.
        order = np.lexsort((chosen, run.rows.time_us[chosen], keys))
        self._rows, self._keys, self._width = chosen[order], keys[order], width

    def of(self, source: int, seq: int) -> Ints:
        """Return the rows of a message, the earliest one first."""
        key = source * self._width + seq
        if not 0 <= seq < self._width:
            return self._rows[:0]
        left, right = np.searchsorted(self._keys, [key, key + 1])
        return self._rows[left:right]

    def first(self, source: Ints, seq: Ints) -> Ints:
        """Return the earliest row of each message, -1 if there is none."""
        if not self._rows.size:
            return np.full(source.size, ABSENT)
        wanted = source * self._width + seq
        places = np.minimum(np.searchsorted(self._keys, wanted), self._rows.size - 1)
        return np.where(self._keys[places] == wanted, self._rows[places], ABSENT)

    def messages(self) -> tuple[Ints, Ints, Ints]:
        """Return source, number and earliest row of every message."""
        begins = np.ones(self._keys.size, np.bool_)
        begins[1:] = np.diff(self._keys) != 0
        keys = self._keys[begins]
        return keys // self._width, keys % self._width, self._rows[begins]


class _Claims:
    """What members knew to be stable, by member and source."""

    def __init__(self, run: Run) -> None:
        rows, count = run.rows, len(run.members)
        claims = np.flatnonzero(run.of_kind("stable"))
        pairs = rows.member[claims] * count + rows.source[claims]
        order = np.lexsort((claims, pairs))
        self._rows, self._pairs, self._count = claims[order], pairs[order], count
        self._seq = rows.seq[self._rows]

    @cached_property
    def members_by_source(self) -> dict[int, list[int]]:
        """Return for each source the members that ever knew something of it to be stable."""
        found: dict[int, list[int]] = {}
        for pair in np.unique(self._pairs).tolist():
            found.setdefault(pair % self._count, []).append(pair // self._count)
        return found

    def rows(self, member: int, source: int, seq: Ints) -> Ints:
        """Return the rows in which a member first claimed each number of a source; -1 where it did not."""
        pair = member * self._count + source
        left, right = np.searchsorted(self._pairs, [pair, pair + 1])
        highest = np.maximum.accumulate(self._seq[left:right])
        places = np.searchsorted(highest, seq)
        return np.append(self._rows[left:right], ABSENT)[places]


class Deliveries:
    """What a run's rows tell of each message."""

    def __init__(self, run: Run) -> None:
        self._run = run
        width = int(run.rows.seq.max(initial=0)) + 1
        self._sends = _ByMessage(run, "send", width)
        self._receipts = _ByMessage(run, "receive", width)
        self._releases = _ByMessage(run, "release", width)
        self.claims = _Claims(run)
        self.joined, self.departed, self._present = self._membership()

    def _membership(self) -> tuple[Ints, Ints, Mask]:
        joined, departed = self._first("join"), self._first("leave", "fail")
        present: Mask = joined != NEVER
        if not present.any():
            present[self._run.rows.member[self._run.of_kind("send", "receive")]] = True
            joined[present] = EVER
        return joined, departed, present

    def _first(self, *kinds: str) -> Ints:
        chosen = self._run.of_kind(*kinds)
        first = np.full(len(self._run.members), NEVER)
        np.minimum.at(first, self._run.rows.member[chosen], self._run.rows.time_us[chosen])
        return first

    def send_rows(self, source: Ints, seq: Ints) -> Ints:
        """Return the row in which each message was sent, -1 where the trace does not tell."""
        return self._sends.first(source, seq)

    def send_row(self, source: int, seq: int) -> int:
        """Return the row in which a message was sent; one line says what there is if there is none."""
        rows = self._sends.of(source, seq)
        if not rows.size:
            raise InvalidInput(self._no_message(source, seq))
        return int(rows[0])

    def _no_message(self, source: int, seq: int) -> str:
        sources, seqs, _ = self._sends.messages()
        name, own = self._run.members[source], seqs[sources == source]
        if own.size:
            accepted = f"{name}/{own.min()} to {name}/{own.max()}"
        else:
            who = [self._run.members[k] for k in np.unique(sources)[:5].tolist()]
            accepted = f"messages of {', '.join(who)}" if who else "a trace in which messages are sent"
        return f"the trace does not tell of the sending of {name}/{seq} (accepted: {accepted})"

    def arrivals(self, member: int, source: int) -> Ints:
        """Return the rows in which something of a source, or about it, arrived at a member, in order."""
        key = member * len(self._run.members) + source
        keys, rows = self._arrivals
        left, right = np.searchsorted(keys, [key, key + 1])
        return rows[left:right]

    @cached_property
    def _arrivals(self) -> tuple[Ints, Ints]:
        rows = self._run.rows
        chosen = np.flatnonzero(self._run.of_kind("arrive") & (rows.source != ABSENT))
        keys = rows.member[chosen] * len(self._run.members) + rows.source[chosen]
        order = np.lexsort((chosen, keys))
        return keys[order], chosen[order]

    def messages(self) -> tuple[Ints, Ints, Ints]:
        """Return source, number and row of the sending of every message."""
        return self._sends.messages()

    def release_rows(self, source: int, seq: int) -> Ints:
        """Return the rows in which a message was released."""
        return self._releases.of(source, seq)

    def known_row(self, member: int, source: int, seq: int) -> int:
        """Return the row in which a member first knew a message to be stable; -1 if it never did."""
        return int(self.claims.rows(member, source, np.array([seq]))[0])

    def knowers(self, source: int, seq: int) -> dict[int, int]:
        """Return the row of every member that came to know a message to be stable."""
        everyone = self.claims.members_by_source.get(source, ())
        found = {member: self.known_row(member, source, seq) for member in everyone}
        return {member: row for member, row in found.items() if row != ABSENT}

    def truth(self, source: int, seq: int) -> Truth:
        """Return since when each member has had a message."""
        rows, sent = self._run.rows, self.send_row(source, seq)
        sent_us = int(rows.time_us[sent])
        required = self._present & (self.joined <= sent_us) & (self.departed > sent_us)
        received = np.full(len(self._run.members), ABSENT)
        for row in self._receipts.of(source, seq)[::-1].tolist():
            if rows.time_us[row] <= self.departed[rows.member[row]]:
                received[rows.member[row]] = row
        received[source], required[source] = sent, True
        arrived = np.where(received == ABSENT, NEVER, rows.time_us[received])
        had_us = np.minimum(arrived, self.departed)
        held = np.where(required, had_us, EVER)
        last = int(held.argmax())
        return Truth(sent_us, required, had_us, received, int(held[last]), last)
