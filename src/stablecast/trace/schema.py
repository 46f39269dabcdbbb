"""The event schema that simulated and live groups write and that the pipeline reads.

A row is one event at one member.  ``stable`` is cumulative: its member knows every message of ``source``
up to ``seq`` to be everywhere.  ``release`` is one message let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("group", "kind", "member", "source", "seq", "time_us", "bytes")
KINDS = ("send", "receive", "stable", "release", "join", "leave", "fail")
"""What groups of ours write."""
POSITION_KINDS = ("head", "position")
"""What shared logs tell: ``head``, up to which number a source has sent; ``position``, up to which number a
member has everything of it.  Both are cumulative and may jump by any number."""
ALL_KINDS = (*KINDS, *POSITION_KINDS)


def arrow_schema() -> pa.Schema:
    """Return the schema for Parquet files; pyarrow is imported only here."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("group", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("member", pa.string(), nullable=False),
            pa.field("source", pa.string()),
            pa.field("seq", pa.int64()),
            pa.field("time_us", pa.int64(), nullable=False),
            pa.field("bytes", pa.int32()),
        ]
    )
