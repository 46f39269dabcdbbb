"""Conduct a demo: a group first, then traffic, kills while it flows, and an end when everything is stable."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stablecast.engine.choice import absolute
from stablecast.engine.warm import warm
from stablecast.live.demo.crew import Crew, Hand
from stablecast.live.demo.member import Part
from stablecast.live.demo.plan import GROUP, DemoOptions, Plan, make_plan
from stablecast.live.demo.reports import Leave, SendUpTo, Status, StopTrace
from stablecast.protocols import is_path
from stablecast.theory.buffering import binomial, more_than
from stablecast.trace.verdict import Verdict, judge_files

LISTEN_S = 0.25
OF_BIMODAL = ("undelivered", "all_or_none", "order", "early_release")
"""Kinds of violations by which what was given up shows in traces; how much that is, is judged by P_fail."""
CONFIDENCE = 0.999
"""With which as many messages as a member has given up are to be explained by P_fail."""


class Watcher(Protocol):
    """Shows how a demo goes."""

    def say(self, line: str) -> None:
        """Tell about a step."""

    def show(self, hands: list[Hand], plan: Plan, seconds: float) -> None:
        """Show how members are doing."""


@dataclass(frozen=True)
class DemoResult:
    """How a demo went."""

    options: DemoOptions
    killed: tuple[str, ...]
    came_back: tuple[str, ...]
    """Members that the others left out though they lived, and that came back as new ones."""
    problems: tuple[str, ...]
    """What went wrong beside what the traces show."""
    seconds: float
    """From the first process's start to the last one's end."""
    traffic_seconds: float
    """From the first message until everything was stable."""
    verdict: Verdict

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return not any(self.wrong.values()) and not self.problems

    @property
    def wrong(self) -> dict[str, int]:
        """Violations of each kind, but those that bimodal delivery makes no promise about."""
        unpromised = OF_BIMODAL if self.options.told.bimodal is not None else ()
        return {kind: count for kind, count in self.verdict.counts.items() if kind not in unpromised}

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "ok": self.ok,
            "options": dataclasses.asdict(self.options),
            "killed": list(self.killed),
            "came_back": list(self.came_back),
            "problems": list(self.problems),
            "seconds": self.seconds,
            "traffic_seconds": self.traffic_seconds,
            "verdict": self.verdict.to_dict(),
            "replay": self.options.command(),
        }


class GivenUp(Exception):
    """The demo cannot go on, or took too long."""


def run_demo(options: DemoOptions, folder: Path, watcher: Watcher, *, wire: bool = False) -> DemoResult:
    """Run a demo whose members write their traces into a folder, and judge them.

    With ``wire`` these are wire traces.
    """
    plan, began = make_plan(options), time.monotonic()
    if is_path(options.protocol):
        watcher.say(f"compiling {options.told.protocol_name}")
        warm(options.choice)  # once, and where what is wrong with the file can be told
    with Crew(absolute(options.protocol)) as crew:
        conductor = Conductor(plan, crew, folder, watcher, wire=wire)
        conductor.conduct()
    seconds = time.monotonic() - began
    watcher.say("judging the traces")
    verdict = judge_files(sorted(folder.glob("events-*.jsonl")))
    return DemoResult(
        options=options,
        killed=tuple(hand.name for hand in crew.hands.values() if hand.killed),
        came_back=tuple(conductor.came_back()),
        problems=tuple(conductor.problems),
        seconds=seconds,
        traffic_seconds=conductor.traffic_seconds,
        verdict=verdict,
    )


class Conductor:
    """Leads members through a demo."""

    def __init__(self, plan: Plan, crew: Crew, folder: Path, watcher: Watcher, *, wire: bool = False) -> None:
        self.plan = plan
        self.problems: list[str] = []
        self.traffic_seconds = 0.0
        self._crew = crew
        self._folder = folder
        self._wire = wire
        self._watcher = watcher
        self._key = secrets.token_bytes(32)
        self._offset_s = time.time() - time.monotonic()
        self._began = time.monotonic()
        self._kills = 0

    def conduct(self) -> None:
        """Do all of it; what goes wrong is noted."""
        try:
            self._gather()
            self._traffic()
            self._stop()
        except GivenUp as error:
            self.problems += [*self._crew.lost(), str(error)]
            self._check_deliveries()

    def came_back(self) -> list[str]:
        """Return the labels of members that are not the first of their name."""
        living = self._crew.living
        return [hand.status.me for hand in living if hand.status is not None and hand.status.me != hand.name]

    def _part(self, name: str, seeds: tuple[str, ...]) -> Part:
        plan = self.plan
        return Part(
            name=name,
            group=GROUP,
            protocol=absolute(plan.options.protocol),
            protocol_options=plan.options.protocol_options,
            zone=plan.zone(name),
            adaptive=plan.options.adaptive,
            delivery=plan.options.delivery,
            fan_out=plan.options.fan_out,
            key=self._key,
            seeds=seeds,
            share=plan.shares[name],
            rate_per_s=plan.options.rate_per_s / plan.options.members,
            size=plan.options.size,
            injection=plan.injection(name),
            trace=self._folder / f"events-{name}.jsonl",
            trace_offset_s=self._offset_s,
            wire=self._wire,
        )

    def _gather(self) -> None:
        """Start the members, the first one before the others, and wait until they are one group."""
        first, *others = self.plan.names
        crew = self._crew
        self._watcher.say(f"starting {len(self.plan.names)} processes")
        crew.start(self._part(first, ()))
        self._wait_for(lambda: crew.hands[first].address is not None, "the first member to begin the group")
        address = crew.hands[first].address
        assert address is not None
        for name in others:
            crew.start(self._part(name, (address,)))
        everyone = set(self.plan.names)
        self._wait_for(lambda: self._agree_on(everyone), "all members to be in one view")

    def _agree_on(self, names: set[str]) -> bool:
        """Whether the living are in one view of these, by their names."""
        views = {frozenset(hand.status.members if hand.status else ()) for hand in self._crew.living}
        if len(views) != 1 or any(hand.status is None for hand in self._crew.living):
            return False
        return {label.partition("#")[0] for label in views.pop()} == names

    def _traffic(self) -> None:
        """Let members send, and kill some while they do, until everything is stable."""
        began = time.monotonic()
        self._allow()
        for kill in self.plan.kills:
            what = f"{kill.share:.0%} of the messages to be delivered"
            self._wait_for(partial(self._has_reached, kill.share), what)
            self._crew.kill(kill.member)
            self._watcher.say(f"killed {kill.member} at {self._progress():.0%}")
            self._kills += 1
            self._allow()
        self._wait_for(self._is_settled, "everything to be stable everywhere")
        self.traffic_seconds = time.monotonic() - began

    def _allow(self) -> None:
        for hand in self._crew.living:
            self._crew.order(hand.name, SendUpTo(self.plan.allowance(hand.name, self._kills)))

    def _has_reached(self, share: float) -> bool:
        return self._progress() >= share

    def _progress(self) -> float:
        """Return which share of the living members' messages has come to all of them."""
        living = self._crew.living
        total = sum(self.plan.shares[hand.name] for hand in living)
        counts = [
            sum(
                min(hand.status.received.get(other.name, 0), self.plan.shares[other.name]) for other in living
            )
            for hand in living
            if hand.status is not None
        ]
        return min(counts) / total if total and len(counts) == len(living) else 0.0

    def _is_settled(self) -> bool:
        """Whether all is sent, all have it, and all know."""
        statuses = {hand.name: hand.status for hand in self._crew.living}
        known = [status for status in statuses.values() if status is not None]
        if len(known) < len(statuses) or not self._agree_on(set(statuses)):
            return False
        sent = all(status.sent == self.plan.shares[name] for name, status in statuses.items() if status)
        quiet = all(status.unstable_messages == 0 and status.waiting == 0 for status in known)
        return sent and quiet and all(status.frontier == known[0].frontier for status in known)

    def _stop(self) -> None:
        """Let traces end while everyone is in, so that leaving is no part of them; then let members leave."""
        for order, what in ((StopTrace(), "the traces to end"), (Leave(), "")):
            for hand in self._crew.living:
                self._crew.order(hand.name, order)
            if what:
                self._wait_for(lambda: all(hand.stopped for hand in self._crew.living), what)
        self._check_deliveries()
        self._crew.end()

    def _check_deliveries(self) -> None:
        """Hold what applications got against what was promised, without the traces."""
        for hand in self._crew.living:
            status = hand.status
            if status is None:
                continue
            if status.wrong:
                self.problems.append(
                    f"{hand.name} got {status.wrong} messages that were not what was sent next"
                )
            if hand.stopped and self.plan.options.told.bimodal is None:
                self.problems += _undelivered(hand.name, status)
            elif hand.stopped:
                self.problems += _too_many_given_up(hand.name, status, self.plan.options.messages)

    def _wait_for(self, condition: Callable[[], bool], what: str) -> None:
        until = self._began + self.plan.options.deadline_s
        while not condition():
            left = until - time.monotonic()
            if left <= 0:
                raise GivenUp(
                    f"after {self.plan.options.deadline_s:g} s still waiting for {what}{self._why()}"
                )
            self._crew.listen(min(left, LISTEN_S))
            self._watcher.show(list(self._crew.hands.values()), self.plan, time.monotonic() - self._began)
            if self._crew.lost():
                raise GivenUp(f"gave up waiting for {what}")

    def _why(self) -> str:
        """Tell what is missing, in short."""
        words = []
        for hand in self._crew.living:
            status = hand.status
            if status is None:
                words.append(f"{hand.name} says nothing")
            elif status.unstable_messages or status.sent < self.plan.shares[hand.name]:
                words.append(
                    f"{status.me} {status.state} in a view of {len(status.members)}, {status.sent} sent, "
                    f"{status.unstable_messages} unstable"
                )
        return f" ({'; '.join(words)})" if words else ""


def _too_many_given_up(name: str, status: Status, messages: int) -> list[str]:
    """Tell of a member that gave more up than P_fail explains: each message is a trial by itself."""
    above = more_than(binomial(messages, status.p_fail))
    most = int(np.argmax(above <= 1 - CONFIDENCE))
    if status.lost <= most:
        return []
    return [f"{name} gave {status.lost} messages up; P_fail, {status.p_fail:.2g}, explains at most {most}"]


def _undelivered(name: str, status: Status) -> list[str]:
    return [
        f"{name} has {status.received.get(source, 0)} messages of {source}, of which {seq} are stable"
        for source, seq in status.frontier.items()
        if status.received.get(source, 0) != seq and "#" not in source + status.me
    ]
