"""What members tell each other about views, and how they watch each other: one frame each.

Frames are packed as arrays, with the tag first; tags 20 to 39 are membership's.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from stablecast.membership.view import Labels, MemberInfo, Patterns, View, Whole, Word

Proposal = tuple[Whole, Word]
"""Epoch and the leader's session; larger ones win."""


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """Anything inside a datagram."""


class Join(Frame, tag=20, frozen=True):
    """A process without a view wants to be in one."""

    member: MemberInfo
    """With the least incarnation that it may be given."""
    protocol: str
    """What it would run, see :mod:`stablecast.membership.identity`; a group has one protocol."""
    epoch: Whole = 0
    """That of the last view it was in; the next has a larger one."""


class Redirect(Frame, tag=21, frozen=True):
    """Somebody else leads."""

    host: str
    port: Whole


class Refuse(Frame, tag=22, frozen=True):
    """Joining is not possible, and why."""

    reason: str


class Way(msgspec.Struct, frozen=True, array_like=True):
    """Along which tree a frame of a view change is passed on, and where its leader is; see ``waves``."""

    host: str
    port: Whole
    degree: Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
    """To how many a process passes it on at most."""
    turn: Whole = 0
    """By how many places the order is turned."""
    out: bytes = b""
    """Who is not in the tree: a set of ranks, see ``rank_sets``."""


class Prepare(Frame, tag=23, frozen=True):
    """Stop sending in a view, and say what you have."""

    proposal: Proposal
    view: Word
    way: Way


Sent = tuple[Whole, Whole, Whole, Whole]
"""A source's rank, parts that somebody has beyond those that the view began with, the rank of one who has
them, and the source's messages beyond those that the view began with, as far as the source itself said so."""


class Flushed(Frame, tag=24, frozen=True):
    """These send nothing further; this is what they have together."""

    proposal: Proposal
    members: bytes
    """Whose answer it is: a set of ranks of the old view."""
    sent: tuple[Sent, ...] = ()
    """For each source of which one of them has something of this view, by rank."""
    synced: tuple[Word, ...] = ()
    """Sessions of leaders whose SYNC of this view one of them has answered, and which may be installed."""


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """What makes the next view of the present one."""

    id: Word
    epoch: Whole
    out: bytes
    """Who is not in the next one: a set of ranks."""
    joined: tuple[MemberInfo, ...]
    """Who joins, under the labels that they get."""
    line: str
    labels: Labels
    is_apart: bool
    receives: tuple[tuple[Whole, Patterns], ...]
    """Ranks of those who receive from others than before, and from whom."""
    digest: Word
    """Of the whole next view, see ``next_view``."""


class Sync(Frame, tag=25, frozen=True):
    """Get everything up to the cut; then the next view can begin."""

    proposal: Proposal
    old: Word
    """The view that ends."""
    way: Way
    delta: Delta | None
    """To the next view; None if the old one dissolves."""
    sent: tuple[Sent, ...]
    """The cut: for each source of which something was sent in this view, its last part that all survivors are
    to have, and who has it."""
    contact: tuple[str, Whole] | None = None
    """Where members of a view that dissolves find the other one."""
    left: bytes = b""
    """Who wanted to leave: a set of ranks of the old view."""
    reason: str = ""
    """Why the old view ends, for people."""
    places: tuple[tuple[str, Whole], ...] = ()
    """Where members were that failed lately, in case they come back."""
    sponsors: tuple[Whole, ...] = ()
    """Who tells those who join, in their order: ranks of the old view."""


class Admission(Frame, tag=38, frozen=True):
    """What SYNC is to members, to a process that joins: it is to be in this view."""

    proposal: Proposal
    leader: tuple[str, Whole]
    """Where the answer goes."""
    view: View
    numbers: tuple[tuple[Whole, Whole, Whole], ...]
    """Rank, parts and messages so far of each member that has sent any."""
    reason: str = ""
    places: tuple[tuple[str, Whole], ...] = ()


class Synced(Frame, tag=26, frozen=True):
    """These have everything up to the cut."""

    proposal: Proposal
    members: bytes = b""
    """A set of ranks of the old view; who joins has none there, and speaks for itself."""


