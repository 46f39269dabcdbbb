"""One run of a group: its rows as columns, the members' names, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stablecast.analysis.options import Options
    from stablecast.causes.graph import Graph

Ints = NDArray[np.int64]
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


@dataclass(frozen=True)
class Run:
    """One run of one group."""

    group: str
    members: tuple[str, ...]
    """Members and sources, smallest name first."""
    kinds: tuple[str, ...]
    messages: tuple[str, ...]
    """What transmissions and timers are called."""
    rows: Rows
    has_wire: bool
    """Whether the trace tells of transmissions; without them there is no graph to speak of."""
    remarks: tuple[str, ...] = ()
    """What is odd about the trace, a sentence each: clocks that run apart, transmissions that are missing."""

    @cached_property
    def graph(self) -> Graph:
        """The steps of all members, and what each one waited for."""
        raise NotImplementedError

    def member(self, name: str) -> int:
        """Return a member's place; one line says who there is if there is no such member."""
        raise NotImplementedError


def read(
    paths: Iterable[Path | str], *, group: str | None = None, options: Options | None = None
) -> Run:
    """Read one run: Parquet, JSON lines, or folders of members' logs, whose clocks are one machine's.

    Parameters
    ----------
    paths
        Files and folders.
    group
        Which group, if the files tell of several.
    options
        How a delivery log from elsewhere says what the schema says.
    """
    raise NotImplementedError
