"""What members are called: labels that no two members have, also if the group is split.

Promise
    Of a group that was begun once, no two members ever have the same label, whoever let them in.
How
    A label is a name, with the number of the incarnation from the second on.  Each view carries the last
    incarnation of the names that it remembers, so a view and those that follow it give no label twice.  The
    parts of a split group do not know of each other.  At most one of them goes on giving such plain labels.
    The others mark labels with bits of the member's session, as does a view for names that it has forgotten.
Which part
    The one that has most of the members of the view that was split, of those who did not want to leave; if
    two have half of them, the one with the oldest.
Why it is one
    Let ``n`` be the members of a view, and of one part ``s`` those who stay and ``l`` those who leave, as far
    as it knows.  Who wants to leave agrees to no next view with it in it, so a stayer of one part is no
    leaver of the other.  Were it no stayer of the other either, both parts together would have at most ``n``
    less all leavers, and two of them could both have half of ``n - l`` only if they knew of the same leavers;
    then one has the oldest.  But a member may agree to a view (SYNCED), and then, before it is told whether
    that was installed, to another one.  It says so when it promises that (``Flushed.synced``), and the second
    view marks.  Two parts that have most members have one in common, so one of them hears it.  A leader that
    begins anew knows that it has not installed what it asked for before, so its own does not count.
Not promised
    A group that was begun twice, by processes that did not reach each other, is two groups until they merge,
    and both have plain labels.  Processes tell their members apart (``engine/names``).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from stablecast.membership.view import Labels, MemberInfo, bits_of

if TYPE_CHECKING:
    from stablecast.membership.change import Change


def labels_after(change: Change) -> Labels:
    """Return how the view that follows calls those who join it."""
    old, stay = change.old, change.survivors
    there = (1 << len(old.members)) - 1 & ~change.leavers
    others = () if change.report is None else change.report.synced
    has_oldest = bool(stay & there & -there)
    twice = 2 * stay.bit_count()
    is_most = twice > there.bit_count() or (twice == there.bit_count() and has_oldest)
    return old.labels if is_most and set(others) <= {change.proposal[1]} else Labels.MARKED


def labelled(joiner: MemberInfo, known: Collection[str], incarnation: int, labels: Labels) -> MemberInfo:
    """Return one that joins, under the label that it is given."""
    is_marked = labels is Labels.MARKED or (labels is Labels.REMEMBERED and joiner.name not in known)
    mark = bits_of(joiner.session) if is_marked else ""
    return msgspec.structs.replace(joiner, incarnation=incarnation, mark=mark)
