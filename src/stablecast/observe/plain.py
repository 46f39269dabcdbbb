"""``stablecast top`` where there is no terminal: a line when something happens, and one now and then."""

from __future__ import annotations

import time
from collections.abc import Callable

from stablecast.engine.observed import OK, Observed
from stablecast.observe import shown
from stablecast.observe.follow import Follower, Happened, Looked, Lost
from stablecast.words import printable

SUMMARY_EVERY_S = 5.0


class Lines:
    """Says what is new since it was last asked; ``say`` prints a line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._troubles: frozenset[tuple[str, str]] = frozenset()
        self._said_at = 0.0
        self._is_lost = False

    def looked(self, update: Looked, now: float) -> None:
        """Say whose state has changed, and how the group is doing if that was not said for a while."""
        seen = update.seen
        if self._is_lost:
            self._is_lost = False
            self._say("contact again")
        states = _states(seen)
        for name, state in sorted(states - self._troubles):
            self._say(_clock(printable(f"{name}: {state}"), seen))
        present = dict(states)
        for name, _ in sorted(self._troubles - states):
            if name not in present and any(one.name == name for one in seen.members):
                self._say(_clock(printable(f"{name}: ok again"), seen))
        self._troubles = states
        if now - self._said_at >= SUMMARY_EVERY_S:
            self._said_at = now
            summary, times = shown.summary(seen, update.sample), shown.times_text(update.sample)
            self._say(_clock(f"{shown.title(seen)} · {summary} · {times}", seen))

    def happened(self, update: Happened) -> None:
        """Say what happened."""
        for note in update.notes:
            self._say(shown.note_text(note))

    def lost(self, update: Lost) -> None:
        """Say once that nobody answers."""
        if not self._is_lost:
            self._is_lost = True
            self._say(update.line)


def _states(seen: Observed) -> frozenset[tuple[str, str]]:
    lines = shown.lines_of(seen)
    return frozenset((one.name, one.state) for one in lines if one.severity < shown.SEVERITY[OK])


def _clock(text: str, seen: Observed) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(seen.time_us / 1e6))} {text}"


async def follow_in_lines(follower: Follower, say: Callable[[str], None]) -> None:
    """Say what happens until this is cancelled."""
    lines = Lines(say)
    async for update in follower.updates():
        match update:
            case Looked():
                lines.looked(update, time.monotonic())
            case Happened():
                lines.happened(update)
            case Lost():
                lines.lost(update)
