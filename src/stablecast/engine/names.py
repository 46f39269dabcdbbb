"""What members are called at one process: a label stands for one member, for as long as the process lives.

Why it is needed
    Labels are agreed on in views, and each part of a split group agrees alone.  The parts that may hand out
    plain labels are chosen so that two of them do not give the same one (``membership/labels``).  That rests
    on one beginning: a group that was begun twice, by processes that did not reach each other, is two groups
    until they merge, and both have plain labels.  A process that comes from one to the other must not take
    one member for the other, whatever they are called.
How
    A member is known by its session and its agreed label, which no other member has.  The first that a
    process meets under a label has it there; another one is called by its label and bits of its session.
    That is the same at every process that has to call it so.
"""

from __future__ import annotations

from collections import OrderedDict

from stablecast.membership.roster import Roster
from stablecast.membership.view import MemberInfo, bits_of

MOST = 10_000
"""Members that are remembered, those that were met last."""

Key = tuple[str, int]
"""A member's agreed label, and its session."""


def key_of(member: MemberInfo) -> Key:
    """Return what a member is known by."""
    return (member.label, member.session)


class Names:
    """Labels at one process."""

    def __init__(self) -> None:
        self._labels: OrderedDict[Key, str] = OrderedDict()
        self._keys: dict[str, Key] = {}

    def labels_of(self, roster: Roster) -> tuple[str, ...]:
        """Return what the members of a view are called here, by rank."""
        labels = tuple(map(self._label_of, roster.keys))
        return roster.labels if labels == roster.labels else labels

    def label_of(self, member: MemberInfo) -> str:
        """Return what a member is called here."""
        return self._label_of(key_of(member))

    def _label_of(self, key: Key) -> str:
        label = self._labels.get(key)
        if label is None:
            agreed, session = key
            label = f"{agreed}~{bits_of(session)}" if agreed in self._keys else agreed
            self._labels[key], self._keys[label] = label, key
            if len(self._labels) > MOST:
                _, gone = self._labels.popitem(last=False)
                del self._keys[gone]
        else:
            self._labels.move_to_end(key)
        return label

    def key_of(self, label: str) -> Key | None:
        """Return who is called so here, None if nobody is."""
        return self._keys.get(label)
