"""The event schema that simulated and live groups write and that the pipeline reads.

A row is one event at one member.  ``stable`` is cumulative: its member knows every message of ``source``
up to ``seq`` to be everywhere.  ``release`` is one message let go.

A *wire trace* also tells how members came to know that: it has rows of three more kinds, and more columns in
all rows.  A *step* is one thing that a member handles: an arrival, a timer that goes off, or a call of the
application.  All that it does in a step happens because of that, so the rows of a step have the row of kind
``arrive`` or ``timer`` in it as their cause; a step without such a row is a call, or the start.  An arrival
of (peer, number) is the receipt of what the member ``peer`` transmitted under that number.  Rows of one
member stand in the order in which they happened.  What concerns messages and their stability is the same in
a trace of either sort.
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
WIRE_KINDS = ("transmit", "arrive", "timer")
"""What wire traces have as well; an analysis of messages takes no notice of such rows."""
WIRE_COLUMNS = (
    "step",  # the number of the step of the member in which the row happened; it grows at each member
    "peer",  # transmit: the addressee, null for everybody; arrive: the transmitter
    "message",  # the type: of the protocol's messages, or DATA, REPAIR, NAK and so on; timer: its name
    "number",  # of the transmission, among those of its transmitter
    "execution",  # of the protocol's messages, where they have one
    "first_seq",  # of data and requests: the lowest number that it carries or asks for; seq is the highest
    "queue_us",  # arrive, simulated: time in queues of hosts, links and routers on the way
    "service_us",  # arrive, simulated: time in which these served it; what is left is propagation
    "since_us",  # timer: when it was set, where that is known
)
WIRE_NAMES = ("peer", "message")
"""The columns of a wire trace that are strings; the other additional ones are numbers."""


def arrow_schema(*, wire: bool = False) -> pa.Schema:
    """Return the schema for Parquet files, or that of wire traces; pyarrow is imported only here."""
    import pyarrow as pa

    more = WIRE_COLUMNS if wire else ()
    return pa.schema(
        [
            pa.field("group", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("member", pa.string(), nullable=False),
            pa.field("source", pa.string()),
            pa.field("seq", pa.int64()),
            pa.field("time_us", pa.int64(), nullable=False),
            pa.field("bytes", pa.int32()),
            *(pa.field(name, pa.string() if name in WIRE_NAMES else pa.int64()) for name in more),
        ]
    )
