"""Sessions that are trusted beside the members: who was a member, and who may become one.

Each is remembered with its keys and counters, so their number is bounded: those that were not heard of for
longest are forgotten, and have to answer a challenge before they are trusted again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from stablecast.engine.sealing import AnySeal
from stablecast.engine.trust import Trust

MOST = 256
"""Sessions that are trusted and in no view with this process."""


class Acquaintances:
    """Whom one process trusts, and whom it gives up."""

    def __init__(self, trust: Trust, seal: AnySeal) -> None:
        self._trust = trust
        self._seal = seal
        self._members: frozenset[int] = frozenset()
        self._named: frozenset[int] = frozenset()
        self._others: OrderedDict[int, None] = OrderedDict()

    def met(self, session: int) -> None:
        """Take note that a session has answered a challenge."""
        self._seal.keep(session)
        if session not in self._members and session not in self._named:
            self._others[session] = None
            self._give_up()

    def named(self, sessions: frozenset[int]) -> None:
        """Trust sessions that a trusted leader has named as members of the next view."""
        for session in sessions - self._members - self._named:  # these are trusted already
            self._trust.trust(session)
            self._seal.keep(session)
            self._others.pop(session, None)
        self._part_with(self._named - sessions - self._members)
        self._named = sessions

    def began(self, sessions: Iterable[int], me: int) -> None:
        """Take note that a view of these sessions has begun here."""
        before = self._members | self._named
        self._members, self._named = frozenset(sessions) - {me}, frozenset()
        for session in self._members & self._others.keys():
            del self._others[session]
        self._part_with(before - self._members)

    def heard(self, session: int) -> None:
        """Take note of a datagram of a trusted session."""
        if session in self._others:
            self._others.move_to_end(session)

    def _part_with(self, sessions: Iterable[int]) -> None:
        """Take note that these are members no longer, or do not become any."""
        for session in sessions:
            self._others[session] = None
        self._give_up()

    def _give_up(self) -> None:
        while len(self._others) > MOST:
            session = self._others.popitem(last=False)[0]
            self._trust.distrust(session)
            self._seal.forget(session)
