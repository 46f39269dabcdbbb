"""What members say about payloads: messages, what is missing, how far they have come, and what was before."""

from __future__ import annotations

from typing import Annotated

import msgspec

from stablecast.membership.messages import Frame
from stablecast.membership.view import Whole, Word

Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A number of the stability protocol: 64 bits, with a sign."""


class Data(Frame, tag=1, frozen=True, gc=False):
    """Whole messages of a source, one part each, in a row."""

    view: Word
    source: Whole
    """Rank."""
    part: Whole
    """Number of the first part; the others follow."""
    seq: Whole
    """Number of the first message; the others follow."""
    payloads: list[bytes]
    attached: list[Long] = msgspec.field(default_factory=list)
    """What the stability protocol puts into data messages, for each of them in turn."""
    stable: Whole = 0
    """Last part of the source that it knew to be everywhere: who takes this run in can let go of that."""


class Fragment(Frame, tag=2, frozen=True, gc=False):
    """One part of a message that is too large for a datagram."""

    view: Word
    source: Whole
    part: Whole
    seq: Whole
    index: Whole
    """Which part of the message, from 0."""
    count: Whole
    """How many parts it has."""
    chunk: bytes
    attached: list[Long] = msgspec.field(default_factory=list)
    """As in ``Data``, of this part."""
    stable: Whole = 0
    """As in ``Data``."""


class Nak(Frame, tag=3, frozen=True):
    """Parts that the sender of this frame lacks."""

    view: Word
    source: Whole
    ranges: list[tuple[Whole, Whole]]
    """First and last part of each."""


class SentSoFar(Frame, tag=4, frozen=True):
    """The sender of this frame has sent so many parts, and knows so many of its own to be everywhere."""

    view: Word
    parts: Whole
    stable: Whole
    ask: bool = False
    """Whether it wants to know at once how far the others have come."""


class Progress(Frame, tag=5, frozen=True):
    """How far the sender of this frame has come with what ``source`` sent."""

    view: Word
    source: Whole
    part: Whole


class AskHistory(Frame, tag=7, frozen=True):
    """A newcomer asks a late-join handler for messages of before it joined."""

    view: Word
    source: str
    """The member's label, as it was agreed on, or as who asks was told where its session is not known."""
    first: Whole
    last: Whole
    session: Word = 0
    """The member's session; 0 if it is not known."""


class History(Frame, tag=8, frozen=True):
    """Messages of before, or the answer that they are gone."""

    view: Word
    source: str
    first: Whole
    payloads: list[bytes]
    gone: bool
    """Whether what was asked for, from ``first`` on, is no longer kept."""
    kept_from: Whole
    """First message of this source that is kept; 0 if none is."""
    session: Word = 0
    """The source's session; 0 if nothing of it is kept."""
    more: bool = False
    """Whether what follows is on its way too."""


class Digest(Frame, tag=16, frozen=True):
    """What the sender of this frame has received of what is not let go yet, in bimodal delivery."""

    view: Word
    sources: list[tuple[Whole, Whole, Whole, Whole, list[tuple[Whole, Whole]]]]
    """For each source that there is news of: its rank, the part up to which all is over, the last part that
    is known to exist, the last message that ends up to there, and the parts between that have come."""


class Forward(Frame, tag=17, frozen=True):
    """Another member lacks these parts, and the receiver of this frame may keep them."""

    view: Word
    source: Whole
    ranges: list[tuple[Whole, Whole]]
    to: Whole
    """Rank of who lacks them."""


class AskMulticast(Frame, tag=18, frozen=True):
    """Many lack these parts: whoever keeps them is to multicast them again."""

    view: Word
    source: Whole
    ranges: list[tuple[Whole, Whole]]


class Messages(Frame, tag=19, frozen=True):
    """Which messages the sender of this frame has, or has given up; goes with signs of life."""

    view: Word
    told: tuple[tuple[Whole, Whole, Whole], ...]
    """Of the sources that the sign of life is about: the rank, the last part before the first gap, and the
    last message that ends up to there."""


Run = Data | Fragment
"""A frame as its source made it: some whole messages, or one part of a large one."""
Gossip = Digest | Forward | AskMulticast | Messages
"""What members say in bimodal delivery alone."""
DataFrame = Run | Nak | SentSoFar | Progress | AskHistory | History | Gossip
