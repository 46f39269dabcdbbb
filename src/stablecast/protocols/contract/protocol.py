"""The description of a protocol: its message types, its kernels, and what they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stablecast.overlays import Tree

Kernel = Callable[..., None]


class Place(NamedTuple):
    """Each member's place in an overlay: row ``i`` is ``flat[start[i]:start[i+1]]``."""

    flat: NDArray[np.int32]
    start: NDArray[np.int64]

    def of(self, member: int) -> NDArray[np.int32]:
        """Return the entries of one member."""
        return self.flat[self.start[member] : self.start[member + 1]]


def columns(*entries: Sequence[int] | NDArray[np.int64]) -> Place:
    """Build places of equal width from one array for each entry."""
    table = np.stack([np.asarray(entry, dtype=np.int32) for entry in entries], axis=1)
    start = np.arange(table.shape[0] + 1, dtype=np.int64) * table.shape[1]
    return Place(np.ascontiguousarray(table).reshape(-1), start)


@dataclass(frozen=True)
class Protocol:
    """A stability protocol, written once and driven by the simulator and by live groups."""

    name: str
    """The paper's name for it, used everywhere."""
    title: str
    """One line for people."""
    paper: str
    """Short name of the paper, and the section."""
    kinds: tuple[str, ...]
    """Message types; a kernel names one by its index."""
    start: Kernel
    """``start(me, now, out)``: member 0 begins the next execution."""
    receive: Kernel
    """``receive(me, message, now, out)``: what a message does to a member."""
    handle_timer: Kernel
    """``handle_timer(me, now, out)``: what happens when the timer that a member set goes off."""
    place: Callable[[Tree], Place]
    """Places every member in the overlay, given the tree of members."""
    module: str
    """The module that defines the kernels; the simulator compiles its loop against it."""
    rows: tuple[str, ...] = ()
    """For each kind, the row of the papers' tables that it is counted in; by default the kind itself."""
    registers: int = 4
    """Length of ``Member.reg``."""
    slots: int = 1
    """Rows of ``Member.gathered``."""
    timed: bool = False
    """Whether its kernels set timers."""
    sends_max: int = 4
    """Most messages that one kernel call puts into the outbox."""

    def row_of(self, kind: int) -> str:
        """Return the table row that messages of a kind are counted in."""
        return self.rows[kind] if self.rows else self.kinds[kind]
