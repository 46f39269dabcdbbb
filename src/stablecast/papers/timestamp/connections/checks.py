"""What must hold in every state of a world, and what must come of it.

Each check returns what is wrong in words, or nothing.
"""

from __future__ import annotations

from itertools import count

from stablecast.papers.timestamp.connections.connection import ReceiverLink, SenderLink
from stablecast.papers.timestamp.connections.worlds import Case, World


def broken_promise(world: World) -> str:
    """Safety: what a sender calls stable, or has dropped, is nothing that a receiver of its group lacks."""
    for s, r, timestamp in world.owed:
        if timestamp <= world.senders[s].stable_up_to:
            return f"sender {s} calls {timestamp} stable, and receiver {r} of its group lacks it"
        if timestamp not in world.senders[s].buffered:
            return f"sender {s} dropped {timestamp}, and receiver {r} of its group lacks it"
    return ""


def broken_rule(case: Case, world: World) -> str:
    """Look for what the rules say of channels and groups, and what makes the promise hold."""
    for s, side in enumerate(world.senders):
        if side.stable_up_to > side.last:
            return f"sender {s} calls stable what it has not sent"
    for s, r in case.pairs:
        wrong = _against_the_rules(world.senders[s].link(r), world.receivers[r].link(s))
        if wrong:
            return f"{wrong}: sender {s}, receiver {r}"
    return ""


def _against_the_rules(at_sender: ReceiverLink, at_receiver: SenderLink) -> str:
    if at_sender.is_member and not (at_sender.is_open and at_sender.carries):
        return "a receiver is counted without its channels"
    if at_sender.is_member and at_sender.acknowledged is None:
        return "a receiver is counted that has confirmed nothing"
    if at_receiver.heard is not None and not at_receiver.is_open:
        return "a sender is in the group without an acknowledgement channel"
    same = at_receiver.is_open and at_sender.is_open and at_sender.connection == at_receiver.connection
    if not same or at_sender.acknowledged is None:
        return ""
    if at_receiver.heard is None:
        return "a receiver has acknowledged to a sender that is not in its group"
    if at_sender.acknowledged > at_receiver.heard:
        return "a receiver has acknowledged more than it has from a sender of its group"
    return ""


def went_back(before: World, after: World) -> str:
    """Look for a number that a step has made smaller."""
    for old, new in zip(before.receivers, after.receivers, strict=True):
        if new.acknowledged < old.acknowledged:
            return f"an acknowledgement went back from {old.acknowledged} to {new.acknowledged}"
    for was, now in zip(before.senders, after.senders, strict=True):
        if now is was:
            continue
        if now.stable_up_to < was.stable_up_to:
            return f"what is stable went back from {was.stable_up_to} to {now.stable_up_to}"
        for link in was.links:
            entry = now.link(link.receiver)
            if (
                entry.connection == link.connection
                and entry.is_open
                and (entry.acknowledged or 0) < (link.acknowledged or 0)
            ):
                return f"an entry of the acknowledgement vector went back from {link.acknowledged}"
    return ""


def not_live(case: Case, world: World) -> str:
    """Liveness: let open channels stay open, and everyone send and acknowledge a few times."""
    sent = [side.last for side in world.senders]
    clock = count(1 + max([*sent, *(side.acknowledged for side in world.receivers)]))
    for _ in range(3):
        for s, r in case.pairs:
            at_sender = world.senders[s].link(r)
            if at_sender.is_open and not at_sender.carries:
                world = case.sender_does(world, s, "connect", r)
        for r in range(case.receivers):
            world = case.receiver_does(world, r, "acknowledge")
        world = case.all_told(world)
        for s in range(case.senders):
            world = case.sender_does(world, s, "send", next(clock))
        world = case.all_delivered(world)
    for s, side in enumerate(world.senders):
        connected = {r for r in range(case.receivers) if world.receivers[r].link(s).is_open}
        if set(side.receiver_group) != connected:
            return f"sender {s} counts {side.receiver_group}, and {sorted(connected)} are connected"
        if connected and side.stable_up_to < sent[s]:
            return f"{sent[s]} of sender {s} does not become stable"
    return broken_promise(world) or broken_rule(case, world)
