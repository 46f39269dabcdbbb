"""Turn lines of traces into columns, strictly: a line is one event of the schema, or it is a bad one.

Lines of wire traces have more fields; those of further kinds are checked like all others, and left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import IO, Annotated, Any, ClassVar, get_args

import msgspec
import pyarrow as pa

from stablecast.errors import InvalidInput
from stablecast.pipeline.tail import Piece
from stablecast.trace.schema import COLUMNS, WIRE_COLUMNS, WIRE_KINDS, WIRE_NAMES, arrow_schema

BLOCK_BYTES = 1 << 20
"""Read at a time; about 8,000 events, which become a batch."""
ON_BAD = ("fail", "count")

_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class _OfMessage(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True, gc=False):
    kind: ClassVar[str]
    group: str
    member: str
    source: str
    seq: _Number
    time_us: _Long
    bytes: _Size | None = None


class _OfMember(msgspec.Struct, tag_field="kind", forbid_unknown_fields=True, gc=False):
    kind: ClassVar[str]
    group: str
    member: str
    time_us: _Long
    source: str | None = None
    seq: _Number | None = None
    bytes: _Size | None = None


class _Send(_OfMessage, tag="send"):
    kind: ClassVar[str] = "send"


class _Receive(_OfMessage, tag="receive"):
    kind: ClassVar[str] = "receive"


class _Stable(_OfMessage, tag="stable"):
    kind: ClassVar[str] = "stable"


class _Release(_OfMessage, tag="release"):
    kind: ClassVar[str] = "release"


class _Join(_OfMember, tag="join"):
    kind: ClassVar[str] = "join"


class _Leave(_OfMember, tag="leave"):
    kind: ClassVar[str] = "leave"


class _Fail(_OfMember, tag="fail"):
    kind: ClassVar[str] = "fail"


_Event = _Send | _Receive | _Stable | _Release | _Join | _Leave | _Fail
_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Event)

_WIRE_MARK = f'"{WIRE_COLUMNS[0]}":'.encode()
"""What lines of wire traces have in them; where a name contains it, decoding takes longer, and no more."""


def _with_more_fields(kind: str, base: type[msgspec.Struct]) -> type[msgspec.Struct]:
    more: list[tuple[str, Any, None]] = [
        (name, (str if name in WIRE_NAMES else _Long) | None, None) for name in WIRE_COLUMNS
    ]
    return msgspec.defstruct(
        f"Wire{kind.title()}",
        more,
        bases=(base,),
        namespace={"kind": kind, "__annotations__": {"kind": ClassVar[str]}},
        tag_field="kind",
        tag=kind,
        forbid_unknown_fields=True,
        gc=False,
    )


_wire_types = [_with_more_fields(event.kind, event) for event in get_args(_Event)]
_wire_types += [_with_more_fields(kind, _OfMember) for kind in WIRE_KINDS]
_wire_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(reduce(or_, _wire_types))


@dataclass
class _Bad:
    """Bad lines of a piece that were left out."""

    count: int = 0
    first: str = ""


def read_pieces(pieces: Iterable[Piece], schema: pa.Schema | None = None, *, on_bad: str) -> Iterator[Any]:
    """Yield the events of pieces as record batches.

    Parameters
    ----------
    pieces
        What to read.
    schema
        The event schema, or the same with other columns nullable.
    on_bad
        ``fail`` at the first bad line, or ``count`` them in the log and go on.
    """
    columns = arrow_schema() if schema is None else schema
    for piece in pieces:
        bad = _Bad()
        for at, block in _blocks(piece):
            is_wire = _WIRE_MARK in block
            events = _decode(piece, at, block, bad, on_bad, _wire_decoder if is_wire else _decoder)
            if is_wire:
                events = [event for event in events if event.kind not in WIRE_KINDS]
            if events:
                yield _batch(events, columns)
        if bad.count:
            logging.getLogger(__name__).warning(
                "%d bad lines were left out between the bytes %d and %d of '%s', the first: %s",
                bad.count,
                piece.begin,
                piece.end,
                piece.path,
                bad.first,
            )


def _blocks(piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, many at a time, with the position where they begin."""
    try:
        with Path(piece.path).open("rb") as file:
            _check_begin(file, piece)
            at, rest = piece.begin, b""
            while at + len(rest) < piece.end:
                some = file.read(min(BLOCK_BYTES, piece.end - at - len(rest)))
                if not some:
                    raise _replaced(piece, piece.end)
                cut = some.rfind(b"\n") + 1
                if cut:
                    yield at, rest + some[:cut]
                    at, rest = at + len(rest) + cut, some[cut:]
                else:
                    rest += some
            if rest:
                raise _replaced(piece, piece.end)
    except OSError as error:
        raise InvalidInput(f"cannot read the trace '{piece.path}': {error.strerror or error}") from None


def _check_begin(file: IO[bytes], piece: Piece) -> None:
    if piece.begin:
        file.seek(piece.begin - 1)
        if file.read(1) != b"\n":
            raise _replaced(piece, piece.begin)


def _replaced(piece: Piece, position: int) -> InvalidInput:
    return InvalidInput(
        f"the trace '{piece.path}' was truncated or replaced: no line ends at byte {position}, as one did "
        "before (accepted: files that stay and grow)"
    )


def _decode(
    piece: Piece, at: int, block: bytes, bad: _Bad, on_bad: str, decoder: msgspec.json.Decoder[Any]
) -> list[Any]:
    try:
        events: list[Any] = decoder.decode_lines(block)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _one_by_one(piece, at, block, bad, on_bad, decoder)
    # The decoder also takes events that share a line, or go over several.
    begun = block.startswith(b"{") + block.count(b"\n{")
    if len(events) == begun == block.count(b"\n"):
        return events
    return _one_by_one(piece, at, block, bad, on_bad, decoder)


def _one_by_one(
    piece: Piece, at: int, block: bytes, bad: _Bad, on_bad: str, decoder: msgspec.json.Decoder[Any]
) -> list[Any]:
    """Decode line by line, which is slower and finds the bad ones; empty lines are none."""
    events = []
    for line in block.split(b"\n")[:-1]:
        if line.strip():
            try:
                events.append(decoder.decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                reason = f"byte {at}: {error}"
                if on_bad == "fail":
                    raise InvalidInput(
                        f"a line of the trace '{piece.path}' is no event, at {reason} "
                        "(accepted: the event schema; onBadRows 'count' leaves such lines out)"
                    ) from None
                bad.count += 1
                bad.first = bad.first or reason
        at += len(line) + 1
    return events


def _batch(events: list[Any], schema: pa.Schema) -> Any:
    arrays = [
        pa.array([getattr(event, name) for event in events], schema.field(name).type) for name in COLUMNS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
