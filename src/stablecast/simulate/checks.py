"""Safety, checked outside the protocols after every declaration of every run.

Nothing may be called stable, and so nothing released, while a member lacks it; and no frontier goes back.

The checkers only look.  They read what members have received and declared, and write nothing but their own
notes (``truth``, ``constructed``) and the first violation, which ends the run.  They send nothing and let go
of nothing: a run in which they find nothing has the same events with them and without them.  What follows
from a declaration, such as the release of buffers, is the driver's work, and comes after the check (see
:mod:`stablecast.simulate.drive`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stablecast.compiling import kernel
from stablecast.frontier import copy_into, exceeds, raise_to, take_minimum
from stablecast.simulate.state import Sim

IntArray = NDArray[np.integer[Any]]

HIGHEST = np.iinfo(np.int32).max
EARLY, BACKWARDS, UNDECLARED, TOO_MANY_SENDS, ENTRY_WENT_BACK, MADE_UP = 1, 2, 3, 4, 5, 6
VIOLATIONS = {
    EARLY: "called stable while a member lacks it",
    BACKWARDS: "a frontier went back",
    UNDECLARED: "a frontier changed without being declared",
    TOO_MANY_SENDS: "a call sends more messages than its kernels say",
    ENTRY_WENT_BACK: "an array of which only changed entries travel went back",
    MADE_UP: "changed entries were put together to more than was sent",
}


@kernel
def bring_truth_up_to_date(sim: Sim) -> None:
    """Compute again, for each column, what every member has received that nobody has struck off."""
    if sim.channels:
        bring_pairs_up_to_date(sim)
        return
    if sim.audiences:
        bring_audiences_up_to_date(sim)
        return
    if not sim.faulty:
        copy_into(sim.truth, sim.received[0])
        for i in range(1, sim.received.shape[0]):
            take_minimum(sim.truth, sim.received[i])
        return
    for c in range(sim.truth.size):
        sim.truth[c] = HIGHEST
    for i in range(sim.received.shape[0]):
        if is_required(sim, i):
            for c in range(sim.truth.size):
                sim.truth[c] = min(sim.truth[c], max(sim.received[i, c], sim.base[i, c]))


@kernel
def bring_audiences_up_to_date(sim: Sim) -> None:
    """Do so where some messages are not for everyone: their sender has them, and its receivers must."""
    for c in range(sim.truth.size):
        sim.truth[c] = HIGHEST
        for i in range(sim.received.shape[0]):
            if (sim.audience[c, i] or sim.columns[c].leader == i) and is_required(sim, i):
                sim.truth[c] = min(sim.truth[c], sim.received[i, c])


@kernel
def pair_of(sim: Sim, column: int, member: int) -> int:
    """Return where it is kept how a column and a member stand."""
    return int(column * sim.member_count + member)


@kernel
def bring_pairs_up_to_date(sim: Sim) -> None:
    """Do so where receivers connect: whom a sender counts needs what it sent since, while both are open."""
    for c in range(sim.truth.size):
        leader = sim.columns[c].leader
        sim.truth[c] = sim.received[leader, c]
        for i in range(sim.member_count):
            if sim.pairs[pair_of(sim, c, i)].required and is_required(sim, i):
                sim.truth[c] = min(sim.truth[c], max(sim.received[i, c], sim.pairs[pair_of(sim, c, i)].after))


@kernel
def count_early(sim: Sim, member: int) -> None:
    """Count the messages that a member now calls stable and that a receiver lacks."""
    for c in range(sim.truth.size):
        for i in range(sim.member_count):
            pair = sim.pairs[pair_of(sim, c, i)]
            if pair.required and is_required(sim, i):
                has = max(sim.received[i, c], pair.after, sim.declared[member, c])
                sim.counts.early += max(sim.stable[member, c] - has, 0)


@kernel
def is_required(sim: Sim, member: int) -> bool:
    """Tell whether nothing may become stable without this member."""
    record = sim.members[member]
    return bool(record.alive and record.admitted > record.struck)


@kernel
def report(sim: Sim, what: int, member: int, array: IntArray, bound: IntArray) -> None:
    """Record the first violation, with the first entry above its bound; it ends the run."""
    if sim.counts.violation != 0:
        return
    sim.counts.violation = what
    sim.counts.violation_member = member
    for j in range(array.size):
        if array[j] > bound[j]:
            sim.counts.violation_column = j
            return


@kernel
def check_declaration(sim: Sim, member: int) -> None:
    """Compare what a member now calls stable with what it did before and with what everyone has."""
    stable, declared = sim.stable[member], sim.declared[member]
    if exceeds(declared, stable):
        report(sim, BACKWARDS, member, declared, stable)
    # Once a live member was struck off, stability is a matter of whom one counts in.
    if sim.counts.false_strikes == 0 and exceeds(stable, sim.truth):
        bring_truth_up_to_date(sim)
        if sim.lenient:
            count_early(sim, member)
        elif exceeds(stable, sim.truth):
            report(sim, EARLY, member, stable, sim.truth)
    if sim.book >= 0:
        check_by_book(sim, member)


@kernel
def check_by_book(sim: Sim, member: int) -> None:
    """What no member has found before must be at everyone whom this one counts in."""
    stable = sim.stable[member]
    if not exceeds(stable, sim.constructed):
        return
    for j in range(sim.member_count):
        status = sim.sequences[member, sim.book + j]
        same = sim.sequences[j, sim.book + j] == status
        if status % 2 == 1 and same and sim.members[j].alive:
            for c in range(stable.size):
                if stable[c] > sim.constructed[c] and stable[c] > sim.received[j, c]:
                    report(sim, EARLY, member, stable, sim.received[j])
    raise_to(sim.constructed, stable)


@kernel
def check_end(sim: Sim) -> None:
    """At the end, look for a frontier that changed without being declared."""
    for i in range(sim.stable.shape[0]):
        if exceeds(sim.stable[i], sim.declared[i]):
            report(sim, UNDECLARED, i, sim.stable[i], sim.declared[i])
        if exceeds(sim.declared[i], sim.stable[i]):
            report(sim, UNDECLARED, i, sim.declared[i], sim.stable[i])
