"""The hosts of a plain simulation: who sends and receives a packet, and how long that takes.

It is the model of :mod:`stablecast.simulate.hosts` told a second time: a job for each packet, at the
processor that the host model names, or at none.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from stablecast.simulate.costs import PS_PER_US, Costs
from stablecast.simulate.plain.calendar import Action, Timeline

if TYPE_CHECKING:
    from stablecast.simulate.plain.nodes import Link


class Processor:
    """A server that does one job after the other."""

    def __init__(self, calendar: Timeline, number: int) -> None:
        self.calendar = calendar
        self.number = number
        self.jobs: deque[tuple[int, Action]] = deque()
        self.queue_max = 0
        self.busy_ps = 0
        """What its jobs have taken, those that wait included."""

    def put(self, cost_ps: int, action: Action) -> None:
        """Queue a job; ``action`` follows when it is done."""
        self.busy_ps += cost_ps
        self.jobs.append((cost_ps, action))
        length = len(self.jobs)
        if length > self.queue_max:
            self.queue_max = length
        if length == 1:
            self.calendar.add(self.calendar.now_ps + cost_ps, self.number, self._end)

    def _end(self) -> None:
        """Take out the job that is done, begin the next one, and do what follows from the first."""
        jobs, calendar = self.jobs, self.calendar
        _, action = jobs.popleft()
        if jobs:
            calendar.add(calendar.now_ps + jobs[0][0], self.number, self._end)
        action()

    def when_free(self, action: Action) -> None:
        """Do something that takes no time, once the jobs that came before are done."""
        if self.jobs:
            self.put(0, action)
        else:
            action()


class Cores:
    """The processors of a machine: whoever has jobs waits for one, first come first served."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[Action] = deque()

    def take(self, begin: Action) -> None:
        """Have a core, now or when others have given one back."""
        if self._free:
            self._free -= 1
            begin()
        else:
            self._waiting.append(begin)

    def give_back(self) -> None:
        """Let the next one have a core."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._free += 1


class Process(Processor):
    """A server that does its jobs on a core that it shares with others, and keeps while it has jobs."""

    def __init__(self, calendar: Timeline, number: int, cores: Cores) -> None:
        super().__init__(calendar, number)
        self._cores = cores
        self._is_ready = False
        """Whether it has a core or waits for one."""

    def put(self, cost_ps: int, action: Action) -> None:
        """Queue a job; ``action`` follows when it is done, and may queue further ones."""
        self.busy_ps += cost_ps
        self.jobs.append((cost_ps, action))
        self.queue_max = max(self.queue_max, len(self.jobs))
        if not self._is_ready:
            self._is_ready = True
            self._cores.take(self._begin)

    def when_free(self, action: Action) -> None:
        """Do something that takes no time, once there is a core and the jobs that came before are done."""
        self.put(0, action)

    def _begin(self) -> None:
        self.calendar.add(self.calendar.now_ps + self.jobs[0][0], self.number, self._end)

    def _end(self) -> None:
        _, action = self.jobs.popleft()
        action()
        if self.jobs:
            self._begin()
        else:
            self._is_ready = False
            self._cores.give_back()


class Delay(Processor):
    """A server that does any number of jobs at a time."""

    def put(self, cost_ps: int, action: Action) -> None:
        """Begin a job at once."""
        self.busy_ps += cost_ps
        self.calendar.add(self.calendar.now_ps + cost_ps, self.number, action)


class Hosts:
    """All hosts of a group, by the model that the costs name."""

    def __init__(self, costs: Costs, calendar: Timeline, *, first: int, members: int, links: int) -> None:
        self.costs = costs
        self._fixed_ps = costs.send_us * PS_PER_US
        self._byte_ps = costs.send_us_per_byte * PS_PER_US
        self.per_link = costs.host_model == "per-link" and not costs.hosts_free
        kind = Delay if costs.host_model == "delay" and not costs.hosts_free else Processor
        self.own = [kind(calendar, first + i) for i in range(members)]
        of_links = first + members
        count = links if self.per_link else 0
        self.sending = [Processor(calendar, of_links + k) for k in range(count)]
        self.receiving = [Processor(calendar, of_links + count + k) for k in range(count)]
        self.end = of_links + 2 * count
        """The number behind that of the last server."""

    def share(self, cores: int) -> None:
        """Have all members be processes of one machine with so many cores."""
        of_all = Cores(cores)
        self.own = [Process(own.calendar, own.number, of_all) for own in self.own]

    @property
    def processors(self) -> list[Processor]:
        """Every processor of every host."""
        return [*self.own, *self.sending, *self.receiving]

    def send(self, member: int, link: Link | None, cost_ps: int, action: Action) -> None:
        """Let a member send a packet, by a link where each has a processor."""
        processor = self.sending[link.number] if self.per_link and link else self.own[member]
        processor.put(cost_ps, action)

    def receive(self, member: int, link: Link | None, cost_ps: int, action: Action) -> None:
        """Let a member receive a packet that came by a link, or from itself."""
        processor = self.receiving[link.number] if self.per_link and link else self.own[member]
        processor.put(cost_ps, action)

    def cost_ps(self, size: int, factor: float) -> int:
        """Return what a packet takes a processor, as a multiple of what it takes to send it."""
        return int(self.send_ps(size) * factor + 0.5)

    def send_ps(self, size: int) -> float:
        """Return the time to send so many bytes as one, before it is rounded."""
        return self._fixed_ps + self._byte_ps * size
