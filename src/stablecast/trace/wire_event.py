"""One row of a wire trace: what went over the wire, or which timer went off."""

from __future__ import annotations

from typing import Literal

import msgspec


class WireEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A transmission, an arrival or a timer; its fields are the columns of the schema, in their order."""

    group: str
    kind: Literal["transmit", "arrive", "timer"]
    member: str
    source: str | None = None
    """Of data and what is about data: whose messages they are."""
    seq: int | None = None
    """The highest of their numbers."""
    time_us: int
    bytes: int | None = None
    """On the wire; of several rows about one datagram these are the datagram's together."""
    step: int
    peer: str | None = None
    """Transmit: the addressee, None for several; arrive: the transmitter."""
    message: str | None = None
    """What kind of message it is; the name of a timer."""
    number: int | None = None
    """Of the datagram, among those of its transmitter."""
    execution: int | None = None
    first_seq: int | None = None
    queue_us: int | None = None
    service_us: int | None = None
    since_us: int | None = None
    """When a timer was set."""
