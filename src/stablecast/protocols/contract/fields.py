"""Kinds of fields that a protocol declares: what a member keeps, and what a message carries.

A protocol's state is a class, and each of its messages a named tuple, with a kind for each field:

    class State(Member):
        execution: Number
        S: Sources

    class ACK(NamedTuple):
        execution: Round
        R: Sources

Where a field lies in memory, how much room it takes, and how many bytes it has on the wire follow from that.
``Number``, ``Sources`` and so on are the common kinds; a field of another length is declared by a kind that
:func:`entries` or :func:`set_of` makes: ``live: Annotated[IntArray, entries(lambda sizes: sizes.group)]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stablecast.frontier.sets import BITS

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Sizes:
    """What the sizes of a protocol's state and messages follow from."""

    group: int
    """Members."""
    tracked: int
    """Sequence numbers of an array that are there."""
    wire: int
    """Sequence numbers of an array on the wire."""
    entry_bytes: int
    params: Mapping[str, int] = field(default_factory=dict)
    """The protocol's parameters by name, as kernels see them."""
    guarded: bool = False
    """Whether messages may come twice, be sent again, or their senders be gone."""
    leaders: tuple[int, ...] = ()
    """For each column, the member whose messages are numbered in it; empty if that is not known."""
    audiences: tuple[tuple[int, ...], ...] = ()
    """For each column, the members that its messages are for; empty if that is everyone."""
    zones: tuple[str, ...] = ()
    """For each member, what the place is called where it is; empty if that is not known."""


Length = Callable[[Sizes], int]
Message = TypeVar("Message")


def word_count(n: int) -> int:
    """Return the length of a set of ``n`` as an array of words."""
    return -(-n // BITS)


@dataclass(frozen=True)
class Kind:
    """What sort of thing a field is."""

    storage: str
    """``number``, ``sequences`` (an array of sequence numbers' type), ``longs`` (an array of 64 bits), or
    of the member's place in the overlay a ``place`` (a number) or a ``list``, or ``shared`` by all."""
    length: Length = lambda sizes: 1
    rows: Length | None = None
    """Rows of an array of two dimensions; None for one."""
    wire: Length = lambda sizes: 0
    """Bytes in a message."""
    below: Length | None = None
    """Of a number in a message: it is at least 0 and below this; None for any of 64 bits."""
    elements: Length | None = None
    """Of a set: how many there are that may be in it."""
    by_source: bool = False
    """Whether it is an array with an entry for each source."""

    def size(self, sizes: Sizes) -> int:
        """Return the entries of all rows."""
        return self.length(sizes) * (1 if self.rows is None else self.rows(sizes))


def _always(sizes: Sizes) -> bool:
    return True


def guarded(sizes: Sizes) -> bool:
    """Tell whether a run can lose or repeat messages, or lose members."""
    return sizes.guarded


def entries(
    count: Length,
    *,
    rows: int | Length = 0,
    wide: bool = False,
    when: Callable[[Sizes], bool] = _always,
    wire: Length | None = None,
) -> Kind:
    """Return the kind of an array; where ``when`` does not hold it has no entries, and takes no bytes.

    With ``rows`` it has two dimensions: ``me.name[k]`` is row k, of ``count`` entries.
    """

    def length(sizes: Sizes) -> int:
        return count(sizes) if when(sizes) else 0

    def wire_bytes(sizes: Sizes) -> int:
        if not when(sizes):
            return 0
        return count(sizes) * sizes.entry_bytes if wire is None else wire(sizes)

    return Kind("longs" if wide else "sequences", length, _row_count(rows), wire_bytes)


def _row_count(rows: int | Length) -> Length | None:
    if isinstance(rows, int):
        return (lambda sizes: rows) if rows else None
    return rows


def set_of(
    count: Length,
    *,
    rows: int | Length = 0,
    when: Callable[[Sizes], bool] = _always,
    wire: Length | None = None,
) -> Kind:
    """Return the kind of a set of so many; on the wire it has a bit for each, or what ``wire`` says."""
    made = entries(
        lambda sizes: word_count(count(sizes)),
        rows=rows,
        when=when,
        wire=wire or (lambda sizes: -(-count(sizes) // 8)),
    )
    return replace(made, elements=count)


def sources(*, rows: int | Length = 0, wide: bool = False, when: Callable[[Sizes], bool] = _always) -> Kind:
    """Return the kind of an array with an entry for each source; all of them count on the wire."""
    made = entries(
        lambda sizes: sizes.tracked,
        rows=rows,
        wide=wide,
        when=when,
        wire=lambda sizes: sizes.wire * sizes.entry_bytes,
    )
    return replace(made, by_source=True)


def members(*, rows: int | Length = 0, when: Callable[[Sizes], bool] = _always) -> Kind:
    """Return the kind of a set of members."""
    return set_of(lambda sizes: sizes.group, rows=rows, when=when)


def counted_as(row: str) -> Callable[[type[Message]], type[Message]]:
    """Have a message counted in a row of the papers' tables that is not named like it."""

    def set_row(message: type[Message]) -> type[Message]:
        message.row = row  # type: ignore[attr-defined]
        return message

    return set_row


def number(wire: Length | None = None, *, below: Length | None = None) -> Kind:
    """Return the kind of a whole number of 64 bits; in a message it takes a sequence number's bytes.

    Kernels do not check bounds.  A number of a message that they use as an index has to be declared with
    ``below``, the length of what it is an index into: live groups refuse a message in which it is not below.
    """
    return Kind("number", wire=wire or (lambda sizes: sizes.entry_bytes), below=below)


ROUNDS = 1 << 62
"""Numbers of rounds are below this, so that kernels can count on from any that they are sent."""


Number = Annotated[int, number()]
"""A whole number of 64 bits."""
Round = Annotated[int, number(lambda sizes: 0, below=lambda sizes: ROUNDS)]
"""In a message: the execution or round that it belongs to, which is part of the header."""
Column = Annotated[int, number(lambda sizes: 0, below=lambda sizes: sizes.tracked)]
"""In a message: the source that it is about, as an index into ``Sources``; it is part of the header."""
MemberNumber = Annotated[int, number(below=lambda sizes: sizes.group)]
"""In a message: the number of a member."""
Time = Annotated[int, number()]
"""A time in picoseconds."""
Sources = Annotated[IntArray, sources()]
"""An array with an entry for each source, such as the paper's R and S."""
Members = Annotated[IntArray, members()]
"""A set of members."""
Place = Annotated[int, Kind("place")]
"""A number of the member's place in the overlay, such as its parent."""
Places = Annotated[IntArray, Kind("list")]
"""Several of them, such as its neighbours."""
Overlay = Annotated[IntArray, Kind("shared")]
"""An array of the overlay that is the same for all members, such as the parent of each."""
