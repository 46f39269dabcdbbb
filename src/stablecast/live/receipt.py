"""The receipt of a message: its name, and ways to wait until it is where it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from stablecast.engine.levels import Level
from stablecast.engine.outcomes import Sent
from stablecast.engine.results import MessageId, Outcome, Reached, Settlement, TimedOut

if TYPE_CHECKING:
    from stablecast.live.group import Group


class Receipt(msgspec.Struct, eq=False):
    """What ``send`` returns; keeping or dropping it changes nothing about the message."""

    _group: Group
    _seq: int
    sent_at: float
    """When it was sent, by the group's clock."""
    _sent: Sent

    def __repr__(self) -> str:
        return f"Receipt({self._sent.label!r}, {self._seq})"

    @property
    def id(self) -> MessageId:
        """Source and number of the message."""
        return MessageId(self._sent.label, self._seq)

    @property
    def outcome(self) -> Settlement | None:
        """What has become of the message, None if that is not known yet."""
        return self._sent.of(self._seq, self.sent_at)

    async def stable(self, timeout: float | None = None) -> Outcome:
        """Wait until every member has the message, or for so many seconds; it may be cancelled.

        In bimodal delivery, until it has had its rounds of gossip.
        """
        return await self._group._wait_stable(self, timeout)

    async def when(self, level: Level, timeout: float | None = None) -> Reached | TimedOut:
        """Wait until the members that a level asks for are known to have the message."""
        return await self._group._wait_level(self, level, timeout)
