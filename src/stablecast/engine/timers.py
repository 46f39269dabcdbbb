"""Which timers a process has, by the names that wire traces have for them."""

from __future__ import annotations

from math import inf

from stablecast.engine.history import Fetches
from stablecast.engine.in_view import InView
from stablecast.engine.outgoing import Outgoing
from stablecast.membership.agreement import Agreement


def timers(agreement: Agreement, out: Outgoing, fetches: Fetches, here: InView | None) -> dict[str, float]:
    """Return when each is due; the first of them is the engine's ``next_timer``.

    ``views`` are timers of view changes, ``rate`` lets data go that waits for its turn, ``alive`` are signs
    of life, ``news`` what is said of who lives, ``history`` asks for messages of before this member joined.
    """
    due = agreement.next_timer()
    found = {"views": inf if due is None else due, "rate": out.ready_at()}
    if here is None:
        return found
    detector = here.detector
    found |= {"alive": detector.next_tick, "news": detector.passing_on.at, **here.data.timers()}
    if here.data.limit is None:
        found |= here.tracker.timers()
    if fetches:
        found["history"] = fetches.next_timer()
    return found
