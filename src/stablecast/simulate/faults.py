"""Faults are data: what happens to which member, and when.

A schedule is written as steps separated by semicolons, members as numbers, ranges and lists, times in
milliseconds:

    crash 3 at 5000; leave 4,7 at 6000; join 2 at 9000; partition 0-49 from 1000 to 8000

    connect 7 to 0 at 500; disconnect 7 from 0 at 900; drop 3,4 by 0 at 950

``join 2`` lets the next two members come that were not there from the start; all others are there at 0.
Receivers connect to a sender and disconnect from it, and a sender drops receivers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from stablecast.errors import InvalidInput
from stablecast.overlays.hypercube import hypercube
from stablecast.simulate.knobs import FAULTS, check_knobs, knob

CRASH, LEAVE, JOIN, MOVE, TELL, TELL_JOINED, PAUSE, RESUME = range(8)
CONNECT, DISCONNECT, DROP, LOSE_SENDER, LOSE_RECEIVER = range(8, 13)
"""What may happen to a connection: the first two at its receiver, the third at its sender; by the last two
the network tells a receiver, and a sender, that the other side has closed it."""
"""What may happen to a member; ``MOVE`` puts it on a side of a partition, and by ``TELL`` a failure detector
tells it that another one is gone, by ``TELL_JOINED`` a membership service that another one has joined.  Only
live members pause."""
PS_PER_MS = 1_000_000_000
ACCEPTED = (
    "accepted: 'crash M at MS', 'leave M at MS', 'join COUNT at MS', 'partition M from MS to MS', 'connect M"
    " to SENDER at MS', 'disconnect M from SENDER at MS', 'drop M by SENDER at MS'"
)
_ONCE = re.compile(r"(crash|leave|join)\s+([\d,\s-]+?)\s+at\s+([\d.]+)")
_PAUSE = re.compile(r"pause\s+([\d,\s-]+?)\s+from\s+([\d.]+)\s+to\s+([\d.]+)")
_CHANNEL = re.compile(r"(connect|disconnect|drop)\s+([\d,\s-]+?)\s+(to|from|by)\s+(\d+)\s+at\s+([\d.]+)")
_WORDS = {("connect", "to"): CONNECT, ("disconnect", "from"): DISCONNECT, ("drop", "by"): DROP}
_PARTITION = re.compile(r"partition\s+([\d,\s-]+?)\s+from\s+([\d.]+)\s+to\s+([\d.]+)")


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that happens to one member."""

    at_ps: int
    what: int
    member: int
    side: int = 0
    """Of ``MOVE``: the side that the member is on from then on; of ``TELL`` and ``TELL_JOINED``: the member
    that is gone or has joined; of a connection: the member at its other end."""
    number: int = 0
    """Of a connection: which of the receiver's to that sender."""


@dataclass(frozen=True)
class Schedule:
    """All faults of a run, in the order in which they happen."""

    faults: tuple[Fault, ...] = ()
    initial: int = 0
    """Members that are there from the start."""


def read_schedule(text: str, members: int, *, pauses: bool = False) -> Schedule:
    """Read a schedule for a group of that size, members that join later included; some may pause, if told."""
    steps = [step.strip() for step in text.split(";") if step.strip()]
    joining = sum(_joining(step) for step in steps)
    if joining >= members:
        raise InvalidInput(f"faults: {joining} of {members} members cannot all join later")
    initial = members - joining
    faults: list[Fault] = []
    following = initial
    for side, step in enumerate(steps, 1):
        made = _read_step(step, members, following, side, pauses=pauses)
        following += sum(fault.what == JOIN for fault in made)
        faults += made
    return Schedule(tuple(sorted(faults)), initial)


def with_detector(
    schedule: Schedule, members: int, after_ms: float, *, spread_ms: float = 0.0, seed: int = 0
) -> Schedule:
    """Return the same faults, with every other member told of each crash and join after so much time.

    With a spread each member is told at a time of its own, drawn from that long after the others.  Who joins
    is told then of what the others were told of before; nobody is told that a member has joined that it knows
    to be gone.
    """
    rng = np.random.default_rng([seed, 0x74656C6C])
    joined = _times(schedule, JOIN)

    def told_at(happened: dict[int, int]) -> dict[tuple[int, int], int]:
        """Return when each member is told of each of these."""
        found = {}
        for other, at_ps in happened.items():
            later_ps = np.zeros(members) if spread_ms == 0 else rng.uniform(0, spread_ms * PS_PER_MS, members)
            for member in set(range(members)) - {other}:
                at = at_ps + round(after_ms * PS_PER_MS) + round(later_ps[member])
                found[member, other] = max(at, joined.get(member, 0))
        return found

    gone_at, joined_at = told_at(_times(schedule, CRASH, LEAVE)), told_at(joined)
    told = [Fault(at, TELL, member, other) for (member, other), at in gone_at.items()]
    told += [
        Fault(at, TELL_JOINED, *pair)
        for pair, at in joined_at.items()
        if pair not in gone_at or at < gone_at[pair]
    ]
    return Schedule(tuple(sorted([*schedule.faults, *told])), schedule.initial)


