"""The one root of every exception that stablecast raises on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class StablecastError(Exception):
    """Something the caller can mend; the message says what, where, and what is accepted."""


class InvalidInput(StablecastError, ValueError):
    """An argument, an option or a file that cannot be accepted."""


class SafetyViolation(StablecastError):
    """A checker outside the protocols saw something called stable, or released, too early."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> InvalidInput:
    """Build the error for a name that is not in a registry, with the nearest name that is."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return InvalidInput(f"unknown {what} '{name}'{hint} (accepted: {', '.join(names)})")


class BindFailed(StablecastError):
    """An address cannot be bound: in use, not of this machine, or not permitted."""


class JoinFailed(StablecastError):
    """No view took this process in; the message says whom it asked, and what they said."""


class GroupClosed(StablecastError):
    """The group was closed, or this member has left it."""


class NotHere(StablecastError, RuntimeError):
    """A group was used from another thread, on another event loop, or in a fork of its process."""


class BufferFull(StablecastError):
    """The member's share of the buffers is used up, and it was told not to wait."""


class DeliveriesGone(StablecastError):
    """Deliveries were asked for after they had been given up, because nobody had asked before."""


class DrainTimedOut(StablecastError, TimeoutError):
    """Own messages were not all stable in time; the member is still in the group."""
