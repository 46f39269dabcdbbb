"""What a view is followed by: the same values at its leader, at its members and at those who join.

Members of the old view make the next one of it and of what changes (``Delta``).  The delta has a digest of
the whole next view.  The same view id always stands for the same members, so old views are the same wherever
they are, and the digests agree; a member where they do not is not to go on with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from stablecast.membership.cuts import Numbers, cut_of, holders_of, is_sound, numbers_after
from stablecast.membership.messages import Admission, Delta, Proposal, Sync
from stablecast.membership.next_view import applied, digest_of
from stablecast.membership.rank_sets import ranks_in, unpacked
from stablecast.membership.view import Address, View


@dataclass(frozen=True, slots=True)
class Coming:
    """The next view, or that there is none."""

    proposal: Proposal
    view: View | None
    """None if the old one dissolves."""
    numbers: Numbers
    """For each member of the next view, by rank, its parts and messages so far."""
    contact: Address | None
    """Where members of a view that dissolves find the other one."""
    left: frozenset[int]
    """Sessions of members of the old view that wanted to leave."""
    reason: str
    places: tuple[Address, ...]
    cut: tuple[int, ...] = ()
    """For each member of the old view, by rank, its last part that all survivors are to have."""
    holders: tuple[int, ...] = ()
    """For each, the session of a member that has it."""


def after_sync(old: View, base: Numbers, sync: Sync) -> Coming | None:
    """Return what a SYNC says that follows a view, None if it does not fit to the view that is here."""
    if not is_sound(sync.sent, len(old.members)):
        return None
    view = None if sync.delta is None else _next_view(old, sync.delta)
    if view is None and (sync.delta is not None or sync.contact is None):
        return None
    return Coming(
        proposal=sync.proposal,
        view=view,
        numbers=() if view is None else numbers_after(old, base, sync.sent, view),
        contact=sync.contact,
        left=frozenset(old.sessions[r] for r in ranks_in(unpacked(sync.left)) if r < len(old.members)),
        reason=sync.reason,
        places=sync.places,
        cut=cut_of(base, sync.sent),
        holders=holders_of(old, sync.sent),
    )


def _next_view(old: View, delta: Delta) -> View | None:
    if delta.epoch <= old.epoch or any(rank >= len(old.members) for rank, _ in delta.receives):
        return None
    view = applied(old, delta)
    return view if digest_of(view) == delta.digest else None


def for_joiner(coming: Coming, view: View, leader: Address) -> Admission:
    """Return what lets a process in."""
    numbers = tuple((rank, *sent) for rank, sent in enumerate(coming.numbers) if sent != (0, 0))
    return Admission(coming.proposal, leader, view, numbers, coming.reason, coming.places)


def after_admission(frame: Admission) -> Coming | None:
    """Return what a process joins, None if the frame is not sound."""
    numbers = [(0, 0)] * len(frame.view.members)
    for rank, parts, messages in frame.numbers:
        if rank >= len(numbers):
            return None
        numbers[rank] = (parts, messages)
    return Coming(frame.proposal, frame.view, tuple(numbers), None, frozenset(), frame.reason, frame.places)
