"""Getting to know other processes: challenges, their answers, and who was met at which address.

Frames other than these are taken only from sessions that are trusted (:mod:`stablecast.engine.trust`).
"""

from __future__ import annotations

from stablecast.engine.acquaintances import Acquaintances
from stablecast.engine.answers import Answers
from stablecast.engine.sealing import AnySeal
from stablecast.engine.trust import Trust, TrustFrame
from stablecast.engine.wire import Hello
from stablecast.membership.view import Address

MET_MOST = 1024


class Introductions:
    """Whom one process knows.

    Parameters
    ----------
    session, secret
        The process's own session, and what it drew at random for its challenges.
    seal
        Remembers which datagrams of trusted sessions have come.
    """

    def __init__(self, session: int, secret: bytes, seal: AnySeal) -> None:
        self._trust = Trust(session, secret)
        self.known = Acquaintances(self._trust, seal)
        """Who is trusted, and whom this process gives up."""
        self._answers = Answers()
        self._met: dict[Address, int] = {}

    def trusts(self, session: int) -> bool:
        """Tell whether frames of every kind are taken from a session."""
        return self._trust.trusted(session)

    def session_at(self, address: Address) -> int:
        """Return the session that has answered a challenge from an address, 0 if none has."""
        return self._met.get(address, 0)

    def hello(self, now: float) -> Hello:
        """Return a challenge for whoever gets it."""
        return self._trust.hello(now)

    def may_answer(self, frame: TrustFrame, address: Address, now: float) -> bool:
        """Tell whether a frame of a stranger is taken: there is a budget for each address."""
        return not isinstance(frame, Hello) or self._answers.may_answer(address, now)

    def take(
        self, frame: TrustFrame, session: int, address: Address, now: float
    ) -> tuple[list[TrustFrame], bool]:
        """Return what to answer, and whether a process was met at this address that was not known there."""
        answers = self._trust.receive(frame, session, now)
        if not self._trust.trusted(session) or self._met.get(address) == session:
            return answers, False
        self.known.met(session)
        if len(self._met) >= MET_MOST:
            self._met.clear()
        self._met[address] = session
        return answers, True
