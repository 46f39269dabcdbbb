"""Large random delivery traces: mostly healthy groups, with everything that can be wrong at given rates."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from analysis_traces import MEMBER_KINDS, MESSAGE_KINDS, SCHEMA

KINDS = MESSAGE_KINDS + MEMBER_KINDS
ABSENT = -1
MEAN_GAP_US = 200
DELAY_US = 3000
TICK_US = 20
"""Times are rounded down to it, so that there are equal ones."""


@dataclass(frozen=True)
class Rates:
    """How often each thing goes wrong; what stops the stable prefix happens in the last quarter only."""

    lost: float = 0.001
    never_sent: float = 0.001
    sent_again: float = 0.002
    sent_out_of_order: float = 0.002
    duplicate: float = 0.002
    before_send: float = 0.001
    by_outsider: float = 0.001
    """Where there are joins; without them it would be a member."""
    early_claim: float = 0.01
    beyond_claim: float = 0.002
    early_release: float = 0.002
    released_again: float = 0.002
    null_bytes: float = 0.05
    gone: float = 0.3
    """Of the members, where there are joins; half of them come back."""
    after_departure: float = 0.01
    """Of what somebody that is gone would have received."""


def random_trace(
    seed, *, groups=3, members=12, sources=4, messages=2000, releases=0.5, claims=0.02, rates=None
):
    """Return the events of some groups, in no order; a few sources send most, and one member is slow.

    The first group is as large as asked for, the second half as large, and so on; every second one has joins.
    ``releases`` and ``claims`` are for how many of the messages each member makes one.
    """
    random = np.random.default_rng(seed)
    tables = []
    for number in range(groups):
        count = max(1, messages // (number + 1))
        maker = GroupMaker(random, members, min(sources, members), count, rates or Rates())
        maker.make(with_joins=number % 2 == 0, releases=releases, claims=claims)
        tables.append(maker.table(f"group{number}"))
    whole = pa.concat_tables(tables)
    return whole.take(pa.array(random.permutation(len(whole))))


class GroupMaker:
    """The events of one group as columns of numbers, part by part."""

    def __init__(self, random, members, sources, messages, rates):
        self.random, self.members, self.messages, self.rates = random, members, messages, rates
        self.parts = []
        weights = 1 / np.arange(1, sources + 1) ** 1.2
        self.source = random.choice(sources, messages, p=weights / weights.sum())
        self.seq = np.zeros(messages, np.int64)
        for one in range(sources):
            own = self.source == one
            self.seq[own] = np.arange(1, own.sum() + 1)
        self.sent_us = np.cumsum(random.exponential(MEAN_GAP_US, messages)).astype(np.int64)
        self.in_last_quarter = np.arange(messages) >= messages * 3 // 4

    def some(self, shape, rate):
        """Return which of so many things go wrong."""
        return self.random.random(shape) < rate

    def make(self, *, with_joins, releases, claims):
        present = np.ones((self.messages, self.members), bool)
        if with_joins:
            present = self._membership()
            seen = self.some(self.messages, self.rates.by_outsider)
            self.add(
                "receive", self.members, self.source[seen], self.seq[seen], self.sent_us[seen] + DELAY_US
            )
        got_us = self._receipts(present)
        stable_us = self._sends(got_us)
        self._releases(got_us, stable_us, releases)
        self._claims(stable_us, claims)

    def add(self, kind, member, source, seq, time_us, size=ABSENT):
        columns = np.broadcast_arrays(KINDS.index(kind), member, source, seq, time_us, size)
        self.parts.append(np.stack([column.ravel() for column in columns]).astype(np.int64))

    def _membership(self):
        """Add joins and departures; return who is in the group at each sending."""
        present = np.ones((self.messages, self.members), bool)
        end_us = int(self.sent_us[-1])
        for member in range(self.members):
            start_us = int(self.random.integers(end_us)) if self.some((), 0.1) else 0
            self.add("join", member, ABSENT, ABSENT, start_us)
            present[:, member] = self.sent_us >= start_us
            if self.some((), self.rates.gone):
                gone_us, back_us = np.sort(self.random.integers(start_us, end_us + 1, 2))
                self.add(self.random.choice(["leave", "fail"]), member, ABSENT, ABSENT, gone_us)
                is_back = self.some((), 0.5)
                if is_back:
                    self.add("join", member, ABSENT, ABSENT, back_us)
                present[:, member] &= (self.sent_us < gone_us) | (is_back & (self.sent_us >= back_us))
        return present

    def _receipts(self, present):
        """Add receipts; return the times at which members have messages, with those they lack as never."""
        shape = present.shape
        slowness = np.where(np.arange(self.members) == self.members - 1, 5.0, 1.0)
        delays = self.random.lognormal(np.log(DELAY_US), 0.7, shape) * slowness
        got_us = self.sent_us[:, None] + delays.astype(np.int64)
        early = self.some(shape, self.rates.before_send)
        got_us[early] = self.sent_us.repeat(self.members).reshape(shape)[early] - 5
        lost = self.some(shape, self.rates.lost) & self.in_last_quarter[:, None]
        takes = np.where(present, ~lost, self.some(shape, self.rates.after_departure))
        copies = takes[..., None] * np.stack(
            [np.ones(shape, bool), self.some(shape, self.rates.duplicate)], -1
        )
        message, place, nth = np.nonzero(copies)
        time_us = got_us[message, place] + nth * self.random.integers(0, 500, nth.size)
        self.add("receive", place, self.source[message], self.seq[message], time_us)
        return np.where(takes, got_us, np.iinfo(np.int64).min)

    def _sends(self, got_us):
        """Add sends; return when the stable prefix is about at each message."""
        size = self.random.integers(1, 1500, self.messages)
        size[self.some(self.messages, self.rates.null_bytes)] = ABSENT
        sent_us = self.sent_us - 3 * MEAN_GAP_US * self.some(self.messages, self.rates.sent_out_of_order)
        kept = ~(self.some(self.messages, self.rates.never_sent) & self.in_last_quarter)
        for chosen, later_us in ((kept, 0), (kept & self.some(self.messages, self.rates.sent_again), 100)):
            columns = (self.source, self.source, self.seq, sent_us + later_us, size)
            self.add("send", *(column[chosen] for column in columns))
        stable_us = np.maximum(got_us.max(axis=1), sent_us)
        for one in np.unique(self.source):
            own = self.source == one
            stable_us[own] = np.maximum.accumulate(stable_us[own])
        return stable_us

    def _releases(self, got_us, stable_us, rate):
        message, member = np.nonzero((got_us > 0) & self.some(got_us.shape, rate))
        time_us = stable_us[message] + self.random.exponential(DELAY_US, message.size).astype(np.int64)
        early = self.some(message.size, self.rates.early_release)
        time_us[early] = got_us[message, member][early]
        again = self.some(message.size, self.rates.released_again)
        for chosen, later_us in ((slice(None), 0), (again, 50)):
            columns = (member, self.source[message], self.seq[message], time_us + later_us)
            self.add("release", *(column[chosen] for column in columns))

    def _claims(self, stable_us, rate):
        message, member = np.nonzero(self.some((self.messages, self.members), rate))
        time_us = stable_us[message] + self.random.exponential(DELAY_US, message.size).astype(np.int64)
        early = self.some(message.size, self.rates.early_claim)
        time_us[early] = self.sent_us[message][early] + 1
        beyond = self.some(message.size, self.rates.beyond_claim)
        self.add("stable", member, self.source[message], self.seq[message] + beyond * 5000, time_us)

    def table(self, group):
        """Return the events under a group's name."""
        kind, member, source, seq, time_us, size = np.concatenate(self.parts, axis=1)
        names = pa.array([f"member{number}" for number in range(self.members)] + ["outsider"])
        columns = [
            pa.array([group]).take(pa.array(np.zeros(kind.size, np.int64))),
            pa.array(KINDS).take(pa.array(kind)),
            names.take(pa.array(member)),
            names.take(pa.array(source, mask=source == ABSENT)),
            pa.array(seq, mask=source == ABSENT),
            pa.array(time_us // TICK_US * TICK_US),
            pa.array(size.astype(np.int32), mask=size == ABSENT),
        ]
        return pa.table(columns, schema=SCHEMA)
