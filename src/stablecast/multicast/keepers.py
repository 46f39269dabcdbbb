"""Who keeps a run until it is stable, and whom to ask for one that is missing.

Who keeps it
    With the policy ``until-stable`` every member that has received it.  With ``two-buffers`` its source, and
    of its audience, once they have received it, the ones that a hash of the run and the member chooses: the
    lower a member's hash, the more likely it is one.  A run is named by its source and its first part.  All
    members of a view know the same sessions and audiences, so they come to the same hashes.
Whom to ask
    What is missing begins where a run begins, so whoever lacks it knows the hash of the first run that it
    lacks.  It asks the source and its audience, one after the other; those that are suspected, or not heard
    directly, come last.  Those that are chosen to keep it come first, then those that are known to have
    received it, and each in the order of their hashes.  So in the end all of them were asked, and a keeper is
    found whatever policy and number of copies it was told.  What is known of others may be old, so it does
    not count more than the choice.
Who is asked before
    Where members pass on what a source sends, the one that passes it on to this member, twice: what is lost
    on its way to one of them is lost for all below it, and if all of them asked the source, that would have
    to send as many copies as relaying spares it.  Then the source, twice, if it is heard directly: it keeps
    its own.  While the view ends, the member that SYNC
    names, if it is sure to keep what it has received: it is the source, or everyone keeps everything.  Every
    fourth request goes to another member, since it may be out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stablecast.membership.audiences import Audiences
from stablecast.membership.links import Links
from stablecast.multicast.bufferers import buffers, is_below, named
from stablecast.multicast.frames import Run
from stablecast.multicast.heard import Heard

ASK_SOURCE_TRIES = 2
"""Requests that go to the source before others are asked."""
ASK_RELAY_TRIES = 2
"""Requests that go to who passes the source's data on before the source is asked.  What was lost on the way
there is missing below too, and all ask at once: by the second request it has been repaired there."""
ASK_OTHERS_EVERY = 4
HASH_MASK = (1 << 32) - 1


class Keepers:
    """Who keeps what in one view, as one of its members sees it."""

    def __init__(
        self,
        sessions: Sequence[int],
        rank: int,
        *,
        audiences: Audiences,
        policy: str,
        copies: float,
        has: Heard,
        links: Links,
        above: Callable[[int], tuple[int, ...]] = lambda source: (),
    ) -> None:
        self.holders: Sequence[int] | None = None
        """While the view ends, for each source the session of a member that has received all of the cut."""
        self._sessions = sessions
        self._rank = rank
        self._audiences = audiences
        self._all_keep = policy == "until-stable"
        self._copies = float(copies)
        self._has = has
        self._links = links
        self._above = above
        self._hash = named("mix")

    def _hashed(self, rank: int) -> int:
        """Return what a member goes into hashes as."""
        return self._sessions[rank] & HASH_MASK

    def keeps(self, source: int, run: Run) -> bool:
        """Tell whether this member is chosen to keep a run of a source."""
        message = (self._hashed(source), run.part)
        among = self._audiences.size_with_source(source)
        return buffers(self._hashed(self._rank), message, among, self._copies, by=self._hash)

    def draw(self, source: int, part: int, *, but: int, draw: float) -> int | None:
        """Return the rank of one of those chosen to keep a run, by its first part, as ``draw`` names it.

        It is neither this member nor ``but``; None if nobody else is.
        """
        message, size = (self._hashed(source), part), len(self._sessions)
        found = [
            rank
            for rank in range(size)
            if rank not in (self._rank, but)
            and buffers(self._hashed(rank), message, size, self._copies, by=self._hash)
        ]
        return found[int(draw * len(found))] if found else None

    def whom_to_ask(self, source: int, part: int, *, tries: int, suspects: frozenset[int]) -> int:
        """Return the rank of whom to ask for parts from this one on, after so many requests for them."""
        holder = self._sure_holder(source)
        if self.holders is None:
            relay = self._relay(source, suspects)
            if relay is not None:
                if tries < ASK_RELAY_TRIES:
                    return relay
                tries -= ASK_RELAY_TRIES
            if not self._links.hears(source):
                turn = tries
            elif tries < ASK_SOURCE_TRIES:
                return source
            else:
                turn = tries - ASK_SOURCE_TRIES
        elif holder is None:
            turn = tries
        elif tries % ASK_OTHERS_EVERY != ASK_OTHERS_EVERY - 1:
            return holder
        else:
            turn = tries // ASK_OTHERS_EVERY
        order = self._likeliest_first(source, part, suspects)
        return order[turn % len(order)]

    def _relay(self, source: int, suspects: frozenset[int]) -> int | None:
        """Return the rank of the member that passes a source's data on to this one, if it can be asked."""
        above = self._above(source)
        if len(above) < 2 or above[0] in suspects or not self._links.hears(above[0]):
            return None
        return above[0]

    def _sure_holder(self, source: int) -> int | None:
        """Return the rank of another member that is sure to keep all of a source's cut, None if nobody is."""
        if self.holders is None:
            return None
        holder = self.holders[source]
        rank = self._sessions.index(holder) if holder in self._sessions else -1
        is_sure = rank == source or (self._all_keep and rank >= 0)
        return rank if is_sure and rank != self._rank else None

    def _likeliest_first(self, source: int, part: int, suspects: frozenset[int]) -> list[int]:
        among = self._audiences.size_with_source(source)

        def key(rank: int) -> tuple[bool, bool, bool, float]:
            hashed = self._hash(self._hashed(source), part, self._hashed(rank))
            keeps = self._all_keep or rank == source or is_below(hashed, among, self._copies)
            away = rank in suspects or not self._links.hears(rank)
            return away, not keeps, self._has.of(rank, source) < part, hashed

        return sorted((r for r in self._audiences.with_source(source) if r != self._rank), key=key)
