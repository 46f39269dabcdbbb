"""One fault schedule at work on the in-memory network, with every promise checked from outside."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from stablecast.engine.attached import members_most
from stablecast.membership.capacity import fits
from stablecast.membership.view import Address
from stablecast.testing.clock import VirtualClock
from stablecast.testing.endpoint import MemoryTransport
from stablecast.testing.linked import LinkedNetwork
from stablecast.testing.network import PORT, Network
from stablecast.trace.columns import columns_of
from stablecast.trace.verdict import judge_columns
from tests.soak.clocks import OwnClock
from tests.soak.crowds import crowd
from tests.soak.lines import lines_of
from tests.soak.players import Player, Say, options_of
from tests.soak.rotation import Rotation
from tests.soak.schedules import START_EVERY_S, Schedule, make_schedule
from tests.soak.strangers import Stranger
from tests.soak.supervisor import Supervisor
from tests.soak.trouble import Trouble
from tests.soak.witness import Broken, Knowledge, before_departures, check_all_or_none, heard_by, key_of

LOOK_EVERY_S = 0.1
CONVERGE_S = 120.0
"""Seconds of virtual time after the last fault within which all is to be well."""
SEND_ON_MOST = 5
"""Processes that send once more when all is well."""
RUN_COST_BYTES = 64
"""What a buffer counts for a datagram's worth of messages beside their bytes."""


@dataclass(frozen=True)
class Outcome:
    """How a schedule went."""

    seed: int
    problem: str | None
    """What went wrong, None if nothing did."""
    virtual_s: float
    cpu_s: float
    datagrams: int
    messages: int
    views: int
    """Views that were installed anywhere."""
    digest: int
    """The same for the same run."""
    replayed: int = 0
    """Datagrams that a stranger sent again."""
    happened: frozenset[str] = frozenset()
    """Kinds of faults that came about: of some in a schedule there is nobody left to befall."""
    crowd: int = 0
    """Members of a large group with churn; 0 if the schedule is as its seed draws it."""

    @property
    def schedule(self) -> Schedule:
        """What was run."""
        return schedule_of(self.seed, self.crowd)

    @property
    def replay(self) -> str:
        """The command that runs it again."""
        return f"python -m tests.soak --seed {self.seed}" + (f" --members {self.crowd}" if self.crowd else "")


