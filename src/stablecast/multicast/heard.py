"""How far members of a view have come with each source, as one of them has heard.

There is an entry for each member and source of which something was heard, and none for the others, so that it
takes room for those who send and those who tell this member, and not for all pairs.  Nothing heard is not the
same as nothing received: ``knows`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Heard:
    """For members by rank, their last part of each source that was heard of; it never goes back.

    Parameters
    ----------
    bases
        For each source by rank, its last part before the view, which everyone has.
    """

    def __init__(self, bases: Sequence[int]) -> None:
        self._bases = bases
        self._columns: dict[int, dict[int, int]] = {}

    def of(self, rank: int, source: int) -> int:
        """Return a member's last part of a source, as far as it is known."""
        column = self._columns.get(source)
        return self._bases[source] if column is None else column.get(rank, self._bases[source])

    def knows(self, rank: int, source: int) -> bool:
        """Tell whether anything was heard of what a member has of a source."""
        return rank in self._columns.get(source, ())

    def column(self, source: int) -> Mapping[int, int]:
        """Return the last parts of a source that were heard of, by the ranks of who has them."""
        return self._columns.get(source, {})

    def take(self, rank: int, source: int, part: int) -> None:
        """Hear that a member has a source's parts up to this one."""
        column = self._columns.get(source)
        if column is None:
            column = self._columns[source] = {}
        if part > column.get(rank, -1):
            column[rank] = max(part, self._bases[source])
