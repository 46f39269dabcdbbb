"""A header and columns of numbers as one text that stands in a page: compressed, and safe in any markup.

The block is the header's length in eight bytes, the header as JSON, and the columns, each aligned to
eight bytes and in the narrowest type that holds it. As base64 it has no letter that means something to a
parser of HTML, so that no name of a trace can become markup or script.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"u8": "<u1", "i8": "<i1", "i16": "<i2", "i32": "<i4", "u32": "<u4"}
"""From the narrowest one; what fits into none of them is ``f64``, exact up to 2**53."""


def pack(header: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> str:
    """Return the text; the header is told where the columns are, under ``columns``."""
    places: dict[str, tuple[str, int, int]] = {}
    blocks: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        kind, block = _narrow(column)
        places[name] = (kind, offset, int(column.size))
        blocks.append(block)
        offset += len(block)
    told = json.dumps({**header, "columns": places}, separators=(",", ":"), allow_nan=False).encode()
    whole = b"".join([struct.pack("<Q", len(told)), _padded(told), *blocks])
    return base64.b64encode(zlib.compress(whole, 6)).decode("ascii")


def unpack(text: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what was packed, as the page reads it."""
    whole = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack_from("<Q", whole)
    header = json.loads(whole[8 : 8 + length])
    begin = 8 + -(-length // 8) * 8
    types = {**TYPES, "f64": "<f8"}
    columns = {
        name: np.frombuffer(whole, types[kind], count, begin + offset)
        for name, (kind, offset, count) in header.pop("columns").items()
    }
    return header, columns


def _narrow(column: NDArray[Any]) -> tuple[str, bytes]:
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    for name, kind in TYPES.items():
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return name, _padded(column.astype(kind).tobytes())
    return "f64", column.astype("<f8").tobytes()


def _padded(block: bytes) -> bytes:
    return block + bytes(-len(block) % 8)
