"""One run of a group: its rows as columns, by member, and what follows from them.

Rows stand by member, and those of one member in the order in which they happened, which is the order in the
member's log or, in a trace of messages alone, the order of their times.  Names are places in lists, so a
million rows are fifteen arrays of numbers.  Nothing else is stored: the graph, and which row tells of which
message, follow from the rows and are computed when they are first asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import unknown_name

if TYPE_CHECKING:
    from stablecast.causes.deliveries import Deliveries
    from stablecast.causes.executions import Executions
    from stablecast.causes.graph import Graph

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
ABSENT = -1
"""In place of a name, a number or a time that a row does not have."""


@dataclass(frozen=True)
class Rows:
    """All rows of a run, by member, and of each member in the order in which they happened."""

    kind: Ints
    """Places in :attr:`Run.kinds`."""
    member: Ints
    """Places in :attr:`Run.members`; so are ``source`` and ``peer``."""
    source: Ints
    seq: Ints
    time_us: Ints
    size: Ints
    step: Ints
    peer: Ints
    message: Ints
    """Places in :attr:`Run.messages`."""
    number: Ints
    execution: Ints
    first_seq: Ints
    queue_us: Ints
    service_us: Ints
    since_us: Ints

    def __len__(self) -> int:
        return int(self.kind.size)

    def take(self, places: Ints | Mask) -> Rows:
        """Return the chosen rows, in the order of their places."""
        return Rows(*(getattr(self, column.name)[places] for column in fields(self)))


@dataclass(frozen=True)
class Run:
    """One run of one group."""

    group: str
    members: tuple[str, ...]
    """Members and sources, smallest name first; then whoever else transmitted, such as an address."""
    kinds: tuple[str, ...]
    messages: tuple[str, ...]
    """What transmissions and timers are called."""
    rows: Rows
    has_wire: bool
    """Whether the trace tells of transmissions; otherwise a receipt's cause is taken to be the sending."""
    told: int
    """How many of ``members`` have rows or messages of their own: the first ones."""

    @cached_property
    def graph(self) -> Graph:
        """The steps of all members, and what each one waited for."""
        from stablecast.causes.building import graph_of

        return graph_of(self)

    @cached_property
    def deliveries(self) -> Deliveries:
        """Which rows tell of which message."""
        from stablecast.causes.deliveries import Deliveries

        return Deliveries(self)

    @cached_property
    def executions(self) -> Executions:
        """When executions of the protocol began and passed members."""
        from stablecast.causes.executions import Executions

        return Executions(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd about the trace, a sentence each: clocks that run apart, missing transmissions."""
        return self.graph.remarks

    def member(self, name: str) -> int:
        """Return a member's place; one line says who there is if there is no such member."""
        if name not in self._places:
            raise unknown_name("member", name, self.members)
        return self._places[name]

    def of_kind(self, *kinds: str) -> Mask:
        """Tell which rows are of some kinds."""
        return np.isin(self.rows.kind, [self.kinds.index(kind) for kind in kinds])

    def kind_of(self, row: int) -> str:
        """Return what a row is."""
        return self.kinds[int(self.rows.kind[row])]

    def message_of(self, row: int) -> str | None:
        """Return what a row's transmission or timer is called."""
        place = int(self.rows.message[row])
        return None if place == ABSENT else self.messages[place]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.members)}
