"""What a protocol attaches to the parts of messages: the ring that keeps it, and the room that it takes.

The ring
    Kernels read what is attached to a part at ``number % RING``.  They read parts from the last stable one up
    to the last one that has come, so a source's unstable parts have to be fewer than ``RING``; otherwise the
    newest would stand in the place of the oldest, and a member would acknowledge what it lacks.
Why it never wraps
    A source has at most ``UNSTABLE_MOST`` unstable parts, the parts of the message that it is about to send
    included.  Every run tells what its source knew to be stable when it was made, and who takes it in takes
    that over first.  So the run's last part is less than ``RING`` above what is stable at either end.  Both
    ends look (``Tracker.holds``): a source that has counted wrong raises an error, and a run that would wrap
    is not taken in.
The room
    A message of the largest size has to fit into ``UNSTABLE_MOST`` parts, or it could never be sent.  What is
    attached may grow with the number of members, and what is left of a datagram shrinks; so a member can be
    in views up to a size, ``members_most``, which its group is told when it joins.
"""

from __future__ import annotations

from stablecast.engine.choice import Choice
from stablecast.engine.options import LARGEST_PAYLOAD
from stablecast.engine.sealing import room_in
from stablecast.errors import InvalidInput
from stablecast.membership.capacity import ANY_NUMBER
from stablecast.multicast.packing import chunk_bytes

RING = 4096
"""Parts of a source whose attached numbers are kept."""
UNSTABLE_MOST = RING - 1
"""Parts that a source may have unstable; the last stable one is read too."""
CHUNK_LEAST = -(-LARGEST_PAYLOAD // UNSTABLE_MOST)
"""Bytes of a message that each of its parts has to carry, so that the largest one fits into the ring."""
MEMBERS_LOOKED_AT = 1 << 16
"""More members than any view has."""


def members_most(choice: Choice | None, largest: int) -> int:
    """Return how many members a view may have in which a member with datagrams of so many bytes can send.

    ``ANY_NUMBER`` if that is not limited, as where no protocol runs.  A protocol has to attach no fewer
    numbers in a larger group.
    """
    if choice is None:
        return ANY_NUMBER
    if not _fits(choice, largest, 1):
        raise InvalidInput(
            f"datagrams of {largest} bytes have no room for messages beside the {_width(choice, 1)} numbers"
            f" that protocol '{choice.protocol.name}' attaches (accepted: larger datagrams)"
        )
    if _fits(choice, largest, MEMBERS_LOOKED_AT):
        return ANY_NUMBER
    fits, fits_not = 1, MEMBERS_LOOKED_AT
    while fits_not - fits > 1:
        middle = (fits + fits_not) // 2
        if _fits(choice, largest, middle):
            fits = middle
        else:
            fits_not = middle
    return fits


def _fits(choice: Choice, largest: int, members: int) -> bool:
    try:
        width = _width(choice, members)
    except InvalidInput:  # the protocol itself takes no group of this size
        return False
    return chunk_bytes(room_in(largest), width) >= (CHUNK_LEAST if width else 1)


def _width(choice: Choice, members: int) -> int:
    """Return how many numbers are attached to a part; they do not depend on the group's step."""
    if not choice.protocol.attaches:
        return 0
    return choice.protocol.kernels.attached(choice.sizes(members, step_s=1.0))