class Run:
    """One schedule at work."""

    def __init__(self, schedule: Schedule, say: Say) -> None:
        self.schedule = schedule
        self.clock = VirtualClock()
        self.clocks: dict[Address, OwnClock] = {}
        """Of the process that is at an address, where clocks differ."""
        self.network = self._make_network()
        self.knowledge = Knowledge(lambda: self.clock.now)
        self.players: list[Player] = []
        self.rotation = Rotation(self.clock, lambda: self.living)
        self.stranger: Stranger | None = None
        if any(fault.kind == "replay" for fault in schedule.faults):
            self.stranger = Stranger(self.network, self.clock, schedule.seed)
        self.supervisor = Supervisor(self)
        self.trouble = Trouble(self)
        self._say_line = say

    def _make_network(self) -> Network:
        schedule = self.schedule
        common = {
            "loss": schedule.loss,
            "duplicate": schedule.duplicate,
            "reorder": schedule.reorder,
            "buffered": schedule.socket_datagrams,
            "scheduler": self.clock,
        }
        if schedule.links is None:
            return Network(schedule.seed, delay_s=schedule.delay_s, **common)
        return LinkedNetwork(schedule.links.topology, schedule.links.costs, schedule.seed, **common)

    @property
    def happened_on_links(self) -> frozenset[str]:
        """What links did that faults did not tell them to."""
        links = self.network.on_links if isinstance(self.network, LinkedNetwork) else None
        return frozenset(("overflow",)) if links is not None and links.dropped else frozenset()

    def say(self, line: str) -> None:
        """Tell what happens."""
        self._say_line(f"{self.clock.now:9.4f}  {line}")

    @property
    def living(self) -> list[Player]:
        """Processes that have neither crashed nor left."""
        return [player for player in self.players if not player.has_ended]

    def run(self) -> None:
        """Do all of it; raises ``Broken``."""
        schedule = self.schedule
        self._start_members()
        for fault in schedule.faults:
            self.clock.call_at(fault.at_s, self.trouble.befall, fault)
        self.clock.run_until(schedule.ends_at_s)
        self.say("no more faults")
        self.network.faults = replace(self.network.faults, loss=schedule.calm_loss)
        self._converge()
        self._send_on()
        self._check_end()

    # Processes

    def _start_members(self) -> None:
        count = self.schedule.members
        if self.schedule.is_together:
            seeds = [(f"10.0.0.{k}", PORT) for k in (1, 2)]
            for k in range(count):
                self.start(f"m{k}", contacts=seeds)
        else:
            for k in range(count):
                self.clock.call_at(START_EVERY_S * k, self.start, f"m{k}")

    def start_newcomer(self) -> None:
        """Start a process with a name of its own."""
        self.start(f"j{len(self.players)}")

    def restart(self, gone: Player, *, elsewhere: bool = False) -> None:
        """Start a process with the name of one that is gone, at its address or not, unless somebody has."""
        if all(player.name != gone.name for player in self.living):
            self.start(gone.name, None if elsewhere else gone.transport.address)

    def start(
        self, name: str, address: Address | None = None, contacts: Sequence[Address] | None = None
    ) -> None:
        """Start a process; it joins through some of those who live unless contacts are given."""
        others = [player for player in self.living if not player.is_leaving]
        transport = self.network.transport(name if address is None else address)
        if self.schedule.has_own_clocks:
            self._give_clock(transport)
        if contacts is None:
            contacts = [player.transport.address for player in others][:3]
            if others and all(player.engine.view is None for player in others):
                contacts.append(transport.address)  # the group is no more, so somebody has to begin it again
        player = Player(
            name,
            self.schedule,
            transport,
            self.knowledge,
            self.say,
            ring=self.rotation.ring if self.schedule.is_keyed else None,
            ended=self.supervisor.hear,
        )
        self.players.append(player)
        self.say(f"{name} starts at {transport.address[0]} as {player.engine.session}")
        player.start(list(contacts))

    def _give_clock(self, transport: MemoryTransport) -> None:
        drift = self.schedule.drift * (2 * random.Random(transport.seed).random() - 1)
        self.clocks[transport.address] = transport._scheduler = OwnClock(self.clock, rate=1 + drift)

    # The end

    def _converge(self) -> None:
        until = self.clock.now + CONVERGE_S
        while True:
            self.supervisor.replace_those_who_could_not_join()
            if self._is_well():
                return
            if self.clock.now > until:
                raise Broken(f"not well {CONVERGE_S:g} s after the last fault: {self._why_not()}")
            self.clock.run_until(self.clock.now + LOOK_EVERY_S)

    def _is_well(self) -> bool:
        """Whether all who live are in one view, have sent all, and nothing is unstable."""
        living = self.living
        if not self.supervisor.is_done or not self.rotation.is_done:
            return False
        return all(p.is_idle and not p.is_leaving for p in living) and self._are_together(living)

    def _are_together(self, living: list[Player]) -> bool:
        """Whether all are in one view, or in several that are too large to be one."""
        views = {view.id: view for p in living if (view := p.engine.view) is not None}
        sessions = sorted(session for view in views.values() for session in view.sessions)
        if sessions != sorted(p.engine.session for p in living):
            return False
        two_smallest = sorted(len(view.members) for view in views.values())[:2]
        return len(views) < 2 or not fits(sum(two_smallest), self.members_most)

    @cached_property
    def members_most(self) -> int:
        """How many members a view may have; 0 for any number."""
        return members_most(options_of(self.schedule, "any").choice, min(self.schedule.largest))

    def _send_on(self) -> None:
        """See that what is sent when all is well becomes stable too."""
        self.say("all is well; some send once more")
        for player in self.living[:SEND_ON_MOST]:
            player.send_one_more()
        self._converge()

    def _why_not(self) -> str:
        return "; ".join(_describe(player) for player in self.living)

    def _check_end(self) -> None:
        check_all_or_none(self.knowledge)
        self.knowledge.check_labels()
        for player in self.living:
            self._check_player(player)
        expected = set() if self.schedule.copies is None else {"early_release"}
        for line in lines_of(self.knowledge):
            verdict = judge_columns(before_departures(columns_of(line)))
            if any(count for kind, count in verdict.counts.items() if kind not in expected):
                raise Broken(f"the trace's verdict: {verdict.counts}, {verdict.violations[:3]}")

    def _check_player(self, player: Player) -> None:
        witness, engine = player.witness, player.engine
        witness.judge_outcomes()
        if witness.unsettled():
            raise Broken(f"{player.name}: {witness.unsettled()} own messages have no outcome")
        assert engine.view is not None
        receives = set(map(key_of, heard_by(engine.agreement.me, engine.view)))
        for source, last in self.knowledge.has.get(witness.me, {}).items():
            if witness.owed.get(source) and self.schedule.deliver != "nothing":
                raise Broken(f"{player.name} did not deliver {list(witness.owed[source])} of {source}")
            if last != len(self.knowledge.sent[source]) and source in self._present() & receives:
                raise Broken(f"{player.name} has {last} messages of {source}, which lives and has sent more")
        if engine.counters.peak_bytes > self._budget():
            raise Broken(f"{player.name} kept {engine.counters.peak_bytes} bytes, of {self._budget()}")

    def _present(self) -> set[tuple[int, int]]:
        return {player.witness.me for player in self.living}

    def _budget(self) -> int:
        """Return the buffer, or one message of each member if that is more, and what runs cost."""
        schedule = self.schedule
        largest = max(schedule.sizes)
        runs = 1 + largest // (min(schedule.largest) // 2)
        return schedule.buffer_bytes + len(self.players) * (largest + runs * RUN_COST_BYTES)


