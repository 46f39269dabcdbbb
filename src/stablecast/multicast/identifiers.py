"""Identifiers of data messages, and fields of states and messages that hold them.

An identifier is a number from 0: a sender's column times the messages of each, plus its sequence number - 1.
On the wire it is two numbers, the source and the sequence number.
"""

from __future__ import annotations

from typing import Annotated

from stablecast.protocols.contract import IntArray, Sizes, entries, number, set_of


def message_count(sizes: Sizes) -> int:
    """Return the number of data messages that there will be."""
    return sizes.tracked * sizes.params["messages"]


def identifier_bytes(sizes: Sizes) -> int:
    """Return the bytes of an identifier on the wire."""
    return 2 * sizes.entry_bytes


Messages = Annotated[IntArray, set_of(message_count)]
"""A set of data messages."""
EachMessage = Annotated[IntArray, entries(message_count)]
"""An array with an entry for each data message."""
EachTime = Annotated[IntArray, entries(message_count, wide=True)]
"""An array with a time for each data message."""
Identifier = Annotated[int, number(identifier_bytes)]
"""In a message: the identifier of a data message."""
Content = Annotated[int, number(lambda sizes: identifier_bytes(sizes) + sizes.params["data_bytes"])]
"""In a message: a data message.  Its identifier stands for it; its bytes count on the wire."""
