"""Random histories of a group: anything goes wrong for a while, then nothing does, and all meet again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from view_world import Process, World, require

from stablecast.membership.messages import Flushed, Install, Installed, Prepare, Sync, Synced

FAULTY_FOR = 20.0
MEET_WITHIN = 60.0
CROWD = (20, 41)
"""How many there are at first where trees are to have members inside, at least and below."""


@dataclass
class Outcome:
    """What came of a schedule."""

    seconds: float
    """From the last fault until all were in one view."""
    views: int
    parts: int
    crashes: int


class Schedule:
    """One history, all of it from its seed."""

    def __init__(self, seed: int, *, crowded: bool = False) -> None:
        self.world = World(seed, zones=("", "east", "west") if crowded else ("",))
        self.random = self.world.random
        self.crashes = 0
        self.first_joiners = range(*CROWD) if crowded else range(7)
        self.faults: list[tuple[float, Callable[[], None]]] = [
            (3, self.crash),
            (2, self.crash_leader),
            (3, self.pause),
            (3, self.split),
            (2, self.heal),
            (2, self.cut_link),
            (2, self.leave),
            (4, self.join),
            (2, self.restart),
            (1, self.leave_out),
            (3, self.weather),
        ]
        if crowded:
            self.faults += [(4, self.crash_inside), (3, self.lose_answers), (3, self.two_leaders)]

    def run(self) -> Outcome:
        world = self.world
        first = world.first()
        self.seeds = [first.address]
        for _ in range(self.random.choice(self.first_joiners)):
            world.joiner(self.seeds)
        world.later(0.0, self.someone_sends)
        self.plan()
        world.run(FAULTY_FOR)
        self.calm()
        seconds = world.run_until(world.is_one_view, within=MEET_WITHIN)
        world.run(5.0)
        require(world.is_one_view(), f"they fall apart again: {world.describe()}")
        parts = sum(process.sent for process in world.processes)
        return Outcome(seconds, len(world.watch.views), parts, self.crashes)

    def plan(self) -> None:
        weights, faults = zip(*self.faults, strict=True)
        for _ in range(self.random.randrange(3, 16)):
            fault = self.random.choices(faults, weights)[0]
            self.world.later(self.random.uniform(0.0, FAULTY_FOR), fault)
        if self.random.random() < 0.3:  # several things in the same moment
            moment = self.random.uniform(0.0, FAULTY_FOR - 0.3)
            for _ in range(4):
                self.world.later(
                    moment + self.random.uniform(0, 0.3), self.random.choices(faults, weights)[0]
                )

    def calm(self) -> None:
        self.world.heal()
        self.world.network.loss = self.random.choice([0.0, 0.05])
        self.world.network.most_delay = 0.01
        self.world.network.drops = lambda source, to, frame: False
        for process in self.world.live():
            self.world.resume(process)
        seed = self.world.at[self.seeds[0]]
        contacts = [process.address for process in self.world.live()]
        if not contacts:
            self.world.first()
        elif (
            not seed.is_live
        ):  # it comes back, for who else should those meet through that know only dead ones
            self.world.joiner(contacts, seed.name, address=seed.address)

    def someone_sends(self) -> None:
        live = self.world.live()
        if live:
            self.random.choice(live).multicast()
        self.world.later(self.random.uniform(0.0, 0.15), self.someone_sends)

    def anyone(self) -> Process | None:
        live = self.world.live()
        return self.random.choice(live) if len(live) > 1 else None

    def crash(self) -> None:
        process = self.anyone()
        if process is not None:
            self.crashes += 1
            self.world.crash(process)

    def crash_leader(self) -> None:
        leaders = [process for process in self.world.live() if process.machine.leads]
        if leaders and len(self.world.live()) > 1:
            self.crashes += 1
            self.world.crash(self.random.choice(leaders))

    def pause(self) -> None:
        process = self.anyone()
        if process is not None:
            self.world.pause(process, self.random.choice([0.5, 2.0, 3.5, 6.0]))

    def split(self) -> None:
        cells: list[list[Process]] = [[] for _ in range(self.random.choice([2, 2, 3]))]
        for process in self.world.live():
            self.random.choice(cells).append(process)
        self.world.split(*cells)
        self.world.later(self.random.uniform(1.0, 10.0), self.world.heal)

    def heal(self) -> None:
        self.world.heal()

    def cut_link(self) -> None:
        one, other = self.anyone(), self.anyone()
        if one is not None and other is not None:
            self.world.network.cut_links.add((one.address, other.address))

    def leave(self) -> None:
        process = self.anyone()
        if process is not None and not process.is_paused:
            process.does(process.machine.leave(self.world.now))

    def join(self) -> None:
        contacts = [process.address for process in self.world.live()]
        known = self.random.sample(contacts, min(len(contacts), self.random.choice([1, 2, 3])))
        name = self.random.choice(["", "", "twin"])
        if known:
            self.world.joiner([*known, *self.seeds], name)

    def restart(self) -> None:
        dead = [p for p in self.world.processes if not p.is_up and self.world.at[p.address] is p]
        contacts = [process.address for process in self.world.live()]
        if dead and contacts:
            process = self.random.choice(dead)
            self.world.joiner(contacts[:3], process.name, address=process.address)

    def leave_out(self) -> None:
        for process in self.world.live():
            if process.view is not None and process.machine.leads and not process.is_paused:
                other = self.random.choice(process.view.members)
                process.does(process.machine.leave_out(other.session, "slow", self.world.now))

    def weather(self) -> None:
        self.world.network.loss = self.random.choice([0.0, 0.1, 0.3, 0.5])
        self.world.network.duplicates = self.random.choice([0.0, 0.2])
        self.world.network.most_delay = self.random.choice([0.01, 0.2, 1.0])

    def crash_inside(self) -> None:
        """Let a member crash as it passes something on that it does not lead."""
        kind, nth = self.random.choice([Prepare, Sync, Install]), self.random.randrange(1, 8)
        seen = 0

        def drops(source, to, frame):
            nonlocal seen
            victim = self.world.at[source]
            if not isinstance(frame, kind) or frame.proposal[1] == victim.session:
                return False
            seen += 1
            if seen == nth and len(self.world.live()) > 1:
                self.crashes += 1
                self.world.crash(victim)
            return seen == nth

        self.world.network.drops = drops

    def lose_answers(self) -> None:
        """Lose most of what comes up the trees, for a while."""
        draw = self.random.random
        self.world.network.drops = lambda source, to, frame: (
            isinstance(frame, Flushed | Synced | Installed) and draw() < 0.7
        )
        self.world.later(3.0, self.lose_nothing)

    def lose_nothing(self) -> None:
        self.world.network.drops = lambda source, to, frame: False

    def two_leaders(self) -> None:
        """Let two members of a view believe in the same moment that they lead."""
        one = self.anyone()
        members = [p for p in self.world.live() if one and one.view and p.view and p.view.id == one.view.id]
        for leader in self.random.sample(members, min(2, len(members))):
            before = leader.view.sessions[: leader.view.rank_of(leader.session)]
            if not leader.is_paused:
                leader.does(leader.machine.suspect(frozenset(before), self.world.now))
