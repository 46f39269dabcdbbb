"""How many members a view may have: no more than any of them can send to.

A member tells the most members of a view that it can send in (``MemberInfo.most``), and every view names its
members, so whoever leads knows the limit of the next view.  Views only grow by joiners and by merging.  A
leader lets in who fits and refuses the others; views that would not fit together do not merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stablecast.membership.identity import Identity
from stablecast.membership.view import MemberInfo

ANY_NUMBER = 0


def most_of(members: Iterable[MemberInfo]) -> int:
    """Return how many members a view of these may have, ``ANY_NUMBER`` if nobody says."""
    return lesser(*(member.most for member in members))


def lesser(*limits: int) -> int:
    """Return the least of some limits, ``ANY_NUMBER`` if there is none."""
    return min((limit for limit in limits if limit != ANY_NUMBER), default=ANY_NUMBER)


def fits(count: int, limit: int) -> bool:
    """Tell whether so many members are within a limit."""
    return limit == ANY_NUMBER or count <= limit


def who_fits(stay: Sequence[MemberInfo], asking: Iterable[MemberInfo]) -> list[MemberInfo]:
    """Return those who ask that can be in one view with those who stay, the first ones before others."""
    chosen: list[MemberInfo] = []
    limit = most_of(stay)
    for joiner in asking:
        limit_with = lesser(limit, joiner.most)
        if fits(len(stay) + len(chosen) + 1, limit_with):
            chosen.append(joiner)
            limit = limit_with
    return chosen


def why_not(stay: Sequence[MemberInfo], joiner: MemberInfo, protocol: str) -> str:
    """Say why a process does not fit into a view."""
    least = min((member for member in (*stay, joiner) if member.most != ANY_NUMBER), key=lambda m: m.most)
    return (
        f"the group has {len(stay)} members, and '{least.name}' can be in one of at most {least.most}: its"
        f" datagrams have room for what protocol '{Identity.of(protocol).name}' attaches for so many"
        " (accepted: larger datagrams, at every member)"
    )
