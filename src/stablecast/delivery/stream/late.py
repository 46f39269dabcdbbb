"""What comes too late for what has left the state of a stream.

An event before the watermark; one of a message that has left; a claim by somebody who has not claimed all
that has left and may have had to receive it; in a group without joins a new member, or a first join; a first
join of one that had left before the watermark without having joined.  Each of them makes the past another
one, and everything has to be computed anew.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stablecast.delivery.coded import Coded
from stablecast.delivery.columns import chosen
from stablecast.delivery.happened import Events
from stablecast.delivery.kinds import EVER, STABLE
from stablecast.delivery.line import Start
from stablecast.delivery.membership import Membership
from stablecast.delivery.part import Thin
from stablecast.delivery.scan import ACTIVE, Scan
from stablecast.delivery.stream.leaving import Tellers
from stablecast.delivery.stream.patience import Patience, watermarks
from stablecast.delivery.stream.places import places_of
from stablecast.delivery.stream.unsent import Unsent, is_among
from stablecast.errors import StablecastError
from stablecast.words import counted


class Untimely(StablecastError):
    """Something arrived that does not fit what has left the state; everything is to be computed anew."""


def refuse_old_events(arrived: pa.Table, before: Scan, patience: Patience) -> None:
    """Refuse events that are older than the watermark was after the parts before."""
    old = watermarks(before, patience)
    group = Coded.of(arrived["group"])
    mark = np.array([old.get(name, EVER) for name in group.values.to_pylist()], np.int64)
    late = arrived["time_us"].to_numpy() < mark[group.codes] if len(mark) else np.zeros(0, bool)
    if late.any():
        raise Untimely(f"{_events(int(late.sum()))} older than the watermark of their group")


def refuse_other_past(before: Scan, found: Scan, left: set[str], patience: Patience) -> None:
    """Refuse what gives groups that messages have left other members before the watermark."""
    joined = {group for group, _ in _joined(before)}
    marks = watermarks(before, patience)
    departed = {
        (row["group"], row["name"])
        for row in before.changes.to_pylist()
        if not row["joins"] and row["time_us"] < marks[row["group"]]
    }
    for group, name in sorted(_joined(found) - _joined(before)):
        if group in left and (group not in joined or (group, name) in departed):
            raise Untimely(f"'{name}' joined group '{group}', which messages have left, for the first time")
    for group, name in sorted(_active(found) - _active(before)):
        if group in left and group not in joined:
            raise Untimely(f"'{name}' is a new member of group '{group}', which messages have left")


def _joined(scan: Scan) -> set[tuple[str, str]]:
    return {(row["group"], row["name"]) for row in scan.changes.to_pylist() if row["joins"]}


def _active(scan: Scan) -> set[tuple[str, str]]:
    columns = (scan.names[name].to_pylist() for name in scan.names.column_names)
    return {(group, name) for group, name, roles in zip(*columns, strict=True) if roles & ACTIVE}


def refuse_events_of_left(new: Events, start: Start, thin: Thin, unsent: Unsent) -> None:
    """Refuse events of messages that have left."""
    about = chosen(new, new.kind != STABLE)
    is_thin = places_of(thin.source, thin.seq, about.source, about.seq) >= 0
    in_start = about.seq <= start.last_seq[about.source]
    left = is_thin | in_start | is_among(unsent, about.source, about.seq)
    if left.any():
        raise Untimely(f"{_events(int(left.sum()))} of messages that have left the state")


def refuse_claims_of_left(
    new: Events, start: Start, thin: Thin, claimers: Tellers, membership: Membership
) -> None:
    """Refuse claims that change when messages that have left were known to be stable."""
    claims, stays = chosen(new, new.kind == STABLE), membership.stays
    left_to, most_sent = start.last_seq.copy(), start.most_sent.copy()
    np.maximum.at(left_to, thin.source, thin.seq)
    np.maximum.at(most_sent, thin.source, thin.sent)
    source, stay = claims.source, claims.stay
    covered = np.append(claimers.covered, EVER)[places_of(claimers.source, claimers.stay, source, stay)]
    was_there = (stays.belongs[stay] > 0) & (stays.start[stay] <= most_sent[source])
    behind = (covered < left_to[source]) & (was_there | (stays.name[stay] == source))
    if behind.any():
        told = counted(int(behind.sum()), "claim")
        raise Untimely(f"members that were no longer waited for made {told}")


def _events(count: int) -> str:
    return f"{counted(count, 'event')} {'is' if count == 1 else 'are'}"
