"""What has come of one source in one view: the unbroken prefix, what is ahead of a gap, and what is kept.

A run is a frame as its source made it: some whole messages, or one part of a large one.  Runs are never cut
up or joined, not even by repairs, so prefixes, gaps and stability always fall between runs, and looking one
up by its first part finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from stablecast.multicast.frames import Data, Fragment, Run
from stablecast.multicast.gaps import Gaps

RUN_COST = 64
"""Bytes that a run is charged with beside its payloads."""


def last_part(run: Run) -> int:
    """Return the number of a run's last part."""
    return run.part + len(run.payloads) - 1 if isinstance(run, Data) else run.part


def parts_in(run: Run) -> int:
    """Return how many parts a run has."""
    return last_part(run) - run.part + 1


def last_seq(run: Run) -> int:
    """Return the last message that is complete with this run."""
    if isinstance(run, Data):
        return run.seq + len(run.payloads) - 1
    return run.seq if run.index == run.count - 1 else run.seq - 1


def messages_in(run: Run) -> int:
    """Return how many messages are complete with this run."""
    if isinstance(run, Data):
        return len(run.payloads)
    return 1 if run.index == run.count - 1 else 0


def size_of(run: Run) -> int:
    """Return the bytes that a run takes in a buffer."""
    if isinstance(run, Data):
        return sum(map(len, run.payloads)) + RUN_COST
    return len(run.chunk) + RUN_COST


class Kept(NamedTuple):
    """A run in the buffer."""

    run: Run | None
    """None once it was dropped before it was stable."""
    first: int
    last: int
    """Its first and last part."""
    seq: int
    """Last message that is complete with it."""
    size: int
    at: float
    """When it came."""
    large: int = 0
    """Bytes of the large message whose last part this is, 0 if it is none."""


