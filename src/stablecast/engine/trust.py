"""Trust: which sessions are known to speak now, and are no recording of an earlier run.

    A  HELLO(challenge of A)             ───►  B
    A  ◄───  WELCOME(A's challenge, challenge of B)  B      now A trusts B
    A  THANKS(B's challenge)             ───►  B            now B trusts A

Why it is safe
    Sealing shows that a datagram was made with the group's key, but not when.  Whoever recorded an earlier
    run can send its datagrams again, to a process that has never seen them.  A session is trusted only
    after it has repeated a challenge, and a challenge is a keyed hash with a secret that this process drew
    when it started, so no datagram from before that holds one, but by a guess of 64 bits.  Challenges also
    depend on the time, in steps of ``STEP_S``, and on how many sessions were distrusted: an answer that is
    older than two steps, or than the last session that was given up, is worth nothing.  THANKS answers
    a challenge made for its session only.  And a datagram opens once (:mod:`stablecast.engine.seal`).
What it costs
    Challenges are computed, never stored, so nobody can fill the memory with them.  An authenticated HELLO
    has one answer, 9 bytes longer; how many are given is limited by address (``answers``).
"""

from __future__ import annotations

from hashlib import blake2s
from typing import Final

from stablecast.engine.wire import Hello, Thanks, Welcome
from stablecast.errors import InvalidInput

STEP_S: Final = 10.0
"""A challenge can be answered for one to two of these."""

SECRET_BYTES_MIN: Final = 16
SECRET_BYTES_MAX: Final = 32
_ANYONE: Final = 0

TrustFrame = Hello | Welcome | Thanks


class Trust:
    """The sessions that one process trusts.

    Parameters
    ----------
    session
        The process's own session.
    secret
        16 to 32 random bytes that the process drew when it started; never those of an earlier process.
    """

    def __init__(self, session: int, secret: bytes) -> None:
        if not SECRET_BYTES_MIN <= len(secret) <= SECRET_BYTES_MAX:
            raise InvalidInput(
                f"a secret for challenges has {len(secret)} bytes "
                f"(accepted: {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} random bytes)"
            )
        self._session: Final = session
        self._secret: Final = secret
        self._trusted: set[int] = set()
        self._given_up = 0

    def trusted(self, session: int) -> bool:
        """Whether frames of every kind are taken from a session."""
        return session in self._trusted

    def trust(self, session: int) -> None:
        """Trust a session because a trusted one named it."""
        if session != self._session:
            self._trusted.add(session)

    def distrust(self, session: int) -> None:
        """Stop trusting a session; to be trusted again, it has to answer a challenge made after this."""
        if session in self._trusted:
            self._trusted.remove(session)
            self._given_up += 1

    def hello(self, now: float) -> Hello:
        """Return a challenge for whoever gets it; any number of sessions may answer it."""
        return Hello(self._challenge(_ANYONE, _step(now)))

    def receive(self, frame: TrustFrame, session: int, now: float) -> list[TrustFrame]:
        """Take a frame from a session; return what to send back to it.

        The frame has to come from a datagram that was opened, and ``session`` from its header.
        """
        if session == self._session:
            return []
        match frame:
            case Hello():
                return [Welcome(frame.challenge, self._challenge(session, _step(now)))]
            case Welcome():
                return self._thank(frame, session, now)
            case Thanks():
                if self._is_answer(frame.answer, session, now):
                    self._trusted.add(session)
                return []

    def _thank(self, frame: Welcome, session: int, now: float) -> list[TrustFrame]:
        if self._is_answer(frame.answer, _ANYONE, now):
            self._trusted.add(session)
        # Who is trusted already is thanked again, as the first thanks may have been lost.
        return [Thanks(frame.challenge)] if session in self._trusted else []

    def _is_answer(self, answer: int, session: int, now: float) -> bool:
        """Whether this is a challenge of the present step or of the one before."""
        step = _step(now)
        return answer in (self._challenge(session, step), self._challenge(session, step - 1))

    def _challenge(self, session: int, step: int) -> int:
        """Return the challenge for a session in a step of time."""
        numbers = (self._session, session, self._given_up, step)
        text = b"stablecast challenge " + b" ".join(b"%d" % number for number in numbers)
        return int.from_bytes(blake2s(text, key=self._secret, digest_size=8).digest(), "big")


def _step(now: float) -> int:
    return int(now // STEP_S)
