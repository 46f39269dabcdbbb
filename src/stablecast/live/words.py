"""What happens in a group, in words: for the log, and for ``stablecast node``."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from stablecast.engine.results import (
    DeliveriesGivenUp,
    Event,
    HistoryGone,
    MemberEvicted,
    MemberExcluded,
    MemberFailed,
    MemberLagging,
    MemberRecovered,
    MessagesLost,
    ProtocolChosen,
    QueueFull,
    Released,
    Settled,
    StabilityResumed,
    StabilityStalled,
    TraceFailed,
    ViewChanged,
)

LEVELS: dict[type[Event], int] = {
    ViewChanged: logging.INFO,
    MemberFailed: logging.WARNING,
    MemberLagging: logging.WARNING,
    MemberRecovered: logging.INFO,
    MemberExcluded: logging.WARNING,
    StabilityStalled: logging.WARNING,
    StabilityResumed: logging.INFO,
    MemberEvicted: logging.WARNING,
    Settled: logging.WARNING,
    ProtocolChosen: logging.INFO,
    MessagesLost: logging.WARNING,
    QueueFull: logging.WARNING,
    DeliveriesGivenUp: logging.WARNING,
    TraceFailed: logging.ERROR,
    HistoryGone: logging.INFO,
    Released: logging.NOTSET,
}
"""How events are logged; copies that were let go are not, since there are as many as messages."""

_log = logging.getLogger(__name__)


def log_event(event: Event, group: str, me: str) -> None:
    """Write an event to the log of this process, unless it is of no interest there."""
    level = LEVELS[type(event)]
    if level and _log.isEnabledFor(level):
        why = f" ({event.reason})" if isinstance(event, ViewChanged) and event.reason else ""
        _log.log(level, "%s/%s: %s%s", group, me, in_words(event), why)


def names(members: Sequence[str]) -> str:
    """Return a list of members."""
    return ", ".join(members) or "nobody"


def in_words(event: Event) -> str:
    """Return what happened."""
    match event:
        case ViewChanged():
            parts = (("joined", event.joined), ("left", event.left), ("failed", event.failed))
            changes = "".join(f"; {what}: {names(who)}" for what, who in parts if who)
            cut_off = "" if event.main else "; cut off from the main part"
            return f"view: {names(event.members)}{changes}{cut_off}"
        case MemberFailed(member):
            return f"failed: {member}"
        case MemberLagging(member, seconds):
            return f"lagging: {member}, for {seconds:.1f} s"
        case MemberRecovered(member):
            return f"recovered: {member}"
        case StabilityStalled(seconds, links, members):
            ways = ", ".join(f"nothing comes from {sender} to {receiver}" for sender, receiver in links)
            waits = f"waiting for {names(members)}" if members else ""
            why = "; ".join(part for part in (ways, waits) if part) or "for no reason that is known"
            return f"stability stalls, for {seconds:.1f} s: {why}"
        case StabilityResumed(seconds):
            return f"stability resumes, after {seconds:.1f} s"
        case MemberExcluded(member, seconds):
            return f"excluded: {member}, too slow for {seconds:.1f} s"
        case MemberEvicted(member, seconds):
            return f"evicted: {member}, for {seconds:.0f} s"
        case MessagesLost(source, first, last):
            return f"lost: {source}/{first}" + (f" to {last}" if last > first else "")
        case Settled(reason):
            return f"settled: {reason}"
        case ProtocolChosen(protocol, step_s, before):
            instead = f", after {before}" if before else ""
            return f"protocol: {protocol} with a step of {1e3 * step_s:.3g} ms{instead}"
        case QueueFull(waiting):
            return f"queue full: {waiting} deliveries wait to be read, and no more is taken in"
        case DeliveriesGivenUp(count):
            return f"given up: {count} deliveries that nobody had asked for, and all that follow"
        case TraceFailed(reason):
            return f"no trace any more: {reason}"
        case HistoryGone():
            return f"no longer kept: {event.source}/{event.first} to {event.last}"
        case Released(source, seq):
            return f"released: {source}/{seq}"
