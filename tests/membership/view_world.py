"""A small world for the agreement on views: processes, a bad network, a clock, and a watch over all of it.

Each process has a real machine and detector and a data plane that does only what views need: parts are sent
to all, some get lost, and what a cut asks for is fetched from the holders over the same network.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from stablecast.membership.actions import (
    Action,
    Begin,
    Dissolved,
    GetUpTo,
    JoinFailed,
    Left,
    Send,
    StopSending,
    Timing,
)
from stablecast.membership.agreement import Agreement
from stablecast.membership.detector import Detector
from stablecast.membership.messages import Alive
from stablecast.membership.view import Address, MemberInfo, View

FAIL_AFTER = 3.0
EVERY = 0.5
FETCH_EVERY = 0.1
SOCKET_BUFFER = 200
LOOK_EVERY = 0.002


class Broken(AssertionError):
    """Something happened that never may."""


@dataclass(frozen=True)
class Part:
    view: int
    rank: int
    number: int


@dataclass(frozen=True)
class Ask:
    view: int
    rank: int
    first: int
    last: int


@dataclass
class Network:
    loss: float = 0.0
    duplicates: float = 0.0
    least_delay: float = 0.001
    most_delay: float = 0.01
    cells: dict[Address, int] = field(default_factory=dict)
    cut_links: set[tuple[Address, Address]] = field(default_factory=set)
    drops: Callable[[Address, Address, Any], bool] = lambda source, to, frame: False

    def reaches(self, source: Address, to: Address) -> bool:
        return self.cells.get(source, 0) == self.cells.get(to, 0) and (source, to) not in self.cut_links


class Watch:
    """What has happened everywhere, and whether it may have; knows nothing of how the machines work."""

    def __init__(self) -> None:
        self.views: dict[int, tuple[View, tuple[tuple[int, int], ...]]] = {}
        self.ends: dict[tuple[int, object], tuple[int, ...]] = {}

    def begins(self, process: Process, begin: Begin) -> None:
        view = begin.view
        known = self.views.setdefault(view.id, (view, begin.numbers))
        require(known == (view, begin.numbers), f"view {view.id:x} has two contents")
        require(len(set(view.sessions)) == len(view.members), "a session is twice in a view")
        require(
            len({member.label for member in view.members}) == len(view.members), "a label is twice in a view"
        )
        require(not process.world.most or len(view.members) <= process.world.most, "a view is too large")
        require(view.epoch > process.last_epoch, f"{process}: epoch {view.epoch} after {process.last_epoch}")
        process.last_epoch = view.epoch
        if process.view is not None:
            self.ends_view(process, process.view, view.id)
            self.carries_over(process, process.view, begin)

    def ends_view(self, process: Process, old: View, by: object) -> None:
        """All who go from one view to the same next one have the same parts, and their own ones."""
        has = tuple(process.prefixes)
        known = self.ends.setdefault((old.id, by), has)
        require(known == has, f"{process}: {has} at the end of view {old.id:x}, others {known}")
        require(has[old.rank_of(process.session)] == process.sent, f"{process}: own parts are lost")

    def carries_over(self, process: Process, old: View, begin: Begin) -> None:
        """Numbers go on, and everything up to the cut is at every member that comes along.

        A member that is to come along may be elsewhere by now: a leader that was paused begins a view late
        that its members have agreed to and left behind.  They had the cut all the same when they left.
        """
        cut = process.prefixes
        for rank, member in enumerate(begin.view.members):
            if member.identity not in {one.identity for one in old.members}:
                require(begin.numbers[rank] == (0, 0), "who joins has sent something")
                continue
            require(
                begin.numbers[rank][0] == cut[old.rank_of(member.session)], "numbers do not go on at the cut"
            )
            other = process.world.by_session[member.session]
            there = other.prefixes_in(old)
            enough = all(has >= least for has, least in zip(there, cut, strict=True))
            require(enough, f"{process} calls stable what {other} lacks")
        parted = {*begin.gone, *begin.left}
        stay = {member.identity for member in begin.view.members}
        require(parted == {m for m in old.members if m.identity not in stay}, "who is gone is not said")


def require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Broken(otherwise)


class Process:
    """One machine with its detector and its data."""

    def __init__(self, world: World, name: str, address: Address, timing: Timing) -> None:
        self.world = world
        self.name = name
        self.address = address
        self.session = world.random.getrandbits(63) + 1
        zone = world.zones[len(world.processes) % len(world.zones)]
        self.machine = Agreement(
            MemberInfo(self.session, name, 1, *address, zone, most=world.most),
            group="orders",
            protocol=world.protocol,
            rng=world.random,
            numbers=self.numbers,
            timing=timing,
        )
        self.is_up = True
        self.is_paused = False
        self.outcome: Left | JoinFailed | None = None
        self.queue: list[Callable[[], None]] = []
        self.view: View | None = None
        self.history: list[tuple[float, View | None]] = []
        self.last_epoch = 0
        self.detector: Detector | None = None
        self.prefixes: list[int] = []
        self.left_with: dict[int, list[int]] = {}
        self.stash: set[tuple[int, int]] = set()
        self.sent = 0
        self.is_stopped = False
        self.fetch: GetUpTo | None = None
        self.fetch_at = 0.0
        self.wake = 0

    def __repr__(self) -> str:
        return f"{self.name}@{self.address[1]}"

    @property
    def is_live(self) -> bool:
        return self.is_up and self.outcome is None

    def prefixes_in(self, view: View) -> list[int]:
        """Return what it has of a view that it is in, or had of one when it left it."""
        is_here = self.view is not None and self.view.id == view.id
        return self.prefixes if is_here else self.left_with[view.id]

    def numbers(self) -> tuple[tuple[int, ...], int]:
        return tuple(self.prefixes), self.sent

    def does(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Send():
                    self.world.transmit(self, action.frame, action.address, action.session)
                case StopSending():
                    self.is_stopped, self.fetch = True, None
                case GetUpTo():
                    self.fetch, self.fetch_at = action, self.world.now
                case Begin():
                    self.begin(action)
                case Dissolved():
                    assert self.view is not None
                    self.world.watch.ends_view(self, self.view, self.machine.ended_by(self.view.id))
                    self.enter(None)
                case Left() | JoinFailed():
                    self.outcome = action
                case _:
                    pass
        self.world.set_alarm(self)

    def begin(self, begin: Begin) -> None:
        self.world.watch.begins(self, begin)
        self.enter(begin.view)
        self.prefixes = [parts for parts, _ in begin.numbers]
        self.sent = begin.numbers[begin.view.rank_of(self.session)][0]

    def enter(self, view: View | None) -> None:
        if self.view is not None:
            self.left_with[self.view.id] = self.prefixes
        self.view = view
        self.history.append((self.world.now, view))
        self.stash, self.is_stopped, self.fetch, self.prefixes = set(), False, None, []
        self.detector = view and Detector(
            view, self.session, fail_after=FAIL_AFTER, every=EVERY, rng=self.world.random, now=self.world.now
        )

    def multicast(self) -> None:
        if self.view is None or self.is_stopped or not self.is_live or self.is_paused:
            return
        self.sent += 1
        rank = self.view.rank_of(self.session)
        self.prefixes[rank] = self.sent
        for member in self.view.members:
            if member.session != self.session:
                part = Part(self.view.id, rank, self.sent)
                self.world.transmit(self, part, member.address, member.session)

    def receive(self, frame: Any, session: int, address: Address) -> None:
        now = self.world.now
        match frame:
            case Part():
                self.does(self.machine.saw_frame_of(frame.view, now))
                self.take(frame)
            case Ask():
                self.answer(frame, session, address)
            case Alive():
                self.does(self.machine.saw_frame_of(frame.view, now))
                if self.view is not None and self.view.id == frame.view and self.detector is not None:
                    self.hear_sign(frame, self.view.rank_of(session), self.detector)
            case _:
                self.does(self.machine.receive(frame, session, address, now))

    def take(self, part: Part) -> None:
        if self.view is None or part.view != self.view.id:
            return
        if self.is_stopped and self.fetch is None:
            return
        self.stash.add((part.rank, part.number))
        last = part.number + len(self.stash) if self.fetch is None else self.fetch.cut[part.rank]
        while self.prefixes[part.rank] < last and (part.rank, self.prefixes[part.rank] + 1) in self.stash:
            self.prefixes[part.rank] += 1
        self.check_fetch()

    def check_fetch(self) -> None:
        if self.fetch is not None and tuple(self.prefixes) == self.fetch.cut:
            self.fetch = None
            self.does(self.machine.have_cut(self.world.now))

    def answer(self, ask: Ask, session: int, address: Address) -> None:
        if self.view is not None and self.view.id == ask.view:
            for number in range(ask.first, min(ask.last, self.prefixes[ask.rank]) + 1):
                self.world.transmit(self, Part(ask.view, ask.rank, number), address, session)

    def next_alarm(self) -> float | None:
        times = [self.machine.next_timer()]
        if self.detector is not None:
            times += [self.detector.next_tick, self.detector.passing_on.at]
        times.append(self.fetch_at if self.fetch is not None else None)
        return min((time for time in times if time is not None), default=None)

    def ring(self) -> None:
        now = self.world.now
        if self.detector is not None and now >= self.detector.next_tick:
            self.watch_others(self.detector, now)
        if self.detector is not None:
            self.pass_on(self.detector, now)
        timer = self.machine.next_timer()
        if timer is not None and now >= timer:
            self.does(self.machine.handle_timer(now))
        if self.fetch is not None and now >= self.fetch_at:
            self.ask_holders(self.fetch, now)
        self.world.set_alarm(self)

    def watch_others(self, detector: Detector, now: float) -> None:
        assert self.view is not None
        for rank in detector.tick(now):
            self.tell(Alive(self.view.id, detector.count, stamp=1, news=detector.to_tell()), rank)
        self.pass_on(detector, now)
        silent = frozenset(self.view.sessions[rank] for rank in detector.suspects(now))
        self.does(self.machine.suspect(silent, now))

    def hear_sign(self, frame: Alive, rank: int, detector: Detector) -> None:
        now = self.world.now
        detector.hear_count(rank, frame.count, now, is_round=frame.stamp > 0)
        detector.hear_news(frame.news, rank, now)
        self.pass_on(detector, now)

    def pass_on(self, detector: Detector, now: float) -> None:
        assert self.view is not None
        for rank, news in detector.passing_on.take_out(detector.watched, now):
            self.tell(Alive(self.view.id, detector.count, news=news), rank)

    def tell(self, alive: Alive, rank: int) -> None:
        assert self.view is not None
        member = self.view.members[rank]
        self.world.transmit(self, alive, member.address, member.session)

    def ask_holders(self, fetch: GetUpTo, now: float) -> None:
        assert self.view is not None
        self.fetch_at = now + FETCH_EVERY
        for rank, last in enumerate(fetch.cut):
            holder = self.view.member(fetch.holders[rank])
            if self.prefixes[rank] < last and holder is not None:
                ask = Ask(self.view.id, rank, self.prefixes[rank] + 1, last)
                self.world.transmit(self, ask, holder.address, holder.session)


class World:
    """Everything, with a clock of its own; the same seed gives the same history."""

    def __init__(
        self,
        seed: int,
        *,
        protocol: str = "gsgc",
        timing: Timing | None = None,
        most: int = 0,
        zones: tuple[str, ...] = ("",),
    ) -> None:
        self.random = random.Random(seed)
        self.zones = zones
        self.now = 0.0
        self.protocol = protocol
        self.most = most
        self.timing = timing or Timing()
        self.network = Network()
        self.watch = Watch()
        self.processes: list[Process] = []
        self.by_session: dict[int, Process] = {}
        self.at: dict[Address, Process] = {}
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._ports = count(7001)
        self._at_once = 0

    def later(self, delay: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay, next(self._number), event))

    def start(self, name: str = "", *, address: Address | None = None) -> Process:
        address = address or ("h", next(self._ports))
        process = Process(self, name or f"p{len(self.processes)}", address, self.timing)
        self.processes.append(process)
        self.by_session[process.session] = process
        self.at[address] = process
        return process

    def first(self, name: str = "") -> Process:
        process = self.start(name)
        process.does(process.machine.start_alone(self.now))
        return process

    def joiner(self, contacts: list[Address], name: str = "", *, address: Address | None = None) -> Process:
        process = self.start(name, address=address)
        process.does(process.machine.join(contacts, self.now))
        return process

    def group(self, size: int) -> list[Process]:
        """Start a group, and let it come together."""
        first = self.first()
        members = [first, *(self.joiner([first.address]) for _ in range(size - 1))]
        self.run_until(lambda: self.is_one_view(members), within=20)
        return members

    def transmit(self, sender: Process, frame: Any, to: Address, session: int) -> None:
        net = self.network
        if not sender.is_up:
            return
        for _ in range(2 if self.random.random() < net.duplicates else 1):
            lost = self.random.random() < net.loss or not net.reaches(sender.address, to)
            if lost or net.drops(sender.address, to, frame):
                continue
            delay = net.least_delay + (net.most_delay - net.least_delay) * self.random.random() ** 3
            self.later(delay, lambda: self.arrive(sender, frame, to, session))

    def arrive(self, sender: Process, frame: Any, to: Address, session: int) -> None:
        process = self.at.get(to)
        if process is None or session not in (0, process.session):
            return
        self.at_process(process, lambda: process.receive(frame, sender.session, sender.address))

    def at_process(self, process: Process, event: Callable[[], None]) -> None:
        if not process.is_live:
            return
        if not process.is_paused:
            event()
        elif len(process.queue) < SOCKET_BUFFER:
            process.queue.append(event)

    def set_alarm(self, process: Process) -> None:
        time = process.next_alarm()
        process.wake += 1
        if time is not None and process.is_live:
            mine = process.wake
            self.later(max(time - self.now, 0.0), lambda: self.alarm(process, mine))

    def alarm(self, process: Process, number: int) -> None:
        if process.is_live and not process.is_paused and process.wake == number:
            process.ring()

    def crash(self, process: Process) -> None:
        process.is_up = False

    def pause(self, process: Process, seconds: float) -> None:
        if process.is_live and not process.is_paused:
            process.is_paused = True
            self.later(seconds, lambda: self.resume(process))

    def resume(self, process: Process) -> None:
        if process.is_paused:
            process.is_paused = False
            waiting, process.queue = process.queue, []
            if self.random.random() < 0.5:  # timers may come before what waits in the socket
                process.ring()
            for event in waiting:
                self.at_process(process, event)
            self.set_alarm(process)

    def split(self, *cells: Iterable[Process]) -> None:
        self.network.cells = {p.address: i for i, cell in enumerate(cells, start=1) for p in cell}

    def heal(self) -> None:
        self.network.cells = {}
        self.network.cut_links = set()

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.step()
        self.now = end

    def step(self) -> None:
        time, _, event = heapq.heappop(self._events)
        self._at_once = self._at_once + 1 if time == self.now else 0
        require(self._at_once < 10_000, "time stands still")
        self.now = time
        event()

    def run_until(self, holds: Callable[[], bool], *, within: float) -> float:
        """Run until something holds, and return how long it took."""
        begun = self.now
        while not holds():
            look_again = self.now + LOOK_EVERY
            while self._events and self.now < look_again:
                self.step()
            require(self.now - begun <= within, f"not within {within} s: {self.describe()}")
            require(bool(self._events), f"nothing further happens: {self.describe()}")
        return self.now - begun

    def live(self) -> list[Process]:
        return [process for process in self.processes if process.is_live]

    def is_one_view(self, members: Iterable[Process] | None = None) -> bool:
        """Tell whether these, or all that live, are in one view with nobody else, and may send."""
        processes = self.live() if members is None else list(members)
        if not processes:
            return members is None
        first = processes[0].view
        if first is None or set(first.sessions) != {process.session for process in processes}:
            return False
        return all(p.view is not None and p.view.id == first.id and not p.is_stopped for p in processes)

    def describe(self) -> str:
        return "; ".join(
            f"{p} {p.machine.state} {[m.label for m in p.view.members] if p.view else None}"
            for p in self.live()
        )
