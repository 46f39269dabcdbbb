"""One member's view of its whole group, read from its engine as it is, when somebody asks.

What is told of others
    *Alive.*  A member hears its neighbours in every round of signs of life: in a group of up to nine that is
    everyone.  A neighbour that nothing was heard of for as long as makes the detector ask others about it is
    ``silent``.  That is a quarter of ``fail_after``, or five rounds if that is less (``detector``): 0.75 s by
    default.  So it is told in an idle group too, and long before anything is done about it.  Silence of
    other members is known once their neighbours suspect them, after half of ``fail_after``.
    *Has.*  Members say what they have of sources of which something is unstable.  What a member is not known
    to have it may have by now; so what is told is at most one round and one trip too much, never too little.
    Of a member that this one does not hear, and of which no neighbour says that it lacks something, nothing
    is told (``is_known``).
What can mislead, and what is done about it
    A process that did not run for a while has heard nobody in that time.  While its own round is late it
    calls nobody silent.
What it costs
    Every member and every source that has sent costs a record.  Who holds what back is told of the
    ``MOST_OVERDUE`` sources that wait for longest; each of them costs a look at what is kept of it, and at
    the members that this one hears or hears of (``benchmarks/observe_cost``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from stablecast.engine.engine import Engine
from stablecast.engine.explain import protocol_of
from stablecast.engine.in_view import InView
from stablecast.engine.observed import (
    BEHIND,
    FAILED,
    OK,
    SILENT,
    SUSPECTED,
    UNHEARD,
    Observed,
    SeenHolding,
    SeenMember,
    SeenSource,
)
from stablecast.membership.view import format_address
from stablecast.multicast.streams import Kept, Stream, parts_in

MOST_OVERDUE = 16
"""Sources of which is told who holds them back."""
MOST_LACKING = 16
"""Members that are named beside a source."""
MOST_HOLDING = 64


@dataclass(frozen=True, slots=True)
class Behind:
    """What a member is not known to have of one source."""

    rank: int
    source: int
    first: int
    messages: int
    bytes: int
    since_s: float


def observe(engine: Engine, now: float, *, time_us: int, last_note: int = 0) -> Observed:
    """Return what a member knows of its group."""
    here, counters = engine.in_view, engine.counters
    view, own = engine.view, engine.own
    behind = [] if here is None else _behind(here, now)
    sources = () if here is None else tuple(_sources(here, behind, now))
    releases = engine.releases()
    return Observed(
        time_us=time_us,
        incarnation=f"{engine.session:016x}",
        group=engine.options.group,
        me=engine.label,
        state=engine.agreement.state,
        protocol=protocol_of(engine),
        view_epoch=0 if view is None else view.epoch,
        main=view is not None and view.line == engine.options.group,
        members=() if here is None else tuple(_members(engine, here, behind, now)),
        sources=sources,
        holding=() if here is None else tuple(_holding(here, behind)),
        sent=counters.sent + own.waiting,
        delivered=engine.backlog.delivered,
        waiting=engine.backlog.waiting,
        received_messages=sum(source.received for source in sources),
        stable_messages=sum(source.stable for source in sources),
        kept_bytes=0 if here is None else here.data.kept_bytes(),
        buffer_bytes=engine.options.buffer_bytes,
        data_bytes=counters.data_bytes,
        control_bytes=counters.control_bytes,
        repairs_asked=counters.repairs_asked + (0 if here is None else here.data.counts().repairs_asked),
        repairs_sent=counters.repairs_sent + (0 if here is None else here.data.counts().repairs_sent),
        releases=releases.count,
        releases_s=releases.seconds,
        own_stable=own.times.count,
        own_stable_s=own.times.sum,
        time_to_stable_p50=_number(own.times.percentile(0.5)),
        time_to_stable_p99=_number(own.times.percentile(0.99)),
        step_s=0.0 if here is None else here.pace.step,
        last_note=last_note,
    )


def _number(value: float) -> float | None:
    return None if value != value else value


# Members


def _members(engine: Engine, here: InView, behind: list[Behind], now: float) -> Iterator[SeenMember]:
    lacks: dict[int, list[Behind]] = {}
    for one in behind:
        lacks.setdefault(one.rank, []).append(one)
    detector = here.detector
    struck_off, heard_of = detector.suspects(now), here.signs.laggards.known()
    for rank, member in enumerate(here.view.members):
        mine = lacks.get(rank, ())
        oldest = max(mine, key=lambda one: one.since_s, default=None)
        since = 0.0 if oldest is None else oldest.since_s
        is_me = rank == here.rank
        state = _own_state(engine) if is_me else _state(here, rank, struck_off, since, now)
        yield SeenMember(
            name=here.labels[rank],
            state=state,
            zone=member.zone,
            address=format_address(member.address),
            last_heard_s=None if is_me else max(now - detector.last_heard(rank), 0.0),
            is_known=is_me or rank in detector.watched or rank in heard_of,
            behind_messages=sum(one.messages for one in mine),
            behind_bytes=sum(one.bytes for one in mine),
            behind_s=since,
            behind_source="" if oldest is None else here.labels[oldest.source],
            kept_bytes=here.data.kept_bytes() if is_me else None,
        )


def _own_state(engine: Engine) -> str:
    state = engine.agreement.state
    return OK if state == "member" else state


def _state(here: InView, rank: int, struck_off: frozenset[int], behind_s: float, now: float) -> str:
    detector = here.detector
    if rank in struck_off:
        return FAILED
    if detector.is_suspected(rank):
        return SUSPECTED
    if detector.is_silent(rank, now):
        return SILENT
    if not here.links.hears(rank):
        return UNHEARD
    if behind_s > here.signs.patience:
        return BEHIND
    return OK


# What members lack


def _behind(here: InView, now: float) -> list[Behind]:
    """Return what members are not known to have, of the sources that wait for longest."""
    if here.options.bimodal is not None:  # where nobody learns who has a message
        return []
    overdue = sorted(here.data.awaited(), key=lambda entry: entry[1].at)[:MOST_OVERDUE]
    return [one for source, oldest in overdue for one in _behind_of(here, source, oldest, now)]


def _behind_of(here: InView, source: int, oldest: Kept, now: float) -> Iterator[Behind]:
    stream, data = here.data.streams[source], here.data
    rest = _Rest(stream)
    for rank in sorted(here.signs.known(oldest.at) - {source, here.rank}):
        has = data.has.of(rank, source)
        if has >= stream.prefix or not data.is_to_have(rank, source):
            continue
        found = rest.after(has)
        if found is not None and _has_had_its_turn(here, rank, found[3], now):
            first, messages, size, at = found
            yield Behind(rank, source, first, messages, size, now - at)


def _has_had_its_turn(here: InView, rank: int, at: float, now: float) -> bool:
    """Tell whether a neighbour would have said by now that it has what came at a time; others say nothing."""
    return rank not in here.detector.watched or here.signs.has_had_its_turn(rank, at, now)


class _Rest:
    """What is kept of a source after any part of it, looked up by halving."""

    def __init__(self, stream: Stream) -> None:
        self._kept = [kept for kept in stream.kept.values() if kept.last > stream.stable]
        self._lasts = [kept.last for kept in self._kept]
        self._sizes = list(accumulate((kept.size for kept in self._kept), initial=0))
        self._before, self._seq = stream.stable_seq, stream.seq

    def after(self, part: int) -> tuple[int, int, int, float] | None:
        """Return the first message after a part, how many there are, their bytes and when the first came."""
        place = bisect_right(self._lasts, part)
        if place == len(self._kept):
            return None
        has = self._kept[place - 1].seq if place else self._before
        run = self._kept[place]
        if part >= run.first:  # part of a run: its messages, but for fragments, are one part each
            has = max(has, run.seq - (run.last - part))
        return has + 1, self._seq - has, self._sizes[-1] - self._sizes[place], run.at


def _holding(here: InView, behind: Iterable[Behind]) -> Iterator[SeenHolding]:
    longest = sorted(behind, key=lambda one: (-one.since_s, one.rank))[:MOST_HOLDING]
    for one in longest:
        yield SeenHolding(
            member=here.labels[one.rank],
            source=here.labels[one.source],
            first=one.first,
            messages=one.messages,
            bytes=one.bytes,
            since_s=one.since_s,
        )


# Sources


def _sources(here: InView, behind: Iterable[Behind], now: float) -> Iterator[SeenSource]:
    lacking: dict[int, list[Behind]] = {}
    for one in behind:
        lacking.setdefault(one.source, []).append(one)
    streams = here.data.streams
    for source in range(here.size):
        if not streams.seq(source) and source not in here.data.busy:
            continue
        if not here.data.is_to_have(here.rank, source):
            continue
        who = sorted(lacking.get(source, ()), key=lambda one: -one.since_s)
        yield _source(here, source, tuple(here.labels[one.rank] for one in who), now)


def _source(here: InView, source: int, lacking: tuple[str, ...], now: float) -> SeenSource:
    label, streams = here.labels[source], here.data.streams
    stream = here.data.busy.get(source)
    if stream is None:
        return SeenSource(name=label, received=streams.seq(source), stable=streams.stable_seq(source))
    oldest = stream.oldest
    return SeenSource(
        name=label,
        received=stream.seq,
        stable=stream.stable_seq,
        kept_bytes=stream.kept_bytes + stream.ahead_bytes,
        oldest_s=0.0 if oldest is None else now - oldest.at,
        missing_parts=stream.highest - stream.prefix - sum(map(parts_in, stream.ahead.values())),
        lacking=lacking[:MOST_LACKING],
        lacking_count=len(lacking),
    )
