"""What each frame does in each phase: a table, and the one function that looks it up.

Every kind of frame is listed for every phase, also where it is out of place and ignored, and
``docs/live-internals.md`` has the same table in words.  ``Phase`` says what the phases are.

One thing comes before the table.  A frame that names a view proves that the view has begun: a process that
has agreed to be in it begins it first, so what the table is asked for is the phase after that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from stablecast.membership import admit, follow, install, join, lead, leave, merge, receive
from stablecast.membership.messages import (
    Admission,
    Alive,
    Elsewhere,
    Farewell,
    Flushed,
    Frame,
    Install,
    Installed,
    Join,
    Leave,
    MembershipFrame,
    Prepare,
    Probe,
    Promised,
    Receive,
    Redirect,
    Refuse,
    Sync,
    Synced,
    Trial,
    TrialPassed,
)
from stablecast.membership.place import Phase
from stablecast.membership.state import Peer, State

F = TypeVar("F", bound=Frame)

NEW, SEEKING, MEMBER, FOLLOWING, LEADING, DEPARTING, DONE = Phase
IN_VIEW = (MEMBER, FOLLOWING, LEADING)
ALL = (NEW, SEEKING, *IN_VIEW, DEPARTING, DONE)
BUT_DONE = (NEW, SEEKING, *IN_VIEW, DEPARTING)


class Row(NamedTuple):
    """What a kind of frame does in some phases."""

    kind: type[Frame]
    phases: tuple[Phase, ...]
    does: Callable[[State, Any, Peer, float], None]


def _row(kind: type[F], phases: tuple[Phase, ...], does: Callable[[State, F, Peer, float], None]) -> Row:
    return Row(kind, phases, does)


def ignore(_state: State, _frame: Frame, _sender: Peer, _now: float) -> None:
    """Nothing."""


ROWS = (
    _row(Join, (NEW, SEEKING, DEPARTING), admit.on_join_outside),
    _row(Join, IN_VIEW, admit.on_join),
    _row(Join, (DONE,), ignore),
    _row(Redirect, (SEEKING,), join.on_redirect),
    _row(Redirect, (NEW, *IN_VIEW, DEPARTING, DONE), ignore),
    _row(Refuse, (SEEKING,), join.on_refuse),
    _row(Refuse, (NEW, *IN_VIEW, DEPARTING, DONE), ignore),
    _row(Trial, (SEEKING,), join.on_trial),
    _row(Trial, (NEW, *IN_VIEW, DEPARTING, DONE), ignore),
    _row(TrialPassed, BUT_DONE, admit.on_trial_passed),
    _row(TrialPassed, (DONE,), ignore),
    _row(Prepare, (NEW, SEEKING, DEPARTING), follow.on_prepare_outside),
    _row(Prepare, IN_VIEW, follow.on_prepare),
    _row(Prepare, (DONE,), ignore),
    _row(Flushed, (LEADING,), lead.on_flushed),
    _row(Flushed, (FOLLOWING,), lead.on_answer_below),
    _row(Flushed, (NEW, SEEKING, MEMBER, DEPARTING), lead.on_late_answer),
    _row(Flushed, (DONE,), ignore),
    _row(Sync, IN_VIEW, follow.on_sync),
    _row(Sync, (NEW, SEEKING, DEPARTING), follow.on_sync_outside),
    _row(Sync, (DONE,), ignore),
    _row(Admission, (SEEKING,), join.on_admission),
    _row(Admission, (NEW, *IN_VIEW, DEPARTING), follow.decline),
    _row(Admission, (DONE,), ignore),
    _row(Synced, (LEADING,), lead.on_synced),
    _row(Synced, (FOLLOWING,), lead.on_answer_below),
    _row(Synced, (NEW, SEEKING, MEMBER, DEPARTING), lead.on_late_answer),
    _row(Synced, (DONE,), ignore),
    _row(Install, BUT_DONE, install.on_install),
    _row(Install, (DONE,), ignore),
    _row(Installed, (SEEKING, *IN_VIEW, DEPARTING), lead.on_installed),
    _row(Installed, (NEW, DONE), ignore),
    _row(Promised, (LEADING,), lead.on_refusal),
    _row(Promised, (MEMBER, FOLLOWING), lead.on_call_for_help),
    _row(Promised, (NEW, SEEKING, DEPARTING, DONE), ignore),
    _row(Elsewhere, (SEEKING, DEPARTING), lead.on_elsewhere_outside),
    _row(Elsewhere, IN_VIEW, lead.on_elsewhere),
    _row(Elsewhere, (NEW, DONE), ignore),
    _row(Leave, IN_VIEW, leave.on_leave),
    _row(Leave, (SEEKING, DEPARTING), leave.on_leave_outside),
    _row(Leave, (NEW, DONE), ignore),
    _row(Receive, IN_VIEW, receive.on_receive),
    _row(Receive, (NEW, SEEKING, DEPARTING, DONE), ignore),
    _row(Farewell, IN_VIEW, leave.on_farewell),
    _row(Farewell, (NEW, SEEKING, DEPARTING, DONE), ignore),
    _row(Probe, IN_VIEW, merge.on_probe),
    _row(Probe, (NEW, SEEKING, DEPARTING, DONE), ignore),
    _row(Alive, ALL, ignore),  # it is for the detector
)

TABLE: Mapping[tuple[type[Frame], Phase], Callable[[State, Any, Peer, float], None]] = {
    (row.kind, phase): row.does for row in ROWS for phase in row.phases
}


def take(state: State, frame: MembershipFrame, sender: Peer, now: float) -> None:
    """Take in a frame from a trusted session."""
    named = _view_named(frame)
    if named:
        install.if_begun(state, named, now)
    TABLE[type(frame), state.phase](state, frame, sender, now)


def _view_named(frame: MembershipFrame) -> int:
    """Return the id of the view that a frame proves to have begun, 0 if it does not."""
    match frame:
        case Prepare(view=view) | Probe(view=view) | Sync(old=view):
            return view
        case _:
            return 0