class Held:
    """What all streams of a member keep together."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = 0


class Stream:
    """One source's parts at one member; what it keeps is also counted in ``held``."""

    __slots__ = (
        "_chunks",
        "ahead",
        "ahead_bytes",
        "gaps",
        "held",
        "highest",
        "is_whole",
        "kept",
        "kept_bytes",
        "label",
        "large",
        "prefix",
        "seq",
        "stable",
        "stable_seq",
    )

    def __init__(self, label: str, *, parts: int, messages: int, held: Held | None = None) -> None:
        self.label = label
        self.held = Held() if held is None else held
        self.prefix = parts
        """Last part before the first gap."""
        self.seq = messages
        """Last message that is whole."""
        self.stable = parts
        """Last part that is known to be everywhere."""
        self.stable_seq = messages
        self.highest = parts
        """Last part that is known to exist."""
        self.kept: dict[int, Kept] = {}
        """Runs of the prefix that are not let go, by first part, oldest first."""
        self.kept_bytes = 0
        self.ahead: dict[int, Run] = {}
        """Runs behind a gap."""
        self.ahead_bytes = 0
        self.gaps = Gaps()
        """What is missing, up to ``highest``."""
        self.large = 0
        """Bytes so far of the large message whose part came last."""
        self.is_whole = True
        """Whether no part was given up of the message whose part came last."""
        self._chunks: list[bytes] = []

    @property
    def lacks(self) -> bool:
        """Tell whether something is known to exist that is not in the prefix."""
        return self.highest > self.prefix

    @property
    def oldest(self) -> Kept | None:
        """Return the oldest run that is kept."""
        return next(iter(self.kept.values()), None)

    def hear_of(self, part: int, due: float, seen: float | None = None) -> None:
        """Take note that the source has sent up to a part; what is new of it is to be asked for when due."""
        if part > self.highest:
            self.gaps.add(self.highest + 1, part, due, seen)
            self.highest = part

    def put_ahead(self, run: Run, due: float = 0.0, seen: float | None = None) -> bool:
        """Keep a run that is behind a gap, to be asked for when due; tell whether the run is new."""
        if run.part <= self.prefix or run.part in self.ahead:
            return False
        last = last_part(run)
        self.ahead[run.part] = run
        size = size_of(run)
        self.ahead_bytes += size
        self.held.bytes += size
        self.hear_of(run.part - 1, due, seen)
        self.gaps.fill(run.part, last)
        self.highest = max(self.highest, last)
        return True

    def pop_next(self) -> Run | None:
        """Take out the run that is next now, if it has come before."""
        run = self.ahead.pop(self.prefix + 1, None)
        if run is not None:
            size = size_of(run)
            self.ahead_bytes -= size
            self.held.bytes -= size
        return run

    def append(self, run: Run, now: float) -> int:
        """Add the next run to the prefix and keep it; return its size."""
        last, size = last_part(run), size_of(run)
        if self.highest > self.prefix:
            self.gaps.fill(run.part, last)
        self.prefix = last
        if last > self.highest:
            self.highest = last
        self.seq = last_seq(run)
        large = 0
        if isinstance(run, Data) or run.index == 0:
            self.is_whole = True
        if isinstance(run, Fragment):
            self.large = len(run.chunk) + (self.large if run.index else 0)
            large = self.large if run.index == run.count - 1 else 0
        self.kept[run.part] = Kept(run, run.part, last, self.seq, size, now, large)
        self.kept_bytes += size
        self.held.bytes += size
        return size

    def skip(self, part: int) -> None:
        """Give up what is missing up to a part that ends a gap, or the part of it that is known for long."""
        self.gaps.fill(self.prefix + 1, part)
        self.prefix = part
        self.is_whole = False

    def messages_of(self, run: Run) -> tuple[int, list[bytes]]:
        """Return the first number and the payloads of the messages that end in this run.

        To be called once for each run, in order: parts of a large message are put together here.  A message
        of which a part was given up is none.
        """
        if isinstance(run, Data):
            return run.seq, run.payloads
        if not self.is_whole:
            return run.seq, []
        if run.index == 0:
            self._chunks = []
        self._chunks.append(run.chunk)
        if run.index < run.count - 1:
            return run.seq, []
        payload = b"".join(self._chunks)
        self._chunks = []
        return run.seq, [payload]

    def runs_between(self, first: int, last: int) -> Iterator[Run]:
        """Yield the runs that are here of those that begin from ``first``, where one does, up to ``last``.

        Some may be missing in between: they were let go, or are behind a gap here too.
        """
        for kept in self._kept_between(first, last):
            first = kept.last + 1
            if kept.run is not None:
                yield kept.run
        for part in sorted(part for part in self.ahead if first <= part <= last):
            yield self.ahead[part]

    def run_at(self, part: int) -> Run | None:
        """Return the run that begins with a part, if it is here."""
        kept = self.kept.get(part)
        return self.ahead.get(part) if kept is None else kept.run

    def dropped_between(self, first: int, last: int) -> Iterator[Kept]:
        """Return the places of runs that were here and dropped, of those that begin in a range."""
        return (kept for kept in self._kept_between(first, last) if kept.run is None)

    def _kept_between(self, first: int, last: int) -> Iterator[Kept]:
        first = max(first, next(iter(self.kept), first))
        while first <= last and (kept := self.kept.get(first)) is not None:
            yield kept
            first = kept.last + 1

    def release(self, stable: int) -> list[Kept]:
        """Let go of everything up to a part that everyone has; return what was kept of it."""
        if stable <= self.stable:
            return []
        self.stable = stable
        released = []
        for kept in self.kept.values():
            if kept.last > stable:
                break
            released.append(kept)
        for kept in released:
            del self.kept[kept.first]
            self.kept_bytes -= kept.size
            self.held.bytes -= kept.size
            self.stable_seq = kept.seq
        if stable == self.prefix:  # the last messages may have been given up
            self.stable_seq = self.seq
        return released

    def drop(self, before: float, keeps: Callable[[Run], bool]) -> list[Kept]:
        """Let go of what came before a time and is not to be kept longer; return it."""
        dropped = []
        for kept in self.kept.values():
            if kept.at >= before:
                break
            if kept.run is not None and not keeps(kept.run):
                dropped.append(kept)
        for kept in dropped:
            self.kept[kept.first] = kept._replace(run=None, size=0)
            self.kept_bytes -= kept.size
            self.held.bytes -= kept.size
        return dropped


class Streams:
    """The streams of all sources at one member, each made when something of its source is first known.

    In a large group few members send, so most sources cost a member nothing.

    Parameters
    ----------
    labels, numbers
        The sources' labels by rank, and their parts and messages before the view, which everyone has.
    """

    def __init__(self, labels: Sequence[str], numbers: Sequence[tuple[int, int]]) -> None:
        self.held = Held()
        """What all of them keep."""
        self._labels = labels
        self._numbers = numbers
        self._made: dict[int, Stream] = {}

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, source: int) -> Stream:
        stream = self._made.get(source)
        if stream is None:
            parts, messages = self._numbers[source]
            stream = Stream(self._labels[source], parts=parts, messages=messages, held=self.held)
            self._made[source] = stream
        return stream

    def known(self) -> list[tuple[int, Stream]]:
        """Return the sources of which something is known, beyond what was before the view, in their order."""
        return sorted(self._made.items())

    def prefix(self, source: int) -> int:
        """Return a source's last part before the first gap."""
        stream = self._made.get(source)
        return self._numbers[source][0] if stream is None else stream.prefix

    def stable_seq(self, source: int) -> int:
        """Return the last message of a source that everyone has."""
        stream = self._made.get(source)
        return self._numbers[source][1] if stream is None else stream.stable_seq

    def seq(self, source: int) -> int:
        """Return the last message of a source that is whole here."""
        stream = self._made.get(source)
        return self._numbers[source][1] if stream is None else stream.seq

    def __iter__(self) -> Iterator[Stream]:
        """Iterate over the streams of which something is known."""
        return iter([stream for _, stream in self.known()])
