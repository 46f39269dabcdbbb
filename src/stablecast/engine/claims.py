"""The arrays of stability messages as they travel: of sources that nobody waits for, nothing is said.

What an array means
    In a protocol that takes minima (``runs.by_minimum``), an array with an entry for each source comes with a
    set of members: those whose arrays are in the minimum, or everyone, if it is a result.  An entry is the
    *claim* that everyone in the set who receives the source has at least so many parts of it.
What is left out
    An entry that is not above what its sender knows to be stable, unless that has become stable with one of
    the last ``RESULTS`` results here.  The receiver takes what it knows to be stable itself in its place.
Why that is safe
    Whoever knows a source to be stable up to v knows that everyone who receives it has v parts, whoever that
    set is.  So the claim with v in place of what was left out is true.  The minimum of true claims is true
    for the union of their sets, and kernels know nothing but claims.
Why nothing is lost
    Entries above what their sender knows to be stable always travel, and these alone can make anything
    stable that its sender does not know to be so.  A receiver that knows less than the sender takes a lower
    number than was meant.  It lacks a result then, and the next ``RESULTS`` results bring that again; a
    member cannot miss these for being paused, since none of them is found without its report.  One that has
    lost all of them hears of it by signs of life.
What it costs
    A few operations on whole arrays at each end, and bytes for sources that are busy.  A member that does not
    receive some sources claims to have everything of these, which is never left out.

In other protocols all entries travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.engine.wire import Stability
from stablecast.protocols.contract import Machine

RESULTS = 8
"""Results with which a source's stable number travels, from the one that raised it on."""

Ints = NDArray[np.int64]


class Claims:
    """Packs and unpacks the arrays of one member's stability messages."""

    def __init__(self, machine: Machine) -> None:
        self._stable: Ints = machine.me.stable
        self._results = 0
        self._last_rise = np.full(self._stable.size, -RESULTS, np.int64)
        """For each source, the number of the result that raised what is known to be stable."""
        protocol = machine.protocol
        fields = [protocol.declaration.fields[message] for message in protocol.messages]
        self._forms = [
            _Form([(k.length(machine.sizes), k.by_source) for k in kinds.values() if k.storage != "number"])
            if protocol.runs.by_minimum
            else None
            for kinds in fields
        ]

    def rose(self, sources: Sequence[int] | Ints) -> None:
        """Note that more of some sources is known to be stable."""
        self._results += 1
        self._last_rise[sources] = self._results

    def pack(self, kind: int, array: NDArray[np.integer[Any]] | None) -> tuple[list[int], list[int]]:
        """Return the sources that a message says something about, and its entries."""
        form = self._forms[kind]
        if array is None or form is None or not form.starts:
            return [], [] if array is None else array.tolist()
        telling = self._last_rise > self._results - RESULTS
        for start in form.starts:
            telling |= array[start : start + self._stable.size] > self._stable
        sources = np.flatnonzero(telling)
        return sources.tolist(), array[form.places(sources)].tolist()

    def unpack(self, frame: Stability) -> Ints | None:
        """Return the arrays of a message, None if it has none; raises ``ValueError`` if they do not fit."""
        form = self._forms[frame.kind] if frame.kind < len(self._forms) else None
        if form is None or not form.starts:
            if frame.sources:
                raise ValueError("a message that leaves nothing out names sources")
            return np.array(frame.entries, np.int64) if frame.entries else None
        named = frame.sources
        if named and (named[-1] >= self._stable.size or any(a >= b for a, b in pairwise(named))):
            raise ValueError("sources that do not exist, or not in ascending order")
        places = form.places(np.array(named, np.int64))
        if len(frame.entries) != places.size:
            raise ValueError("as many entries as sources are named would fit")
        array = np.empty(form.width, np.int64)
        for start in form.starts:
            array[start : start + self._stable.size] = self._stable
        array[places] = frame.entries
        return array


class _Form:
    """How the arrays of a kind of message lie one behind the other: lengths, and which are by source."""

    def __init__(self, arrays: Sequence[tuple[int, bool]]) -> None:
        self.width = 0
        self.starts: list[int] = []
        """Where arrays with an entry for each source begin."""
        self._parts: list[int | Ints] = []
        for length, by_source in arrays:
            if by_source and length:
                self.starts.append(self.width)
                self._parts.append(self.width)
            else:
                self._parts.append(np.arange(self.width, self.width + length))
            self.width += length

    def places(self, sources: Ints) -> Ints:
        """Return where the entries lie that travel: those of some sources, and all that are no sources'."""
        if len(self._parts) == 1:
            return sources
        return np.concatenate([sources + part if isinstance(part, int) else part for part in self._parts])
