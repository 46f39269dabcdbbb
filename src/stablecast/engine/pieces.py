"""Frames that are too large for a datagram travel in pieces.

Why pieces of different frames never mix
    A piece is named by a digest of the whole frame, and a frame that was put together is taken only if it has
    that digest.  The name follows from the content alone.  A frame that is sent again, as membership does
    until it is answered, therefore has the same pieces, and each repetition brings those that are missing.
What it costs
    Pieces are taken from trusted sessions only.  A session has at most ``FRAMES_OF_ONE`` incomplete frames at
    a receiver, all sessions together at most ``BYTES_OF_ALL`` bytes; the oldest go first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2s

from stablecast.engine.wire import Piece, encode

PIECE_BYTES = 24
"""Bytes of a piece beside its chunk, at most."""
FRAMES_OF_ONE = 4
LARGEST_FRAME = 1 << 20
BYTES_OF_ALL = 8 << 20
PIECES_MOST = LARGEST_FRAME // 256


def cut(packed: bytes, room: int) -> list[bytes]:
    """Return a packed frame as packed pieces, each of at most ``room`` bytes."""
    size = room - PIECE_BYTES
    chunks = [packed[at : at + size] for at in range(0, len(packed), size)]
    name = name_of(packed)
    return [encode(Piece(name, index, len(chunks), chunk)) for index, chunk in enumerate(chunks)]


def name_of(packed: bytes) -> int:
    """Return what the pieces of a frame are named by."""
    return int.from_bytes(blake2s(packed, digest_size=8).digest(), "big")


@dataclass(slots=True)
class _Incomplete:
    """A frame of which not all pieces have come."""

    count: int
    chunks: dict[int, bytes] = field(default_factory=dict)
    size: int = 0


class Pieces:
    """Puts frames together that have come in pieces."""

    def __init__(self) -> None:
        self._incomplete: dict[tuple[int, int], _Incomplete] = {}
        self.kept_bytes = 0
        """What incomplete frames take."""

    def add(self, piece: Piece, session: int) -> bytes | None:
        """Take a piece; return the packed frame that is complete with it, if one is."""
        if not piece.index < piece.count <= PIECES_MOST:
            return None
        key = (session, piece.name)
        found = self._incomplete.get(key)
        if found is None or found.count != piece.count:
            self._drop(key)
            found = self._begin(key, piece.count)
        if piece.index not in found.chunks:
            found.chunks[piece.index] = piece.chunk
            found.size += len(piece.chunk)
            self.kept_bytes += len(piece.chunk)
        if len(found.chunks) == found.count:
            self._drop(key)
            packed = b"".join(found.chunks[index] for index in range(found.count))
            return packed if name_of(packed) == piece.name else None
        if found.size > LARGEST_FRAME:
            self._drop(key)
        while self.kept_bytes > BYTES_OF_ALL:
            self._drop(next(iter(self._incomplete)))
        return None

    def _begin(self, key: tuple[int, int], count: int) -> _Incomplete:
        of_one = [other for other in self._incomplete if other[0] == key[0]]
        if len(of_one) >= FRAMES_OF_ONE:
            self._drop(of_one[0])
        found = self._incomplete[key] = _Incomplete(count)
        return found

    def _drop(self, key: tuple[int, int]) -> None:
        found = self._incomplete.pop(key, None)
        if found is not None:
            self.kept_bytes -= found.size
