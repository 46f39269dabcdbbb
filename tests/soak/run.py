"""Run fault schedules on the in-memory network, and check every promise from outside.

    python -m tests.soak --schedules 1000 --first-seed 1 --processes 2
    python -m tests.soak --seed 17 --verbose

A schedule that fails prints the line that runs it again; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stablecast.membership.view import Address
from stablecast.testing.clock import VirtualClock
from stablecast.testing.network import PORT, Network
from stablecast.trace.columns import columns_of
from stablecast.trace.verdict import judge_columns
from tests.soak.lines import lines_of
from tests.soak.players import Player, Say
from tests.soak.schedules import Fault, Schedule, make_schedule
from tests.soak.witness import Broken, Knowledge, before_departures, check_all_or_none

LOOK_EVERY_S = 0.1
CONVERGE_S = 120.0
"""Seconds of virtual time after the last fault within which all is to be well."""
START_EVERY_S = 0.02
JOIN_AGAIN_S = 0.2
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

    @property
    def replay(self) -> str:
        """The command that runs it again."""
        return f"python -m tests.soak --seed {self.seed}"


class Run:
    """One schedule at work."""

    def __init__(self, schedule: Schedule, say: Say) -> None:
        self.schedule = schedule
        self.clock = VirtualClock()
        self.network = Network(
            schedule.seed,
            loss=schedule.loss,
            duplicate=schedule.duplicate,
            reorder=schedule.reorder,
            delay_s=schedule.delay_s,
            largest=schedule.largest,
            buffered=schedule.socket_datagrams,
            scheduler=self.clock,
        )
        self.knowledge = Knowledge()
        self.players: list[Player] = []
        self._say_line = say

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
            self.clock.call_at(fault.at_s, self._befall, fault)
        self.clock.run_until(schedule.ends_at_s)
        self.say("no more faults")
        self.network.faults = replace(self.network.faults, loss=schedule.calm_loss)
        self._converge()
        self._check_end()

    # Processes

    def _start_members(self) -> None:
        count = self.schedule.members
        if self.schedule.is_together:
            seeds = [(f"10.0.0.{k}", PORT) for k in (1, 2)]
            for k in range(count):
                self._start(f"m{k}", contacts=seeds)
        else:
            for k in range(count):
                self.clock.call_at(START_EVERY_S * k, self._start, f"m{k}")

    def _start(
        self, name: str, address: Address | None = None, contacts: Sequence[Address] | None = None
    ) -> None:
        others = [player for player in self.living if not player.is_leaving]
        transport = self.network.transport(name if address is None else address)
        if contacts is None:
            contacts = [player.transport.address for player in others][:3]
            if others and all(player.engine.view is None for player in others):
                contacts.append(transport.address)  # the group is no more, so somebody has to begin it again
        player = Player(name, self.schedule, transport, self.knowledge, self.say)
        self.players.append(player)
        self.say(f"{name} starts at {transport.address[0]} as {player.engine.session}")
        player.start(list(contacts))

    def _replace_those_who_could_not_join(self) -> None:
        """Start others for processes that asked members in vain, as a supervisor would."""
        for player in self.players:
            if player.could_not_join:
                player.could_not_join = False
                self.clock.call_at(self.clock.now + JOIN_AGAIN_S, self._start, player.name)

    # Faults

    def _befall(self, fault: Fault) -> None:
        players = [player for player in self.living if not player.is_leaving]
        if fault.kind == "join":
            self.say("join")
            self._start(f"j{len(self.players)}")
        elif fault.kind == "partition":
            self._split(fault, players)
        elif len(players) > 1:
            player, other = players[fault.who % len(players)], players[fault.other % len(players)]
            self.say(f"{fault.kind} {player.name} for {fault.for_s:.3f} s")
            self._hit(fault, player, other)

    def _split(self, fault: Fault, players: list[Player]) -> None:
        side = [player.transport for k, player in enumerate(players) if fault.who >> k & 1]
        self.say(f"partition: {side} for {fault.for_s:.3f} s")
        self.network.partition(side)
        self._later(fault, self.network.heal)

    def _hit(self, fault: Fault, player: Player, other: Player) -> None:
        match fault.kind:
            case "crash":
                player.crash()
            case "restart":
                player.crash()
                self.clock.call_at(
                    self.clock.now + fault.for_s, self._start, player.name, player.transport.address
                )
            case "pause":
                player.transport.pause()
                self._later(fault, player.transport.resume)
            case "leave":
                player.leave()
            case "slow":
                player.is_slow = True
                self._later(fault, player.read_again)
            case "deaf" if player is not other:
                deaf = replace(self.network.faults, loss=1.0)
                pair = (other.transport.address, player.transport.address)
                self.network.set_link(*pair, deaf, both_ways=False)
                self._later(fault, lambda: self.network.set_link(*pair, None, both_ways=False))

    def _later(self, fault: Fault, callback: object) -> None:
        assert callable(callback)
        self.clock.call_at(self.clock.now + fault.for_s, callback)

    # The end

    def _converge(self) -> None:
        until = self.clock.now + CONVERGE_S
        while True:
            self._replace_those_who_could_not_join()
            if self._is_well():
                return
            if self.clock.now > until:
                raise Broken(f"not well {CONVERGE_S:g} s after the last fault: {self._why_not()}")
            self.clock.run_until(self.clock.now + LOOK_EVERY_S)

    def _is_well(self) -> bool:
        """Whether all who live are in one view, have sent all, and nothing is unstable."""
        living = self.living
        if any(player.could_not_join for player in self.players):
            return False
        views = {None if p.engine.view is None else p.engine.view.id for p in living}
        if len(views) > 1 or any(p.is_leaving or not p.is_idle for p in living):
            return False
        if not living:
            return True
        view = living[0].engine.view
        return view is not None and set(view.sessions) == {p.engine.session for p in living}

    def _why_not(self) -> str:
        return "; ".join(_describe(player) for player in self.living)

    def _check_end(self) -> None:
        check_all_or_none(self.knowledge)
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
        for source, last in self.knowledge.has.get(witness.me, {}).items():
            if witness.owed.get(source):
                raise Broken(f"{player.name} did not deliver {list(witness.owed[source])} of {source}")
            if last != len(self.knowledge.sent[source]) and source in self._present():
                raise Broken(f"{player.name} has {last} messages of {source}, which lives and has sent more")
        if engine.counters.peak_bytes > self._budget():
            raise Broken(f"{player.name} kept {engine.counters.peak_bytes} bytes, of {self._budget()}")

    def _present(self) -> set[tuple[int, int]]:
        return {player.witness.me for player in self.living}

    def _budget(self) -> int:
        """Return the buffer, or one message of each member if that is more, and what runs cost."""
        schedule = self.schedule
        largest = max(schedule.sizes)
        runs = 1 + largest // (schedule.largest // 2)
        return schedule.buffer_bytes + len(self.players) * (largest + runs * RUN_COST_BYTES)


def _describe(player: Player) -> str:
    engine = player.engine
    here = engine.in_view
    place = "no view" if here is None else f"a view of {', '.join(here.labels)}"
    kept = 0 if here is None else here.kept_bytes()
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
    )


def run_seed(seed: int) -> Outcome:
    """Run the schedule of a seed; anything that it raises is a problem."""
    try:
        return run_schedule(make_schedule(seed))
    except Exception as error:
        return Outcome(seed, f"{type(error).__name__}: {error}", 0.0, 0.0, 0, 0, 0, 0)


def run_many(seeds: range, processes: int) -> Iterator[Outcome]:
    """Run the schedules of many seeds, in as many processes."""
    if processes == 1:
        yield from map(run_seed, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(run_seed, seeds, chunksize=5)


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--verbose", action="store_true", help="with --seed: tell what happens")
    asked = parser.parse_args(arguments)
    if asked.seed is not None:
        return _run_one(asked.seed, verbose=asked.verbose)
    return _run_all(range(asked.first_seed, asked.first_seed + asked.schedules), asked.processes)


def _run_one(seed: int, *, verbose: bool) -> int:
    schedule = make_schedule(seed)
    if verbose:
        print(schedule)
    outcome = run_schedule(schedule, say=print if verbose else lambda _: None)
    print(outcome)
    return 1 if outcome.problem else 0


def _run_all(seeds: range, processes: int) -> int:
    began, done, failed, cpu_s = time.monotonic(), 0, 0, 0.0
    messages = views = 0
    for outcome in run_many(seeds, processes):
        done, cpu_s = done + 1, cpu_s + outcome.cpu_s
        messages, views = messages + outcome.messages, views + outcome.views
        if outcome.problem:
            failed += 1
            print(f"FAILED: {outcome.problem}\n  {outcome.replay}", flush=True)
        if done % 100 == 0:
            print(
                f"# {done:,} of {len(seeds):,} schedules, {failed} failed, {time.monotonic() - began:.0f} s"
            )
    print(
        f"{done:,} schedules, {messages:,} messages, {views:,} views, {failed} failed; "
        f"{1000 * cpu_s / max(done, 1):.0f} ms of CPU each"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
