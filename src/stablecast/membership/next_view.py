"""Which members a view has, under which names and incarnations, and what it is called in traces.

A name that comes back is given the next incarnation: views remember the last one of each name, and a process
that has been in a view asks for a later one itself.  ``labels`` has what that makes of its label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2s
from typing import TYPE_CHECKING

import msgspec

from stablecast.membership.audiences import Audiences
from stablecast.membership.labels import labelled, labels_after
from stablecast.membership.messages import Delta
from stablecast.membership.rank_sets import holds, packed, ranks_in, unpacked
from stablecast.membership.view import Labels, MemberInfo, Patterns, View

if TYPE_CHECKING:
    from stablecast.membership.change import Change

REMEMBERED_NAMES = 1000
"""How many names' incarnations a view carries."""

REMEMBERED_BYTES = 16 << 10
"""How many bytes their names have together at most, beside those of members."""


def view_alone(view_id: int, epoch: int, me: MemberInfo, *, group: str, main: bool) -> View:
    """Make a view of one process, on the main line or off it."""
    labels = Labels.PLAIN if main else Labels.MARKED
    given = labelled(me, (), max(me.incarnation, 1), labels)
    line = group if main else side_line(group, view_id)
    return View(view_id, epoch, (given,), line, {given.name: given.incarnation}, labels)


def view_together(view_id: int, epoch: int, members: Sequence[MemberInfo], *, group: str) -> View:
    """Make a view of processes that begin together: as if each had joined the view of those before it."""
    incarnations: dict[str, int] = {}
    given = _let_in(members, incarnations, Labels.PLAIN)
    is_apart = not Audiences(given).is_whole
    return View(view_id, epoch, given, group, incarnations, is_apart=is_apart)


def comes_back(me: MemberInfo, last: MemberInfo) -> MemberInfo:
    """Return this process as it asks to be let in after it was, or may have been, in a view as ``last``."""
    return msgspec.structs.replace(me, incarnation=last.incarnation + 1)


def is_later(one: MemberInfo, other: MemberInfo) -> bool:
    """Tell whether a process says that it is a later incarnation than it was."""
    return one.incarnation > other.incarnation


def next_view(
    view_id: int,
    epoch: int,
    change: Change,
    joiners: Sequence[MemberInfo],
    *,
    group: str,
    receives: Mapping[int, Patterns],
) -> View:
    """Put the next view together: survivors in their order, then joiners with the incarnations they get.

    ``receives`` has what some of them want to receive from now on, by their sessions.
    """
    old, stay = change.old, change.survivors
    incarnations, labels = dict(old.incarnations), labels_after(change)
    survivors = [_receiving(member, receives.get(member.session)) for member in change.members(stay)]
    members = (*survivors, *_let_in(joiners, incarnations, labels))
    keeps = keeps_line(len(old.members), stay.bit_count(), change.leavers.bit_count())
    remembered = without_oldest(incarnations, {member.name for member in members})
    if len(remembered) < len(incarnations):
        labels = max(labels, Labels.REMEMBERED)
    return View(
        id=view_id,
        epoch=epoch,
        members=members,
        line=old.line if keeps else side_line(group, view_id),
        incarnations=remembered,
        labels=labels,
        is_apart=old.is_apart or not Audiences(members).is_whole,
    )


def _receiving(member: MemberInfo, receives: Patterns | None) -> MemberInfo:
    """Return a member as it is with what it wants to receive, None for no change."""
    if receives is None or receives == member.receives:
        return member
    return msgspec.structs.replace(member, receives=receives)


def digest_of(view: View) -> int:
    """Return a digest of all that a view has."""
    return int.from_bytes(blake2s(msgspec.msgpack.encode(view), digest_size=8).digest(), "big")


def delta_of(old: View, view: View, survivors: int) -> Delta:
    """Return what makes a view of the one before it, of which these survive."""
    stay = list(zip(ranks_in(survivors), view.members, strict=False))
    return Delta(
        id=view.id,
        epoch=view.epoch,
        out=packed((1 << len(old.members)) - 1 & ~survivors),
        joined=view.members[len(stay) :],
        line=view.line,
        labels=view.labels,
        is_apart=view.is_apart,
        receives=tuple((k, m.receives) for k, m in stay if m.receives != old.members[k].receives),
        digest=digest_of(view),
    )


def applied(old: View, delta: Delta) -> View:
    """Return the view that a delta makes of the one before it."""
    out, receives = unpacked(delta.out), dict(delta.receives)
    stay = [_receiving(m, receives.get(k)) for k, m in enumerate(old.members) if not holds(out, k)]
    members, incarnations = (*stay, *delta.joined), dict(old.incarnations)
    for joined in delta.joined:
        incarnations.pop(joined.name, None)
        incarnations[joined.name] = joined.incarnation
    return View(
        id=delta.id,
        epoch=delta.epoch,
        members=members,
        line=delta.line,
        incarnations=without_oldest(incarnations, {member.name for member in members}),
        labels=delta.labels,
        is_apart=delta.is_apart,
    )


def _let_in(
    joiners: Sequence[MemberInfo], incarnations: dict[str, int], labels: Labels
) -> tuple[MemberInfo, ...]:
    """Return joiners with the incarnations that they get, which are noted."""
    newcomers = []
    for joiner in joiners:
        given = max(joiner.incarnation, incarnations.get(joiner.name, 0) + 1, 1)
        newcomers.append(labelled(joiner, incarnations, given, labels))
        incarnations.pop(joiner.name, None)
        incarnations[joiner.name] = given
    return tuple(newcomers)


def keeps_line(before: int, stay: int, left: int) -> bool:
    """Tell whether a view goes on under its name, by how many it had, how many stay and how many left.

    At least half of those who did not leave on their own; of two, either.
    """
    return before == 2 or 2 * stay >= before - left


def side_line(group: str, view_id: int) -> str:
    """Return what a view off the main line is called."""
    return f"{group}~{view_id:016x}"[: len(group) + 9]


def without_oldest(incarnations: dict[str, int], members: set[str]) -> dict[str, int]:
    """Return the incarnations with no more names and bytes than are remembered; members' names stay."""
    kept = dict(incarnations)
    size = sum(len(name.encode()) for name in kept if name not in members)
    for name in [name for name in kept if name not in members]:
        if len(kept) <= REMEMBERED_NAMES and size <= REMEMBERED_BYTES:
            break
        del kept[name]
        size -= len(name.encode())
    return kept