def _times(schedule: Schedule, *what: int) -> dict[int, int]:
    """Return when something of these kinds happens first to each member that it happens to."""
    found: dict[int, int] = {}
    for fault in schedule.faults:
        if fault.what in what:
            found.setdefault(fault.member, fault.at_ps)
    return found


@dataclass(frozen=True, kw_only=True)
class Failing:
    """Members that crash, drawn by the seed."""

    fail_neighbours: int = knob(
        0, "How many of member 0's neighbours in the hypercube crash, drawn by the seed.", panel=FAULTS
    )
    fail_random: int = knob(0, "How many of all members but member 0 crash, drawn by the seed.", panel=FAULTS)
    fail_at_ms: float = knob(
        0.0, "Simulated milliseconds at which these members crash.", panel=FAULTS, least=0
    )

    def __post_init__(self) -> None:
        check_knobs(self)

    def added_to(self, faults: str, members: int, seed: int) -> str:
        """Return a schedule with these crashes added to it."""
        if not (self.fail_neighbours or self.fail_random):
            return faults
        failing = failing_members(
            members, neighbours=self.fail_neighbours, others=self.fail_random, seed=seed
        )
        step = f"crash {','.join(map(str, failing))} at {self.fail_at_ms:.9f}"
        return f"{faults}; {step}" if faults else step


def failing_members(members: int, *, neighbours: int, others: int, seed: int) -> list[int]:
    """Draw members to fail: neighbours of member 0 in the hypercube, and any but member 0 beyond those."""
    near = hypercube(members).neighbours_of(0)
    for what, count, room in (
        ("fail_neighbours", neighbours, near.size),
        ("fail_random", others, members - 1),
    ):
        if not 0 <= count <= room:
            raise InvalidInput(f"{what} {count} is not accepted (accepted: 0 to {room} of {members} members)")
    rng = np.random.default_rng([seed, 0x6661696C])
    failing = set(rng.permutation(near)[:neighbours].tolist())
    rest = [member for member in range(1, members) if member not in failing]
    failing |= set(rng.permutation(rest)[:others].tolist())
    return sorted(failing)


def _joining(step: str) -> int:
    found = _ONCE.fullmatch(step)
    return _count(found[2]) if found and found[1] == "join" else 0


def _read_step(step: str, members: int, following: int, side: int, *, pauses: bool) -> list[Fault]:
    once, partition = _ONCE.fullmatch(step), _PARTITION.fullmatch(step)
    pause = _PAUSE.fullmatch(step) if pauses else None
    if once and once[1] == "join":
        return [Fault(_ps(once[3]), JOIN, following + k) for k in range(_count(once[2]))]
    if once:
        what = CRASH if once[1] == "crash" else LEAVE
        return [Fault(_ps(once[3]), what, member) for member in _members(once[2], members)]
    channel = _CHANNEL.fullmatch(step)
    if channel and (channel[1], channel[3]) in _WORDS:
        what, at = _WORDS[channel[1], channel[3]], _ps(channel[5])
        (sender,) = _members(channel[4], members)
        return [
            Fault(at, what, *((sender, member) if what == DROP else (member, sender)))
            for member in _members(channel[2], members)
        ]
    lasting = partition or pause
    if lasting:
        chosen, begin, end = _members(lasting[1], members), _ps(lasting[2]), _ps(lasting[3])
        if end <= begin:
            raise InvalidInput(f"faults: '{step}' ends before it begins")
        if pause:
            stops = [Fault(begin, PAUSE, member) for member in chosen]
            return stops + [Fault(end, RESUME, member) for member in chosen]
        moves = [Fault(begin, MOVE, member, side) for member in chosen]
        return moves + [Fault(end, MOVE, member, 0) for member in chosen]
    accepted = f"{ACCEPTED}, 'pause M from MS to MS'" if pauses else ACCEPTED
    raise InvalidInput(f"faults: '{step}' is not understood ({accepted})")


def _count(text: str) -> int:
    if not text.strip().isdigit() or int(text) < 1:
        raise InvalidInput(f"faults: join '{text}' is not accepted (accepted: a number above 0)")
    return int(text)


def _ps(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInput(f"faults: time '{text}' is not accepted (accepted: milliseconds)")
    return round(value * PS_PER_MS)


def _members(text: str, members: int) -> list[int]:
    chosen: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not found:
            raise InvalidInput(f"faults: members '{text}' are not accepted (accepted: 3 or 0-4,7)")
        first = int(found[1])
        chosen += range(first, int(found[2] or first) + 1)
    wrong = [member for member in chosen if member >= members]
    if wrong or not chosen:
        raise InvalidInput(f"faults: no member {wrong[:1] or text} in a group of {members}")
    return sorted(set(chosen))
