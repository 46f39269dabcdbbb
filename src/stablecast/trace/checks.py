"""What can be wrong in a group's trace, each kind found by itself, with who, what and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from stablecast.trace.columns import Columns, Ints, Mask
from stablecast.trace.group_trace import NEVER, GroupTrace


@dataclass(frozen=True)
class Violation:
    """Something that the group's promises exclude."""

    kind: str
    group: str
    member: str
    """Where it is wrong."""
    source: str
    seq: int
    time_us: int
    """When; for a message that never came, when it was sent."""
    why: str


@dataclass(frozen=True)
class Found:
    """All violations of one kind in a group, a row each."""

    kind: str
    trace: GroupTrace
    member: Ints
    source: Ints
    seq: Ints
    time_us: Ints
    why: Callable[[int], str]

    def __len__(self) -> int:
        return int(self.seq.size)

    def first(self, most: int) -> Iterator[Violation]:
        """Yield the earliest ones."""
        names = self.trace.events.members
        for k in np.argsort(self.time_us, kind="stable")[:most].tolist():
            member, source = names[int(self.member[k])], names[int(self.source[k])]
            seq, time_us = int(self.seq[k]), int(self.time_us[k])
            yield Violation(self.kind, self.trace.name, member, source, seq, time_us, self.why(k))


def _of_events(kind: str, trace: GroupTrace, events: Columns, why: Callable[[int], str]) -> Found:
    return Found(kind, trace, events.member, events.source, events.seq, events.time_us, why)


def undelivered(trace: GroupTrace) -> Found:
    """Messages of members that stayed, which a member that stayed never received."""
    lacks = _lacking(trace) & trace.survives[trace.messages.source][:, None]
    return _of_lacking("undelivered", trace, lacks, lambda k: "its sender stayed, and it never came")


def all_or_none(trace: GroupTrace) -> Found:
    """Messages that one member that stayed has, and another one that stayed lacks."""
    stayed = trace.required & trace.survives
    someone_has: Mask = np.any(stayed & (trace.has_since < NEVER), axis=1, keepdims=True)
    lacks = _lacking(trace) & someone_has
    return _of_lacking("all_or_none", trace, lacks, lambda k: "others that stayed have it, and it never came")


def _lacking(trace: GroupTrace) -> Mask:
    lacking: Mask = trace.required & trace.survives & (trace.has_since == NEVER)
    return lacking


def _of_lacking(kind: str, trace: GroupTrace, lacks: Mask, why: Callable[[int], str]) -> Found:
    rows, members = np.nonzero(lacks)
    messages = trace.messages
    return Found(kind, trace, members, messages.source[rows], messages.seq[rows], messages.sent[rows], why)


def order(trace: GroupTrace) -> Found:
    """Receipts that do not follow the one before of the same source, or begin behind what was owed."""
    chosen = trace.is_first & (trace.receives.member != trace.receives.source)
    receipts = trace.receives.where(chosen)
    by_pair = np.lexsort((np.arange(len(receipts)), receipts.source, receipts.member))
    member, source, seq = receipts.member[by_pair], receipts.source[by_pair], receipts.seq[by_pair]
    begins = np.ones(seq.size, np.bool_)
    begins[1:] = (member[1:] != member[:-1]) | (source[1:] != source[:-1])
    owed = _first_owed(trace)[source, member]
    expected = np.where(begins, np.minimum(seq, owed), np.roll(seq, 1) + 1)
    wrong = np.flatnonzero(seq != expected)
    time_us = receipts.time_us[by_pair][wrong]
    return Found(
        "order",
        trace,
        member[wrong],
        source[wrong],
        seq[wrong],
        time_us,
        lambda k: f"{int(expected[wrong[k]])} was next",
    )


def _first_owed(trace: GroupTrace) -> Ints:
    """Return for each source and member the first message that the member must receive."""
    owed = np.full((trace.count, trace.count), NEVER)
    rows, members = np.nonzero(trace.required)
    np.minimum.at(owed, (trace.messages.source[rows], members), trace.messages.seq[rows])
    return owed


def duplicates(trace: GroupTrace) -> Found:
    """Messages that a member received again."""
    again = trace.receives.where(~trace.is_first & ~trace.is_late)
    return _of_events("duplicate", trace, again, lambda k: "it was received before")


def sent_again(trace: GroupTrace) -> Found:
    """Numbers that a source used again."""
    sends = trace.events.of_kind("send")
    again = np.ones(len(sends), np.bool_)
    again[np.unique(trace.messages.rows(sends), return_index=True)[1]] = False
    return _of_events("sent_again", trace, sends.where(again), lambda k: "its number was used before")


def unknown(trace: GroupTrace) -> Found:
    """Receipts of what a source that stayed never sent."""
    untold = trace.messages.untold[trace.receive_rows] & trace.survives[trace.receives.source]
    return _of_events(
        "unknown", trace, trace.receives.where(untold), lambda k: "its source stayed, and never sent it"
    )


def receive_after_departure(trace: GroupTrace) -> Found:
    """Receipts of members that had left or failed."""
    late = trace.receives.where(trace.is_late)
    return _of_events(
        "receive_after_departure",
        trace,
        late,
        lambda k: f"it was gone at {int(trace.departed[late.member[k]])}",
    )


def early_stable(trace: GroupTrace) -> Found:
    """Claims that everything up to a number is everywhere, made before it was."""
    claims = trace.events.of_kind("stable")
    truth = truth_up_to(trace, claims.source, claims.seq)
    return _too_early("early_stable", trace, claims, truth)


def early_release(trace: GroupTrace) -> Found:
    """Messages let go before they were everywhere."""
    releases = trace.events.of_kind("release")
    rows = trace.messages.rows(releases)
    known = rows >= 0
    truth = np.full(len(releases), np.iinfo(np.int64).min)
    truth[known] = trace.truth[rows[known]]
    return _too_early("early_release", trace, releases, truth)


def _too_early(kind: str, trace: GroupTrace, events: Columns, truth: Ints) -> Found:
    early = np.flatnonzero(truth > events.time_us)

    def why(k: int) -> str:
        when = int(truth[early[k]])
        return "it never was everywhere" if when == NEVER else f"it was everywhere at {when}"

    chosen = np.zeros(len(events), np.bool_)
    chosen[early] = True
    return _of_events(kind, trace, events.where(chosen), why)


def truth_up_to(trace: GroupTrace, source: Ints, seq: Ints) -> Ints:
    """Return when everything of a source up to a number was everywhere: never, if it has not been sent.

    Of a source that sent nothing under this group's name, anything may be claimed: they are elsewhere.
    """
    truth = np.full(seq.size, np.iinfo(np.int64).min)
    messages = trace.messages
    for one in np.unique(source).tolist():
        begin, end = np.searchsorted(messages.source, [one, one + 1])
        if begin == end:
            continue
        so_far = np.maximum.accumulate(trace.truth[begin:end])
        chosen = source == one
        places = np.searchsorted(messages.seq[begin:end], seq[chosen], side="right")
        padded = np.concatenate(([np.iinfo(np.int64).min], so_far))
        told = padded[places]
        told[seq[chosen] > messages.seq[end - 1]] = NEVER
        truth[chosen] = told
    return truth


CHECKS: dict[str, Callable[[GroupTrace], Found]] = {
    "undelivered": undelivered,
    "all_or_none": all_or_none,
    "order": order,
    "duplicate": duplicates,
    "sent_again": sent_again,
    "unknown": unknown,
    "receive_after_departure": receive_after_departure,
    "early_stable": early_stable,
    "early_release": early_release,
}
"""Every kind of violation and what finds it."""