def _describe(player: Player) -> str:
    engine = player.engine
    here = engine.in_view
    place = "no view" if here is None else f"a view of {', '.join(here.labels)}"
    kept = 0 if here is None else here.data.kept_bytes()
    return (
        f"{player.name} {engine.agreement.state} in {place} with {player.left_to_send} to send, "
        f"{engine.backlog.waiting} to read, {kept} bytes unstable"
    )


def run_schedule(schedule: Schedule, *, say: Say = lambda _: None) -> Outcome:
    """Run a schedule, and return how it went."""
    run, began = Run(schedule, say), time.process_time()
    problem = None
    try:
        run.run()
    except Broken as error:
        problem = str(error)
    views = [stay for witness in run.knowledge.witnesses for stay in witness.stays]
    return Outcome(
        seed=schedule.seed,
        problem=problem,
        virtual_s=run.clock.now,
        cpu_s=time.process_time() - began,
        datagrams=run.network.datagrams.sent,
        messages=sum(map(len, run.knowledge.sent.values())),
        views=len({stay.view.id for stay in views}),
        digest=hash((run.clock.now, run.network.datagrams.bytes_sent, len(run.knowledge.events))),
        replayed=0 if run.stranger is None else run.stranger.replayed,
        happened=frozenset(run.trouble.happened) | run.happened_on_links,
    )


def schedule_of(seed: int, members: int = 0) -> Schedule:
    """Return the schedule of a seed, or with ``members`` that of a large group with churn."""
    return crowd(seed, members) if members else make_schedule(seed)


def run_seed(seed: int, members: int = 0) -> Outcome:
    """Run the schedule of a seed; anything that it raises is a problem."""
    try:
        return replace(run_schedule(schedule_of(seed, members)), crowd=members)
    except Exception as error:
        return Outcome(seed, f"{type(error).__name__}: {error}", 0.0, 0.0, 0, 0, 0, 0, crowd=members)
