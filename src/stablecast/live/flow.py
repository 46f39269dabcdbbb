"""How much a member may have on its way: a window of unstable bytes that grows while nothing is lost.

All members keep what is not stable, so a member's share of their buffers is what it may send before that
becomes stable.  Within its share the window follows losses, as in TCP: it doubles until the first loss, then
grows by about a datagram for each window that became stable, and shrinks when someone asks for a repair.
"""

from __future__ import annotations

WINDOW_LEAST = 64 << 10
WINDOW_FIRST = 256 << 10
SHRINK = 0.7
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
        self._shrunk_at = -1.0

    def takes(self, size: int, unstable: int) -> bool:
        """Tell whether a message may go out beside so many unstable bytes; one always may."""
        return unstable == 0 or unstable + size <= self.size

    def became_stable(self, size: int) -> None:
        """Grow with what arrived everywhere."""
        growth = size if self._doubles else self._step * size / self.size
        self.size = min(self.size + growth, self.share)

    def was_lost(self, now: float, pause: float) -> None:
        """Shrink, at most once in a while: one loss makes many requests."""
        if now - self._shrunk_at >= pause:
            self._shrunk_at = now
            self._doubles = False
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
