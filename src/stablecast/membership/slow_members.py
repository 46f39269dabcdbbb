"""What to do about members that live, but hold everyone's messages back: wait, tell, exclude, evict.

A member holds back while the oldest unstable message waits for it.  After ``lagging_after`` seconds of that
it is reported, after ``exclude_after`` it is to be left out of the view, which it may come back to; one that
was excluded ``evict_after`` times within ``evict_window`` seconds is not let in again for ``ban`` seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from stablecast.errors import InvalidInput

REMIND_EVERY = 1.0
"""Seconds after which it is said again that a member is to go, while it is still there."""

MOST_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class SlowPolicy:
    """When each step is taken, in seconds; None means never."""

    lagging_after: float | None = 1.0
    exclude_after: float | None = 30.0
    evict_after: int | None = 3
    """Exclusions, within the window."""
    evict_window: float = 300.0
    ban: float = 300.0

    def __post_init__(self) -> None:
        for name in ("lagging_after", "exclude_after", "evict_after"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInput(
                    f"slow-member policy: {name} is {value} (accepted: above 0, or None for never)"
                )
        for name in ("evict_window", "ban"):
            if not getattr(self, name) >= 0:
                raise InvalidInput(
                    f"slow-member policy: {name} is {getattr(self, name)} (accepted: 0 or more)"
                )


@dataclass(frozen=True, slots=True)
class Lagging:
    """A member has held messages back for so long."""

    session: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Recovered:
    """A member that was lagging no longer is."""

    session: int


@dataclass(frozen=True, slots=True)
class Exclude:
    """A member is to be left out; it may join again."""

    session: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evict:
    """A member is to be left out, and not let in before then."""

    session: int
    until: float


Step: TypeAlias = Lagging | Recovered | Exclude | Evict


@dataclass(slots=True)
class _Episode:
    """How far it has gone with one member."""

    is_lagging: bool = False
    verdict: Exclude | Evict | None = None
    said_at: float = 0.0


class SlowMembers:
    """The steps taken so far; every member keeps them, so that any can lead."""

    def __init__(self, policy: SlowPolicy) -> None:
        self.policy = policy
        self._episodes: dict[int, _Episode] = {}
        self._exclusions: dict[Hashable, list[float]] = {}
        self._bans: dict[Hashable, float] = {}

    def holding(
        self, session: int, since: float | None, now: float, *, key: Hashable | None = None
    ) -> list[Step]:
        """Take note since when a member holds back the oldest unstable message; None if it does not.

        Parameters
        ----------
        session, since, now
            The member, and the times.
        key
            What it is known by when it comes back, such as its address; its session if not given.
        """
        if since is None:
            return self._relieve(session)
        held = now - since
        episode = self._episodes.setdefault(session, _Episode())
        steps: list[Step] = []
        lagging_after, exclude_after = self.policy.lagging_after, self.policy.exclude_after
        if lagging_after is not None and held >= lagging_after and not episode.is_lagging:
            episode.is_lagging = True
            steps.append(Lagging(session, held))
        elif lagging_after is not None and held < lagging_after and episode.is_lagging:
            steps += self._relieve(session)
        if exclude_after is not None and held >= exclude_after:
            steps += self._verdict(session, episode, held, session if key is None else key, now)
        return steps

    def noted(self) -> Collection[int]:
        """Return the sessions of those who held something back when they were last looked at."""
        return self._episodes.keys()

    def _relieve(self, session: int) -> list[Step]:
        episode = self._episodes.pop(session, None)
        return [Recovered(session)] if episode is not None and episode.is_lagging else []

    def _verdict(self, session: int, episode: _Episode, held: float, key: Hashable, now: float) -> list[Step]:
        """Return what is to become of a member; the same again every second while it is still there."""
        if episode.verdict is None:
            episode.verdict = self._judge(session, held, key, now)
        elif now - episode.said_at < REMIND_EVERY:
            return []
        episode.said_at = now
        return [episode.verdict]

    def _judge(self, session: int, held: float, key: Hashable, now: float) -> Exclude | Evict:
        times = [time for time in self._exclusions.pop(key, []) if now - time <= self.policy.evict_window]
        times.append(now)
        if self.policy.evict_after is None or len(times) < self.policy.evict_after:
            self._exclusions[key] = times
            _shorten(self._exclusions)
            return Exclude(session, held)
        self._bans.pop(key, None)
        self._bans[key] = now + self.policy.ban
        _shorten(self._bans)
        return Evict(session, now + self.policy.ban)

    def view_changed(self, sessions: Iterable[int]) -> None:
        """Forget how far it has gone with members that are not in the view; exclusions and bans stay."""
        here = set(sessions)
        self._episodes = {session: e for session, e in self._episodes.items() if session in here}

    def banned_until(self, key: Hashable, now: float) -> float | None:
        """Return until when one is banned, None if it is not."""
        until = self._bans.get(key)
        return until if until is not None and until > now else None


def _shorten(memory: dict[Hashable, list[float]] | dict[Hashable, float]) -> None:
    while len(memory) > MOST_REMEMBERED:
        del memory[next(iter(memory))]
