"""How much a member may have on its way: a window of unstable bytes that grows while little is lost.

All members keep what is not stable, so a member's share of their buffers is what it may send before that
becomes stable.  Within its share the window follows losses: it doubles until the first time that too much is
lost, then grows by about a datagram for each window that became stable, and shrinks when a member asks for
more than ``TOLERATED`` of what was sent.  Fewer losses are the network's, not those of a buffer that
overflows: they say nothing about the window, and a long way could not be filled if each of them shrank it.
Windows become stable rarely on a long way, and have to be larger there.  So each adds more, as in TCP Hybla:
bytes per second grow as fast as over a round trip of ``REFERENCE_TRIP_S``.

Before anything is lost it waits in queues, and makes everything else wait there.  So a window that takes much
longer to become stable than it could is shrunk too, by less and not below ``SLOW_LEAST``: more on its way
would only wait.
"""

from __future__ import annotations

WINDOW_LEAST = 64 << 10
WINDOW_FIRST = 256 << 10
SHRINK = 0.7
SLOW_SHRINK = 0.9
SLOW_LEAST = 128 << 10
"""Bytes below which a window is not shrunk for being slow."""
SLOW = 2.0
"""Times the shortest time to stability from which on a window is too large."""
TOLERATED = 0.04
"""Share of what was sent that one member may lose before the window shrinks."""
REFERENCE_TRIP_S = 0.02
GROWTH_MOST = 1 / 8
"""Share of itself that a window adds at most once it has shrunk."""
BURST = 512 << 10
"""Bytes that may go out at once, all copies counted."""


class Window:
    """What one sender may have unstable."""

    def __init__(self, share: int, step: int) -> None:
        self.share = max(share, 1)
        self.size = float(min(self.share, WINDOW_FIRST))
        self._least = min(WINDOW_LEAST, self.share)
        self._step = step
        self._doubles = True
        self._counts_since = float("-inf")
        self._sent = 0
        self._lost: dict[int, int] = {}
        self._has_shrunk = False
        self._quickest_s = float("inf")
        self._slowed_at = float("-inf")

    def takes(self, size: int, unstable: int) -> bool:
        """Tell whether a message may go out beside so many unstable bytes; one always may."""
        return unstable == 0 or unstable + size <= self.size

    def room(self, unstable: int) -> int:
        """Return the bytes that may go out beside so many unstable ones, 0 if none."""
        return max(int(self.size) - unstable, 0)

    def became_stable(self, size: int, trip_s: float = 0.0) -> None:
        """Grow with what arrived everywhere, over round trips of so many seconds."""
        if self._doubles:
            growth = float(size)
        else:
            step = self._step * max(1.0, trip_s / REFERENCE_TRIP_S) ** 2
            growth = size * min(step / self.size, max(GROWTH_MOST, self._step / self.size))
        self.size = min(self.size + growth, self.share)

    def is_slow(self, took_s: float, usual_s: float, now: float) -> bool:
        """Tell whether stability took too long, given what it usually takes at most; shrink if it did.

        It shrinks once in the time that it took: what is on its way by then was sent before.
        """
        self._quickest_s = min(self._quickest_s, took_s)
        if took_s <= max(usual_s, SLOW * self._quickest_s):
            return False
        if now - self._slowed_at >= took_s:
            self._slowed_at, self._doubles = now, False
            self.size = max(self.size * SLOW_SHRINK, min(self.size, SLOW_LEAST))
        return True

    def was_sent(self, size: int) -> None:
        """Count what goes out."""
        self._sent += size

    def was_lost(self, size: int, by: int, now: float, pause: float) -> None:
        """Count what a member asks for; shrink if it is too much, at most once within a pause."""
        if now - self._counts_since >= pause:
            self._counts_since, self._has_shrunk = now, False
            self._sent = 0
            self._lost.clear()
        self._lost[by] = self._lost.get(by, 0) + size
        if not self._has_shrunk and self._lost[by] > TOLERATED * max(self.size, self._sent):
            self._has_shrunk, self._doubles = True, False
            self.size = max(self.size * SHRINK, self._least)


class Pacer:
    """A bucket of bytes that fills at a rate, so that no burst floods receivers' sockets."""

    def __init__(self, rate: float, now: float) -> None:
        self.rate = rate
        self._level = float(BURST)
        self._at = now

    def may_send(self, now: float) -> bool:
        """Tell whether something may go out now."""
        self._level = min(self._level + (now - self._at) * self.rate, BURST)
        self._at = now
        return self._level > 0

    def sent(self, size: int) -> None:
        """Count what went out, all copies."""
        self._level -= size

    def ready_at(self) -> float:
        """Return when something may go out again."""
        return self._at + max(0.0, -self._level + 1) / self.rate
