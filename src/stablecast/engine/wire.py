"""What is inside a datagram: a destination and frames, packed by msgspec.

A frame is an array with its tag first.  Tags 1 to 19 are data and stability, 20 to 39 membership
(:mod:`stablecast.membership.messages`), 40 to 49 sessions, and 50 is a piece of a frame.  Frames that a later
version adds have new tags; what a frame means never changes without a new version in the datagram's first
byte.  Tag 6 is retired: it was a message of the stability protocol in another form.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

from stablecast.membership.messages import Frame, MembershipFrame
from stablecast.membership.view import Whole, Word

EVERYONE = 0
"""In place of a destination session."""
INSIDE_BYTES = 13
"""Bytes of an inside beside its frames, at most."""

T = TypeVar("T")

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


class Stability(Frame, tag=9, frozen=True):
    """A message of the stability protocol, as the protocol declares it."""

    view: Word
    kind: Whole
    """Which of the protocol's messages it is."""
    numbers: list[Long]
    """Its whole numbers, in the order of their declaration."""
    entries: list[Long]
    """Its arrays, one behind the other."""
    need: bool = False
    """Whether its sender knows of something that is not stable, so that others must not rest."""


class Hello(Frame, tag=40, frozen=True):
    """Who are you?  Say this number, so that I know that you speak now."""

    challenge: Word


class Welcome(Frame, tag=41, frozen=True):
    """The answer to a challenge, and another one."""

    answer: Word
    challenge: Word


class Thanks(Frame, tag=42, frozen=True):
    """The answer to the second challenge."""

    answer: Word


class Piece(Frame, tag=50, frozen=True, gc=False):
    """A piece of a frame that is too large for a datagram."""

    name: Word
    """Of the whole frame: a digest of its content."""
    index: Whole
    """Which piece it is, from 0."""
    count: Whole
    """How many there are."""
    chunk: bytes


WholeFrame = (
    Data
    | Fragment
    | Nak
    | SentSoFar
    | Progress
    | Stability
    | AskHistory
    | History
    | MembershipFrame
    | Hello
    | Welcome
    | Thanks
)
AnyFrame = WholeFrame | Piece

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[int, list[AnyFrame]])
_whole_decoder: msgspec.msgpack.Decoder[WholeFrame] = msgspec.msgpack.Decoder(WholeFrame)


def encode(frame: AnyFrame) -> bytes:
    """Return one frame packed, for :func:`pack_encoded`."""
    return _encoder.encode(frame)


def pack_encoded(frames: list[bytes], to: int = EVERYONE) -> bytes:
    """Return the inside of a datagram, of frames that are packed already."""
    count = len(frames)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdc" + count.to_bytes(2, "big")
    return b"".join((b"\x92", _encoder.encode(to), head, *frames))


def pack(frames: list[AnyFrame], to: int = EVERYONE) -> bytes:
    """Return the inside of a datagram."""
    return _encoder.encode((to, frames))


def unpack(inside: bytes) -> tuple[int, list[AnyFrame]]:
    """Return destination and frames; raises ``msgspec.DecodeError`` for anything else."""
    return _decoded(_decoder, inside)


def decode(packed: bytes) -> WholeFrame:
    """Return one frame that was put together; raises ``msgspec.DecodeError`` for anything else."""
    return _decoded(_whole_decoder, packed)


def _decoded(decoder: msgspec.msgpack.Decoder[T], packed: bytes) -> T:
    try:
        return decoder.decode(packed)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(f"not what is in a datagram: {error}") from None
