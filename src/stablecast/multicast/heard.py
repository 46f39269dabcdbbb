"""How far each member of a view has come with each source, as one of them has heard.

There is a column for each source of which something was heard, and none for the others, so that it takes room
for those who send and not for all pairs of members.
"""

from __future__ import annotations

from collections.abc import Sequence


class Heard:
    """For each member by rank, its last part of each source that was heard of; it never goes back.

    Parameters
    ----------
    bases
        For each source by rank, its last part before the view, which everyone has.
    """

    def __init__(self, bases: Sequence[int]) -> None:
        self._bases = bases
        self._columns: dict[int, list[int]] = {}

    def of(self, rank: int, source: int) -> int:
        """Return a member's last part of a source."""
        column = self._columns.get(source)
        return self._bases[source] if column is None else column[rank]

    def column(self, source: int) -> Sequence[int]:
        """Return all members' last parts of a source, by rank."""
        column = self._columns.get(source)
        return [self._bases[source]] * len(self._bases) if column is None else column

    def take(self, rank: int, source: int, part: int) -> None:
        """Hear that a member has a source's parts up to this one."""
        column = self._columns.get(source)
        if column is None:
            if part <= self._bases[source]:
                return
            column = self._columns[source] = [self._bases[source]] * len(self._bases)
        if part > column[rank]:
            column[rank] = part

    def take_row(self, rank: int, row: Sequence[int], news: Sequence[int]) -> None:
        """Hear a member's last part of every source; ``news`` are the sources that may have no column yet."""
        for source in news:
            self.take(rank, source, row[source])
        for source, column in self._columns.items():
            if row[source] > column[rank]:
                column[rank] = row[source]
