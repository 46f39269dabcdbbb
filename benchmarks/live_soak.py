"""The soak of real processes: minutes of loss, kills, a pause, a partition and their return, then a verdict.

    python -m benchmarks.live_soak --minutes 5

Sixteen processes on loopback multicast all the time, while a tenth of their datagrams is lost, some come
twice and some out of order.  Meanwhile three are killed, two of these come back, one is stopped for longer
than the others wait, and five are cut off from the rest and return.  The traces are judged by code that knows
only their schema, memory by what the system says.  The exit code is 1 if anything is wrong.

What a member writes after the others have declared it gone is set aside before judging, and counted: one that
was stopped first takes what waits in its socket, and learns only then.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.live_soak_member import Block, Unblock, play
from stablecast.live.demo.crew import Crew, Hand, interrupts_held
from stablecast.live.demo.member import Part
from stablecast.live.demo.reports import Leave, SendUpTo, StopTrace
from stablecast.live.injection import Injection
from stablecast.trace.columns import read_columns
from stablecast.trace.verdict import Verdict, judge_columns
from tests.soak.witness import before_departures

ALWAYS = 10**9
PAUSE_S = 8.0
"""Longer than the others wait for a silent member."""
PARTITION_S = 12.0
CUT_OFF = 5
SETTLE_S = 90.0
SAMPLE_EVERY_S = 1.0
GROWTH_MIB = 8.0
GROWTH_SHARE = 0.15


class SoakCrew(Crew):
    """Processes that can be cut off."""

    def start(self, part: Part) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=play, args=(part, there), name=part.name, daemon=True)
        with interrupts_held():
            process.start()
            self.hands[part.name] = Hand(part.name, process, here)
        there.close()

    def set_aside(self, name: str) -> None:
        """Make room for another process of a name whose first one was killed."""
        self.hands[f"{name}, killed"] = self.hands.pop(name)


@dataclass
class Memory:
    """Resident mebibytes of processes over time."""

    samples: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def sample(self, hands: list[Hand], at: float) -> None:
        for hand in hands:
            if hand.process.is_alive():
                mib = resident_mib(hand.process.pid)
                self.samples.setdefault(f"{hand.name} ({hand.process.pid})", []).append((at, mib))

    def growth(self, duration: float) -> dict[str, tuple[float, float]]:
        """Return of each process that was there all the time its memory early and late."""
        found = {}
        for name, samples in self.samples.items():
            early = [mib for at, mib in samples if 0.2 * duration <= at <= 0.4 * duration]
            late = [mib for at, mib in samples if at >= 0.85 * duration]
            if samples[0][0] < 0.2 * duration and early and late:
                found[name] = (statistics.median(early), statistics.median(late))
        return found


def resident_mib(pid: int | None) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


class Soak:
    """Conducts it."""

    def __init__(self, asked: argparse.Namespace, folder: Path, crew: SoakCrew) -> None:
        self.problems: list[str] = []
        self.memory = Memory()
        self._asked = asked
        self._folder = folder
        self._crew = crew
        self._duration = 60 * asked.minutes
        self._names = [f"m{k:02}" for k in range(1, asked.members + 1)]
        self._key = secrets.token_bytes(32)
        self._offset_s = time.time() - time.monotonic()
        self._began = time.monotonic()
        self._sampled = 0.0
        self._started = 0

    def say(self, line: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {line}", flush=True)

    def conduct(self) -> None:
        self._gather()
        self._began = time.monotonic()
        for hand in self._crew.living:
            self._crew.order(hand.name, SendUpTo(ALWAYS))
        for share, step in self._steps():
            self._run_until(share * self._duration)
            step()
        self._run_until(self._duration)
        self._end()

    def _steps(self) -> list[tuple[float, Callable[[], None]]]:
        one, two, three, paused, *_ = self._names[2::3]
        return [
            (0.10, lambda: self._kill(one)),
            (0.20, lambda: self._rejoin(one)),
            (0.30, lambda: self._pause(paused)),
            (0.42, self._partition),
            (0.60, lambda: self._kill(two)),
            (0.66, lambda: self._kill(three)),
            (0.75, lambda: self._rejoin(two)),
        ]

    # Steps

    def _gather(self) -> None:
        first, *others = self._names
        self._start(first, ())
        self._wait_for(lambda: self._crew.hands[first].address is not None, "the first process to begin")
        for name in others:
            self._start(name, (self._crew.hands[first].address,))
        self._wait_for(self._is_one_view, "all processes to be in one view")
        self.say(f"{len(self._names)} processes are in one view")

    def _start(self, name: str, seeds: tuple[str, ...]) -> None:
        self._started += 1
        asked = self._asked
        self._crew.start(
            Part(
                name=name,
                group="soak",
                protocol=asked.protocol,
                key=self._key,
                seeds=seeds,
                share=ALWAYS,
                rate_per_s=asked.rate / asked.members,
                size=100,
                injection=Injection(
                    loss=asked.loss, duplicate=0.02, reorder=0.05, seed=1_000 * asked.seed + self._started
                ),
                trace=self._folder / f"events-{name}-{self._started}.jsonl",
                trace_offset_s=self._offset_s,
            )
        )

    def _kill(self, name: str) -> None:
        self._crew.kill(name)
        self.say(f"killed {name}")

    def _rejoin(self, name: str) -> None:
        seeds = tuple(hand.address for hand in self._crew.living if hand.address)[:3]
        self._crew.set_aside(name)
        self._start(name, seeds)
        self._crew.order(name, SendUpTo(ALWAYS))
        self.say(f"{name} comes back")

    def _pause(self, name: str) -> None:
        pid = self._crew.hands[name].process.pid
        os.kill(pid, signal.SIGSTOP)
        self.say(f"stopped {name}")
        try:
            self._run_for(PAUSE_S)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.say(f"{name} goes on")

    def _partition(self) -> None:
        living = self._crew.living
        side = {hand.name for hand in living[-CUT_OFF:]}
        for hand in living:
            others = [h.address for h in living if (h.name in side) != (hand.name in side) and h.address]
            self._crew.order(hand.name, Block(others))
        self.say(f"cut off {', '.join(sorted(side))}")
        self._run_for(PARTITION_S)
        for hand in living:
            self._crew.order(hand.name, Unblock())
        self.say("healed")

    def _end(self) -> None:
        for hand in self._crew.living:
            self._crew.order(hand.name, SendUpTo(0))
        self.say("no more messages")
        self._wait_for(self._is_settled, "everything to be stable in one view")
        for hand in self._crew.living:
            self._crew.order(hand.name, StopTrace())
        self._wait_for(lambda: all(hand.stopped for hand in self._crew.living), "the traces to end")
        self._check_applications()
        for hand in self._crew.living:
            self._crew.order(hand.name, Leave())
        self._crew.end()

    # Waiting

    def _run_until(self, seconds: float) -> None:
        self._run_for(self._began + seconds - time.monotonic())

    def _run_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._listen(min(left, 0.25))

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + SETTLE_S
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"after {SETTLE_S:g} s still waiting for {what}: {self._states()}")
            self._listen(0.25)

    def _listen(self, timeout: float) -> None:
        self._crew.listen(timeout)
        now = time.monotonic()
        if now - self._sampled >= SAMPLE_EVERY_S:
            self._sampled = now
            self.memory.sample(self._crew.living, now - self._began)
            for lost in self._crew.lost():
                raise RuntimeError(lost)

    def _is_one_view(self) -> bool:
        living = self._crew.living
        views = {hand.status.members if hand.status else () for hand in living}
        return len(views) == 1 and {label.partition("#")[0] for label in views.pop()} == {
            h.name for h in living
        }

    def _is_settled(self) -> bool:
        statuses = [hand.status for hand in self._crew.living]
        quiet = all(s is not None and not s.unstable_messages and not s.waiting for s in statuses)
        return quiet and self._is_one_view() and all(s.frontier == statuses[0].frontier for s in statuses)

    def _states(self) -> str:
        told = [(hand.name, hand.status) for hand in self._crew.living]
        return "; ".join(
            f"{name}: {status and (status.state, status.members, status.unstable_messages)}"
            for name, status in told
        )

    # Judging

    def _check_applications(self) -> None:
        for hand in self._crew.living:
            if hand.status is not None and hand.status.wrong:
                self.problems.append(
                    f"{hand.name} got {hand.status.wrong} messages that were not the next ones"
                )

    def check_memory(self) -> None:
        growth = self.memory.growth(self._duration)
        for name, (early, late) in growth.items():
            if late - early > max(GROWTH_MIB, GROWTH_SHARE * early):
                self.problems.append(f"{name} grew from {early:.1f} to {late:.1f} MiB")
        if growth:
            early, late = max(growth.values(), key=lambda pair: pair[1] - pair[0])
            print(f"memory       {len(growth)} processes; most growth {early:.1f} to {late:.1f} MiB")


def report(verdict: Verdict) -> None:
    times = verdict.time_to_stable
    print(f"messages     {verdict.messages:,} sent, {verdict.deliveries:,} deliveries")
    print(f"departed     {', '.join(verdict.departed)}")
    print(f"violations   {verdict.counts}")
    print(f"undetected   {verdict.undetected}")
    print(f"to stable    p50 {times.p50_ms} ms, p99 {times.p99_ms} ms, most {times.max_ms} ms")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second, of all together")
    parser.add_argument("--loss", type=float, default=0.1)
    parser.add_argument("--protocol", default="s_coord")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the traces, which are otherwise removed")
    asked = parser.parse_args()
    if asked.members < 12:
        parser.error("--members: at least 12, so that three are killed and five cut off from more than half")
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        return _soak(asked, folder)


def _soak(asked: argparse.Namespace, folder: Path) -> int:
    with SoakCrew(asked.protocol) as crew:
        soak = Soak(asked, folder, crew)
        try:
            soak.conduct()
        except (TimeoutError, RuntimeError) as error:
            soak.problems.append(str(error))
    columns = read_columns(sorted(folder.glob("events-*.jsonl")))
    judged = before_departures(columns)
    verdict = judge_columns(judged)
    report(verdict)
    everything = {kind: count for kind, count in judge_columns(columns).counts.items() if count}
    print(f"set aside    {len(columns) - len(judged):,} of {len(columns):,} events; with them: {everything}")
    soak.check_memory()
    for problem in soak.problems:
        print(f"problem      {problem}")
    for violation in verdict.violations[:5]:
        print(f"violation    {violation}")
    is_ok = verdict.ok and not soak.problems
    print("verdict      passed" if is_ok else "verdict      FAILED")
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
