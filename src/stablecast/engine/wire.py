"""What is inside a datagram: a destination and frames, packed by msgspec.

A frame is an array with its tag first.  Tags 1 to 19 are data (:mod:`stablecast.multicast.frames`) and
stability, 20 to 39 membership (:mod:`stablecast.membership.messages`), 40 to 49 sessions, and 50 is a piece
of a frame.  Frames that a later
version adds have new tags; what a frame means never changes without a new version in the datagram's first
byte.  Tags 6 and 9 are retired: they were messages of the stability protocol in other forms.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

from stablecast.membership.messages import Frame, MembershipFrame
from stablecast.membership.view import Whole, Word
from stablecast.multicast.frames import DataFrame, Long

EVERYONE = 0
"""In place of a destination session."""
INSIDE_BYTES = 13
"""Bytes of an inside beside its frames, at most: the number of frames, and a session, or, where all are to
have it, in as many bytes, that it is to be passed on."""
DEGREE_MOST = 64
"""Members that a tree has below one of its members, at most."""
STEP_MOST_US = 3_600_000_000
"""No step is longer than an hour."""

T = TypeVar("T")


class Stability(Frame, tag=10, frozen=True):
    """A message of the stability protocol, as the protocol declares it."""

    view: Word
    kind: Whole
    """Which of the protocol's messages it is."""
    numbers: list[Long]
    """Its whole numbers, in the order of their declaration."""
    sources: list[Whole]
    """Sources that its arrays of sources have entries for, where these leave some out; in ascending order."""
    entries: list[Long]
    """Its arrays, one behind the other."""
    need: bool = False
    """Whether its sender knows of something that is not stable, so that others must not rest."""


class Step(Frame, tag=15, frozen=True):
    """The step to take, of the member that searches for it."""

    view: Word
    number: Whole
    """Grows with each change; the largest counts."""
    step_us: Annotated[int, msgspec.Meta(ge=1, le=STEP_MOST_US)]


class PassOn(Frame, tag=14, frozen=True):
    """Pass this datagram on as it is, to those below in the tree of who sealed it; the first frame in it.

    A tree follows from the view, the degree, and whether it is that of all or of the source's audience
    (:mod:`stablecast.membership.trees`).  All that takes no more bytes than a session would, so such
    datagrams hold as much as others.  Taking one view for another by its mark has a copy sent in vain, and
    does no harm: the frames that follow name theirs.
    """

    mark: Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]
    """The last 32 bits of the view's id."""
    tree: Annotated[int, msgspec.Meta(ge=0, lt=2 * DEGREE_MOST)]
    """One less than the degree, and 64 more for the tree of the audience."""

    @classmethod
    def along(cls, view: int, degree: int, *, audience: bool) -> PassOn:
        """Return the frame for a tree of a view."""
        return cls(mark_of(view), degree - 1 + (DEGREE_MOST if audience else 0))

    @property
    def degree(self) -> int:
        """Members that the tree has below one of its members, at most."""
        return self.tree % DEGREE_MOST + 1

    @property
    def audience(self) -> bool:
        """Whether it is the tree of the source's audience, and not of all."""
        return self.tree >= DEGREE_MOST


def mark_of(view: int) -> int:
    """Return what names a view where one of few is meant."""
    return view & (1 << 32) - 1


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


WholeFrame = DataFrame | Stability | Step | PassOn | MembershipFrame | Hello | Welcome | Thanks
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
