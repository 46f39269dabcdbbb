"""The messages that a page tells of, and for each why it took so long.

A message that some member knew to be stable has a critical path from its sending until then. Where no
member knew, as in most delivery logs from elsewhere, the answer goes as far as the trace does: until
everyone had it, by way of the member that had it last. If not even that came about, there is no length,
and a line says who lacks the message.

The slowest ones are those that took longest until they were known; in a trace without any such row, until
the last receipt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stablecast.causes import critical_path, life, slowest
from stablecast.causes.phases import HAD, Phase
from stablecast.causes.segments import duration
from stablecast.errors import StablecastError
from stablecast.report.lens.events import Arrows, Ints

if TYPE_CHECKING:
    from stablecast.causes import Life, Run, Segment

FEW = 5


@dataclass(frozen=True)
class Answer:
    """Why a message took so long until it was known to be stable, or until everyone had it."""

    source: str
    seq: int
    member: str
    """Who knew it, or had it last."""
    known: bool
    begin_us: int
    end_us: int
    segments: tuple[Segment, ...]
    phases: tuple[Phase, ...]
    last_member: str | None
    way: tuple[Segment, ...]
    lines: tuple[str, ...]
    """For a person; three to six of them."""
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As it is written in every place where a message is asked for."""
        return f"{self.source}/{self.seq}"

    @property
    def length_us(self) -> int:
        """From the sending on."""
        return self.end_us - self.begin_us

    @property
    def until(self) -> str:
        """What came about at the end."""
        if self.known:
            return f"{self.member} knew that every member has it"
        return f"{self.member} had it, the last member"


@dataclass(frozen=True)
class Lacking:
    """A message that some member lacks to the end of the trace."""

    source: str
    seq: int
    line: str


def answer(run: Run, source: str, seq: int, at: str | None) -> Answer | Lacking:
    """Return why a message took so long; one line says what there is if there is no such message."""
    told = life(run, source, seq)
    if any(one.known_us is not None for one in told.members):
        return _known(run, source, seq, at)
    return _had(told)


def answers(run: Run, arrows: Arrows, at: str | None, most: int) -> tuple[list[Answer], int]:
    """Return those of the slowest messages, the slowest one first, and how many messages there are."""
    known = slowest(run, int(run.rows.time_us.size), at=at)
    wanted = [(one.source, one.seq) for one in known] if known else _by_last_receipt(run, arrows)
    found = (_quietly(run, source, seq, at) for source, seq in wanted[:most])
    return sorted((one for one in found if one), key=lambda one: -one.length_us), len(wanted)


def _quietly(run: Run, source: str, seq: int, at: str | None) -> Answer | None:
    """Return an answer if there is one: a list leaves out what cannot be told."""
    try:
        told = answer(run, source, seq, at)
    except StablecastError:
        return None
    return told if isinstance(told, Answer) else None


def _known(run: Run, source: str, seq: int, at: str | None) -> Answer:
    path = critical_path(run, source, seq, at=at)
    return Answer(
        source,
        seq,
        path.member,
        True,
        path.sent_us,
        path.detected_us,
        path.segments,
        path.phases,
        path.last_member,
        path.way,
        tuple(path.lines()),
        path.remarks,
    )


def _had(told: Life) -> Answer | Lacking:
    name = f"{told.source}/{told.seq}"
    if told.stable_us is None or told.sent_us is None or told.last_member is None:
        lack = [one.member for one in told.members if one.required and one.received_us is None]
        more = f" and {len(lack) - FEW} more" if len(lack) > FEW else ""
        who = f": {', '.join(lack[:FEW])}{more}" if lack else ""
        return Lacking(told.source, told.seq, f"{name} is not at every member by the end of the trace{who}")
    text = f"Everyone had it when {told.last_member} had it."
    unknown = "No member tells in this trace that it knew the message to be stable."
    lines = (
        f"{told.last_member} had {name} {duration(told.stable_us - told.sent_us)} after its sending.",
        unknown,
    )
    phase = Phase(HAD, told.sent_us, told.stable_us, text)
    ends = (told.sent_us, told.stable_us)
    last = told.last_member
    return Answer(told.source, told.seq, last, False, *ends, told.way, (phase,), last, (), lines, (unknown,))


def _by_last_receipt(run: Run, deliveries: Arrows) -> list[tuple[str, int]]:
    """Return the messages, that which took longest from its sending to its last receipt first."""
    if not len(deliveries):
        return []
    width = int(deliveries.seq.max()) + 1
    keys: Ints = deliveries.source * width + deliveries.seq
    names, place = np.unique(keys, return_inverse=True)
    took = np.zeros(names.size, np.int64)
    np.maximum.at(took, place, deliveries.end - deliveries.sent)
    order = np.argsort(-took, kind="stable")
    return [(run.members[int(key // width)], int(key % width)) for key in names[order]]
