"""Random groups over random channels, by a seed: who sends to whom, what is lost, late, skewed, or gone."""

from __future__ import annotations

import random
from dataclasses import dataclass

from stablecast.protocols.contract.clocks import TICK_PS
from stablecast.testing.reference.channels import ChannelRun

PROTOCOLS = ("timestamp", "vector", "explicit", "transitive")
CLOCKS = ("physical", "logical", "hybrid")
PATIENCE = 6000
"""Ticks after the last sending until which everything must be stable."""


@dataclass
class Played:
    """A run, and what it should have come to."""

    run: ChannelRun
    protocol: str
    whole: bool

    def unstable(self) -> list[str]:
        """Return what live members should know to be stable and do not (theorems 1b and 2b)."""
        missing = []
        for column, leader in enumerate(self.run.leaders):
            if leader in self.run.gone:
                continue
            sent = int(self.run.machines[leader].me.received[column])
            everyone = self.whole and self.protocol != "explicit"
            for member in range(len(self.run.machines)) if everyone else (leader,):
                known = int(self.run.machines[member].me.stable[column])
                if member not in self.run.gone and known < sent:
                    missing.append(f"member {member} knows {known} of {sent} of column {column}")
        return missing


def play(protocol: str, seed: int, *, whole: bool, crashes: bool) -> Played:
    """Play a random case; the run itself checks that nothing is called stable too early (1a and 2a)."""
    chance = random.Random(f"{protocol} {seed} {whole} {crashes}")
    members = chance.randint(1, 6)
    leaders = tuple(sorted(chance.sample(range(members), chance.randint(1, members))))
    whole = whole or members == 1 or protocol == "transitive"
    audiences: tuple[tuple[int, ...], ...] = ()
    if not whole:
        audiences = tuple(
            tuple(
                sorted(
                    chance.sample([m for m in range(members) if m != leader], chance.randint(1, members - 1))
                )
            )
            for leader in leaders
        )
    delay_max, loss = chance.choice((0, 3, 30)), chance.choice((0.0, 0.3, 0.6))
    data_delay_max = chance.choice((delay_max, 150))

    def ack_delay(source: int, dest: int, k: int) -> int | None:
        return None if chance.random() < loss else TICK_PS * chance.randint(0, delay_max)

    params = {"ack_every": TICK_PS * chance.randint(1, 20)}
    if protocol == "timestamp":
        params |= {"send_every": TICK_PS * chance.randint(1, 20), "clock": chance.randrange(3)}
        params |= {"skew": TICK_PS * chance.choice((0, 5, 200))}
        params |= {"drift": chance.choice((0, 1000)), "sync": TICK_PS * 100} if params["skew"] else {}
    run = ChannelRun(
        protocol,
        members=members,
        leaders=leaders,
        audiences=audiences,
        data_delay=lambda column, member, k: TICK_PS * chance.randint(0, data_delay_max),
        ack_delay=ack_delay,
        null_delay=ack_delay if chance.random() < 0.5 else None,
        params=params,
        seed=seed,
    )
    last = 0
    for column in range(len(leaders)):
        at = 0
        for _ in range(chance.randint(0, 6)):
            at += chance.choice((0, 1, chance.randint(0, 40)))
            run.send(column, at * TICK_PS)
        last = max(last, at)
    if crashes and members > 1:
        for gone in chance.sample(range(members), chance.randint(1, min(2, members - 1))):
            at = chance.randint(0, last + 20)
            run.crash(gone, at * TICK_PS)
            for member in range(members):
                if member != gone:
                    run.tell_gone(member, gone, (at + chance.randint(1, 80)) * TICK_PS)
    played = Played(run, protocol, whole)
    quiet = last + 300  # by then whoever hears of someone gone has done so
    for until in range(quiet, quiet + PATIENCE, 50):
        run.run(until * TICK_PS)
        if not played.unstable():
            break
    return played


def told_at_different_times() -> ChannelRun:
    """Member 0 sends, acknowledges, and is gone before member 2 has its message; member 2 hears of it first.

    From then on member 2's acknowledgements speak of member 1 alone.
    """
    run = ChannelRun(
        "timestamp",
        members=3,
        leaders=(0, 1),
        data_delay=lambda column, member, k: 10**6 if (column, member) == (0, 2) else 1,
        ack_delay=lambda source, dest, k: 1,
        params={"ack_every": 5, "send_every": 5},
    )
    run.send(0, 10)
    run.crash(0, 40)
    run.tell_gone(2, 0, 41)
    run.tell_gone(1, 0, 500)
    return run
