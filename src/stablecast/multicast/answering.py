"""At what rate one member is sent what it lacks: as fast as it comes through to it.

What goes wrong without a rate
    A member that lacks much asks for all of it.  If the answer leaves at once, a path whose queues hold a few
    datagrams drops most of it, and the next request, which is for the dropped ones, meets the same fate.
What is done
    What was asked for waits here, by name, and leaves in small bursts.  A member that asks again for what it
    was sent shows how much is lost: the rate falls to what came through.  As long as nearly everything does,
    the rate grows.  A few losses are the network's, not those of a queue that overflows, and change nothing.
What follows
    A few runs leave at once.  What waits is not asked for again in vain: it is in the queue already.  What
    left less than a round trip ago may be on its way, and does not leave again.  What has become stable
    meanwhile is passed over, so nothing is kept for its being asked for.
"""

from __future__ import annotations

BURST, SMALL_BURST = 32, 4
"""Runs that leave at once at most, before and after something was lost; more at a rate of more a tick."""
GROWTH, SLOW_GROWTH = 2.0, 1.25
"""Times that the rate is multiplied by after a while without losses, before and after something was lost."""
TICK_S = 0.001
"""Seconds between two bursts at least."""
FIRST, LEAST = 256, 8
"""Runs that leave in a while as long as nothing is known, and in any case."""
MOST = 1 << 16
TOLERATED = 1 / 4
"""Of what is sent in a while, that may be lost before less is."""
REMEMBERED_S = 1.0
"""Seconds after which a run that is asked for again was not lost on its way: requests are repeated sooner."""
NEVER = float("inf")

Name = tuple[int, int]
"""Source and first part of a run."""


class Answers:
    """What one member has asked another one for, and when it leaves.

    A *while* is the time after which a request would be repeated, ``while_s``.
    """

    __slots__ = (
        "_again",
        "_at",
        "_began",
        "_burst",
        "_credit",
        "_growth",
        "_sent",
        "_sent_at",
        "_was_busy",
        "most",
        "waiting",
        "while_s",
    )

    def __init__(self, now: float, while_s: float) -> None:
        self.waiting: dict[Name, None] = {}
        """What is to leave, in this order."""
        self.most = float(FIRST)
        """Runs that may leave in a while."""
        self.while_s = while_s
        self._burst, self._growth = BURST, GROWTH
        self._credit = float(BURST)
        self._at = self._began = now
        self._sent = self._again = 0
        self._was_busy = False
        self._sent_at: dict[Name, float] = {}

    def ask(self, name: Name, now: float, trip_s: float) -> bool:
        """Take note that a run was asked for; tell whether it is to leave that was not to leave before."""
        if name in self.waiting:
            return False
        sent_at = self._sent_at.get(name)
        if sent_at is not None:
            if now - sent_at < trip_s:
                return False
            self._again += 1
        self.waiting[name] = None
        return True

    def look(self, now: float) -> None:
        """See what came through in the last while, if it is over, and go on at a rate that suits."""
        if now - self._began < self.while_s:
            return
        if self._again > TOLERATED * self._sent:
            self.most = max(min(self.most, self._sent) - self._again, LEAST)
            self._burst, self._growth = SMALL_BURST, SLOW_GROWTH
        elif self._was_busy:
            self.most = min(self._growth * self.most, MOST)
        self._began, self._sent, self._again = now, 0, 0
        self._was_busy = bool(self.waiting)
        before = now - REMEMBERED_S
        self._sent_at = {name: at for name, at in self._sent_at.items() if at > before}

    def leaving(self, now: float) -> list[Name]:
        """Return what leaves now, and take note that it does."""
        rate = self.most / self.while_s
        self._credit = min(self._credit + (now - self._at) * rate, max(self._burst, rate * TICK_S))
        self._at = now
        names = list(self.waiting)[: int(self._credit)] if self._credit >= 1 else []
        for name in names:
            del self.waiting[name]
            self._sent_at[name] = now
        self._credit -= len(names)
        self._sent += len(names)
        return names

    def next_at(self) -> float:
        """Return when something leaves next."""
        if not self.waiting:
            return NEVER
        return self._at + max((1 - self._credit) * self.while_s / self.most, TICK_S)