class Install(Frame, tag=27, frozen=True):
    """All have; the next view begins."""

    proposal: Proposal
    way: Way | None = None
    """Along which tree of the next view's members it is passed on; None if it is an answer."""


class Installed(Frame, tag=28, frozen=True):
    """It has begun where these are."""

    proposal: Proposal
    members: bytes = b""
    """A set of ranks of the next view, or of the one that dissolved; the sender is always meant."""


class Promised(Frame, tag=29, frozen=True):
    """A larger proposal was seen; or, with (0, 0), one was seen that nobody brings to an end."""

    proposal: Proposal
    promised: Proposal


class Elsewhere(Frame, tag=30, frozen=True):
    """I am not in the view that you mean, and shall not be, but in this one."""

    proposal: Proposal
    view: Word
    """Its id; 0 if I am in none at present."""


class Leave(Frame, tag=31, frozen=True):
    """I want to leave; answered by a view without me, or by Farewell."""

    view: Word


class Receive(Frame, tag=37, frozen=True):
    """I want to receive from other senders than the view says; answered by a view that says so."""

    view: Word
    receives: Patterns


class Farewell(Frame, tag=32, frozen=True):
    """You are out of the view: you asked to leave, or you were left out."""

    view: Word
    """The view that you were in."""
    reason: str
    stay: bytes = b""
    """Who is in the view that follows, and not in that one any more: a set of that one's ranks."""


class Probe(Frame, tag=33, frozen=True):
    """Tell me if there is another view of this group where you are."""

    view: Word
    epoch: Whole
    size: Whole
    main: bool
    """Whether it is on the main line."""
    leader_host: str
    leader_port: Whole
    answer: bool = False
    """Whether this answers another probe."""
    protocol: str = ""
    """What it runs; views of different protocols do not merge."""
    most: Whole = 0
    """Most members that it can have, 0 for any number; views that have more together do not merge."""


class Trial(Frame, tag=35, frozen=True):
    """Show that you receive this, which fills a datagram: then you can be let in."""

    stamp: Whole
    """The sender's clock in microseconds."""
    padding: bytes = b""
    """What fills the datagram."""
    sponsor: Word = 0
    """Session of a member that may send the whole view in the leader's place; 0 for none."""


class TrialPassed(Frame, tag=36, frozen=True):
    """I have received your trial; this fills a datagram too."""

    stamp: Whole
    """That of the trial."""
    padding: bytes = b""


class Alive(Frame, tag=34, frozen=True):
    """A sign of life, for the sender's neighbours; or, without a stamp, news of who lives, in between."""

    view: Word
    count: Whole
    """The sender's count of rounds, which rises while it lives."""
    has: tuple[tuple[Whole, Whole, Whole], ...] = ()
    """Of sources that there is something to say of: the rank, the sender's last part before the first gap,
    and the last part that it knows to be everywhere."""
    full: bool = False
    """Whether its application takes nothing at present, so that it cannot take more in."""
    stamp: Whole = 0
    """The sender's clock in microseconds; 0 for none."""
    echo: tuple[Whole, Whole] = (0, 0)
    """The last stamp of the member that this is for, and for how many microseconds it was kept."""
    news: tuple[tuple[Whole, Whole, Whole], ...] = ()
    """Of other members: the rank, 0 to ask, 1 if it lives and 2 if it is suspected, and its count."""
    dead: tuple[tuple[Whole, Whole, Whole], ...] = ()
    """Links that carry nothing: ranks of sender and receiver, and the receiver's count when it said so."""
    behind: tuple[tuple[Whole, Whole, Whole, Whole, Whole], ...] = ()
    """Members that lack what is overdue: the rank, that of a neighbour that says so and its count then, and
    a source with the last part that the member has of it."""
    round: Whole = 0
    """Which round of reports goes on; 0 for none."""
    least: tuple[tuple[Whole, Whole], ...] = ()
    """Of each source that the round is about, the last part that everyone in the round has."""
    inside: bytes = b""
    """Who is in the round: one bit for each rank, the lowest first."""


MembershipFrame = (
    Join
    | Redirect
    | Refuse
    | Prepare
    | Flushed
    | Sync
    | Admission
    | Synced
    | Install
    | Installed
    | Promised
    | Elsewhere
    | Leave
    | Receive
    | Farewell
    | Probe
    | Trial
    | TrialPassed
    | Alive
)
