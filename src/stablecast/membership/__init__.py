"""Who belongs to whose group: connections between senders and receivers, as pure state machines."""

from stablecast.membership.connection import (
    Acknowledgement,
    Added,
    Close,
    Data,
    Delivered,
    Event,
    OpenAcknowledgements,
    OpenMessages,
    ReceiverSide,
    Removed,
    SenderSide,
    Stable,
)

__all__ = [
    "Acknowledgement",
    "Added",
    "Close",
    "Data",
    "Delivered",
    "Event",
    "OpenAcknowledgements",
    "OpenMessages",
    "ReceiverSide",
    "Removed",
    "SenderSide",
    "Stable",
]
