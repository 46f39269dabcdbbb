"""What one member knows of its group at one moment: the values that it serves, and that observers read.

A member tells them as JSON on request (``live/metrics``); ``stablecast top`` and ``dashboard`` show them, and
make the same of traces.  All ages are seconds before ``time_us``, so that clocks of two machines need not
agree.  Importing this module loads nothing of the engine.
"""

from __future__ import annotations

import msgspec

VERSION = 1
"""Of this form; a reader refuses others."""

OK, SILENT, SUSPECTED, BEHIND, UNHEARD = "ok", "silent", "suspected", "behind", "not heard here"
FAILED, LEFT = "failed", "left"


class SeenMember(msgspec.Struct, frozen=True, kw_only=True):
    """One member of the view."""

    name: str
    state: str
    """``ok``; ``silent``: nothing came of it for longer than its rounds explain; ``suspected``: others have
    been told of its silence; ``not heard here``: it lives, and nothing comes from it to this member;
    ``behind``: it lacks what is overdue.  Of the member that tells: what it is doing, ``ok`` in its view."""
    zone: str = ""
    address: str = ""
    last_heard_s: float | None = None
    """Seconds since something was heard of it; None for the member that tells."""
    is_known: bool = True
    """Whether this member hears itself what that one has; of the others, only their neighbours do."""
    behind_messages: int = 0
    """Messages kept here that it is not known to have."""
    behind_bytes: int = 0
    behind_s: float = 0.0
    """For how long it has been without the oldest of them."""
    behind_source: str = ""
    """Whose that is."""
    kept_bytes: int | None = None
    """What it keeps; a member knows that of itself, and traces tell it of all."""


class SeenSource(msgspec.Struct, frozen=True, kw_only=True):
    """One source, as far as its messages have come here."""

    name: str
    received: int
    """The last message that has come without a gap."""
    stable: int
    """The frontier: the last message that is known to be everywhere."""
    kept_bytes: int = 0
    """Bytes that are kept of it, with what waits behind gaps."""
    oldest_s: float = 0.0
    """Age of the oldest message that is kept; 0 if there is none."""
    missing_parts: int = 0
    """Parts that are known to exist and have not come."""
    lacking: tuple[str, ...] = ()
    """Members that are not known to have the oldest, the first of them."""
    lacking_count: int = 0
    """How many these are."""


class SeenHolding(msgspec.Struct, frozen=True, kw_only=True):
    """A member that keeps messages of a source from being stable."""

    member: str
    source: str
    first: int
    """The first message that it is not known to have."""
    messages: int
    bytes: int
    since_s: float
    """Age of that message here."""


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """A member that is out of the view."""

    name: str
    state: str
    """``failed`` or ``left``."""
    since_s: float


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened; ``number`` rises by one."""

    number: int
    time_us: int
    kind: str
    text: str


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A group from one member's point of view, or from its members' traces."""

    version: int = VERSION
    time_us: int
    """The time of day."""
    incarnation: str
    """Names the process that tells: when it changes, counts begin anew."""
    group: str
    me: str
    """The member that tells; empty if this is from traces."""
    state: str
    protocol: str
    view_epoch: int = 0
    main: bool = True
    members: tuple[SeenMember, ...] = ()
    """In the order of the view."""
    sources: tuple[SeenSource, ...] = ()
    """Those that have sent something."""
    holding: tuple[SeenHolding, ...] = ()
    """Who holds what back, for longest first; not all of it in a large group."""
    gone: tuple[Gone, ...] = ()
    """Members that went lately, the latest first."""
    sent: int = 0
    delivered: int = 0
    waiting: int = 0
    """Deliveries that the application has not taken."""
    received_messages: int = 0
    """Messages of all sources that have come."""
    stable_messages: int = 0
    """Of these, the ones that are known to be everywhere."""
    kept_bytes: int = 0
    buffer_bytes: int = 0
    """The most that may be unstable; 0 if that is not known."""
    data_bytes: int = 0
    control_bytes: int = 0
    repairs_asked: int = 0
    repairs_sent: int = 0
    releases: int = 0
    """Times that messages were let go, which grows."""
    releases_s: float = 0.0
    """Sum over them of how long the oldest one let go was here."""
    own_stable: int = 0
    """Own messages that became stable, which grows."""
    own_stable_s: float = 0.0
    """Sum over them of the time from sending until that was known."""
    time_to_stable_p50: float | None = None
    """Seconds, of recent own messages."""
    time_to_stable_p99: float | None = None
    step_s: float = 0.0
    last_note: int = 0
    """Number of the last note; 0 if there is none."""


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """Notes after some number, and the last number there is."""

    incarnation: str
    last: int
    notes: tuple[Note, ...] = ()
