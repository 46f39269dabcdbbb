"""What members have of a view when it ends, and the cut that follows from it.

A report is about sources of which something was sent in this view.  Of all others everyone has what the view
began with, which its members know (``base``).

Why merged reports are as good as single ones
    A cut needs two things of each source: the largest prefix that one of the participants has, and somebody
    who has it.  What a member has is fixed by its promise, so its report for a proposal is always the same.
    The merge of two reports takes for each source the larger prefix with its holder, and joins the two sets
    of members.  It is commutative, associative and idempotent.  So whatever way reports take, and however
    often they come, a merged report is the maximum over exactly the members that it names; when it names all
    participants, it is the cut.  How many messages a source has sent only the source says; others say 0, and
    the maximum is what the source said once it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.membership.messages import Flushed, Proposal, Sent
from stablecast.membership.rank_sets import packed, unpacked
from stablecast.membership.view import View

Numbers = tuple[tuple[int, int], ...]
"""For each member by rank, its parts and messages so far."""


def report_of(
    proposal: Proposal,
    rank: int,
    base: Numbers,
    prefixes: Sequence[int],
    messages: int,
    synced: Iterable[int] = (),
) -> Flushed:
    """Return the report of one member: what it has beyond what the view began with."""
    sent = []
    for source, ((parts, before), prefix) in enumerate(zip(base, prefixes, strict=True)):
        if prefix > parts:
            sent.append((source, prefix - parts, rank, messages - before if source == rank else 0))
    return Flushed(proposal, packed(1 << rank), tuple(sent), tuple(sorted(synced)))


def merged(one: Flushed, other: Flushed) -> Flushed:
    """Return the report of all who are in one of two."""
    sent = {of[0]: of for of in one.sent}
    for of in other.sent:
        known = sent.get(of[0])
        sent[of[0]] = of if known is None else _more(known, of)
    return Flushed(
        one.proposal,
        packed(unpacked(one.members) | unpacked(other.members)),
        tuple(sent[source] for source in sorted(sent)),
        tuple(sorted({*one.synced, *other.synced})),
    )


def _more(one: Sent, other: Sent) -> Sent:
    """Return what two reports say of a source: the holder is the source itself, then the first by rank."""
    source, messages = one[0], max(one[3], other[3])
    parts, _, holder = max((of[1], of[2] == source, -of[2]) for of in (one, other))
    return (source, parts, -holder, messages)


def is_sound(sent: Sequence[Sent], size: int) -> bool:
    """Tell whether what is said of sources names members of a view only, each source once."""
    sources = [of[0] for of in sent]
    return len(set(sources)) == len(sources) and all(of[0] < size and of[2] < size for of in sent)


def cut_of(base: Numbers, sent: Iterable[Sent]) -> tuple[int, ...]:
    """Return for each member of a view, by rank, its last part that somebody has."""
    cut = [parts for parts, _ in base]
    for source, parts, _, _ in sent:
        cut[source] += parts
    return tuple(cut)


def holders_of(old: View, sent: Iterable[Sent]) -> tuple[int, ...]:
    """Return for each member of a view, by rank, the session of one that has its last part."""
    holders = list(old.sessions)
    for source, _, holder, _ in sent:
        holders[source] = old.sessions[holder]
    return tuple(holders)


def numbers_after(old: View, base: Numbers, sent: Iterable[Sent], view: View) -> Numbers:
    """Return the numbers that the next view begins with: who joins begins with nothing."""
    now = list(base)
    for source, parts, _, messages in sent:
        now[source] = (base[source][0] + parts, base[source][1] + messages)
    known = {member.identity: now[rank] for rank, member in enumerate(old.members)}
    return tuple(known.get(member.identity, (0, 0)) for member in view.members)
