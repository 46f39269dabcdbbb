"""Faults: what may befall the processes and the links of a run, and how they are drawn.

A fault names no process: it says how to choose among those that live when it comes (``who`` seeds the
choice), so a fault means something whatever happened before it.  That also lets a schedule be shrunk by
leaving faults out.  Durations lie around the silence after which a member counts as failed, from far below
to above it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

BEGIN_S = 1.0
"""When faults begin; by then a small group usually is together."""
SPAN_S = 2.0
"""For how long faults begin, usually."""
STEADY_SHARE = 0.2
APART_SHARE = 0.3
APART = ("partition", "partition", "split3", "bridge", "one-way", "flap")
"""What keeps a group apart."""

HOWS: dict[str, tuple[str, ...]] = {
    "crash": ("",),
    "restart": ("in-place", "elsewhere"),
    "crash-loop": ("in-place", "moving"),
    "pause": ("",),
    "slow": ("",),
    "leave": ("",),
    "join": ("",),
    "mass-join": ("",),
    "mass-leave": ("",),
    "mass-crash": ("for-good", "restart"),
    "partition": ("",),
    "split3": ("pairwise", "at-once"),
    "one-way": ("link", "mute", "deaf", "half"),
    "flap": ("link", "one-way", "member", "half"),
    "bridge": ("",),
    "jump": ("",),
    "rotate": ("",),
    "replay": ("again", "hold-back"),
}
"""
Every kind of fault, and in which ways it happens:

``crash``: a process ends without a word.  ``restart``: the same, and later another one takes its name, at
its address or at another one. ``crash-loop``: the same again and again, each time at once, and if it moves,
every second time elsewhere.  ``pause``: it stops, as by SIGSTOP, and goes on later. ``slow``: its
application takes nothing for a while.  ``leave``, ``join``: a process leaves, or a new one joins.
``mass-join``, ``mass-leave``, ``mass-crash``: so does a share of all at one moment; who crashed stays away,
or another process takes its place.  ``partition``: nothing passes between two sides.  ``split3``: nothing
passes between three sides, of which two meet before the third, or all at once.  ``one-way``: nothing passes
in one direction: on a link, from a process, to a process, or from one half to the other.  ``flap``: a link,
one direction of it, all links of a process, or those between halves go down and up.  ``bridge``: two sides
do not hear each other, and a third part hears both.  ``jump``: a process's clock goes forward at once.
``rotate``: the group's key is changed.  ``replay``: a stranger sends recorded datagrams again, or holds
datagrams back and sends them later.
"""
KINDS = tuple(HOWS)

MOMENTARY = ("crash", "leave", "join", "mass-join", "mass-leave", "jump")
SHARES = (0.2, 0.33, 0.5)
"""Of the processes, for what happens to many."""
JUMPS = (0.1, 0.6, 1.5, 10.0, 60.0)
"""How far a clock jumps, in units of the silence after which a member counts as failed."""
PERIODS = (0.1, 0.4, 1.0, 1.5)
"""How long a link stays down and then up, in the same units."""


@dataclass(frozen=True)
class Fault:
    """Something that happens to processes, or to the network."""

    at_s: float
    kind: str
    who: int
    """Seeds the choice of whom it befalls."""
    for_s: float = 0.0
    """How long it lasts, for what does."""
    how: str = ""
    amount: float = 0.0
    """The share of processes, the seconds of a jump, or the seconds between two turns of a flapping link."""

    @property
    def ends_at_s(self) -> float:
        """When it is over."""
        return self.at_s + self.for_s

    def __str__(self) -> str:
        """Tell it in a few words."""
        how = f" {self.how}" if self.how else ""
        amount = f" {self.amount:.3g}" if self.amount else ""
        lasts = f" for {self.for_s:.2f}" if self.for_s else ""
        return f"{self.at_s:.2f} {self.kind}{how}{amount}{lasts}"


def draw_faults(rng: random.Random, fail_after_s: float, begin_s: float) -> tuple[Fault, ...]:
    """Draw what happens, in the order in which it begins.

    In some schedules the group is apart for long, and the rest happens meanwhile and when its parts meet; in
    some the key is changed, and old datagrams come, whatever else happens.
    """
    count = rng.choice((0, 1, 2, 2, 3, 4, 6, 9))
    kinds = rng.sample(KINDS, rng.randint(1, len(KINDS)))
    chosen = [rng.choice(kinds) for _ in range(count)]
    if rng.random() < STEADY_SHARE:
        chosen += ["rotate", "replay"]
    span_s = rng.choice((SPAN_S, 2 * fail_after_s))
    apart: list[Fault] = []
    if rng.random() < APART_SHARE:
        span_s = fail_after_s * rng.uniform(2, 5)
        apart = [replace(_draw(rng, rng.choice(APART), fail_after_s, begin_s, 0.1), for_s=0.8 * span_s)]
    faults = apart + [_draw(rng, kind, fail_after_s, begin_s, span_s) for kind in chosen]
    return tuple(sorted(faults, key=lambda fault: fault.at_s))


def _draw(rng: random.Random, kind: str, fail_after_s: float, begin_s: float, span_s: float) -> Fault:
    lasts = fail_after_s * rng.choice((0.05, 0.5, 1.0, 1.5, 3.0)) * (0.5 + rng.random())
    amount = 0.0
    if kind.startswith("mass"):
        amount = rng.choice(SHARES)
    elif kind == "jump":
        amount = fail_after_s * rng.choice(JUMPS)
    elif kind == "flap":
        amount = fail_after_s * rng.choice(PERIODS)
        lasts = max(lasts, 2 * amount)
    elif kind == "crash-loop":
        amount = fail_after_s * rng.choice((0.05, 0.3, 1.2))
        lasts = amount * rng.randint(2, 5)
    return Fault(
        at_s=begin_s + span_s * rng.random(),
        kind=kind,
        who=rng.getrandbits(32),
        for_s=0.0 if kind in MOMENTARY else lasts,
        how=rng.choice(HOWS[kind]),
        amount=amount,
    )
