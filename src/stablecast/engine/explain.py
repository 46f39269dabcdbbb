"""Who has a message, who keeps it waiting, and how a member is doing: read from its engine as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stablecast.engine.engine import Engine
from stablecast.engine.in_view import InView
from stablecast.engine.levels import Spread
from stablecast.engine.results import Explanation, Laggard, MessageId, Settlement
from stablecast.engine.stats import Stats
from stablecast.membership.capacity import most_of
from stablecast.multicast.around import Counts
from stablecast.multicast.bimodal_plane import BimodalPlane
from stablecast.multicast.frames import Data
from stablecast.multicast.streams import Kept

PROBABLY = ("probably stable", "gossiping")
"""In bimodal delivery, in place of "stable" and "waiting"."""


def _find(engine: Engine, id: MessageId) -> tuple[InView, int, Kept] | None:
    """Return the view, the source's rank and the run that a message ends in, if it is not stable yet."""
    here = engine.in_view
    if here is None or id.source not in here.labels:
        return None
    source = here.labels.index(id.source)
    for kept in here.data.streams[source].kept.values():
        if kept.seq >= id.seq:
            return here, source, kept
    return None


def _part_of(kept: Kept, seq: int) -> int:
    return kept.last - (kept.seq - seq) if isinstance(kept.run, Data) else kept.last


def laggards(engine: Engine, id: MessageId, now: float) -> tuple[Laggard, ...]:
    """Return the members that are to have a message and lack it, as far as anything is known of them."""
    found = _find(engine, id)
    if found is None or engine.options.bimodal is not None:
        return ()
    here, source, kept = found
    part, stream = _part_of(kept, id.seq), here.data.streams[source]
    return tuple(
        Laggard(
            member=here.labels[rank],
            has_up_to=_seq_at(here, source, here.data.has.of(rank, source)),
            since=now - kept.at,
            last_heard=0.0 if rank == here.rank else now - here.detector.last_heard(rank),
        )
        for rank in here.lacking(source, part, since=kept.at)
        if stream.stable < part and rank != source
    )


def _seq_at(here: InView, source: int, part: int) -> int:
    """Return the last message that is whole with a part."""
    stream = here.data.streams[source]
    if part <= stream.stable:
        return stream.stable_seq
    best = stream.stable_seq
    for kept in stream.kept.values():
        if kept.first > part:
            break
        best = kept.seq if kept.last <= part else max(best, kept.seq - (kept.last - part))
    return best


def spread(engine: Engine, id: MessageId, outcome: Settlement | None) -> Spread | None:
    """Return who is known to have an own message with this outcome so far, None while there is no view."""
    here = engine.in_view
    if outcome is not None:  # members that came later do not get it, and do not count
        present = {} if here is None else _zones(here, range(here.size))
        meant = {label: zone for label, zone in present.items() if label in outcome.members}
        return Spread(meant, frozenset(outcome.members), is_final=True)
    if here is None:
        return None
    for_whom = here.audiences.with_source(here.rank)
    found = _find(engine, id)
    if found is None:
        return Spread(_zones(here, for_whom), frozenset((engine.label,)))
    _, source, kept = found
    part = _part_of(kept, id.seq)
    has = frozenset(here.labels[rank] for rank in for_whom if here.data.has.of(rank, source) >= part)
    return Spread(_zones(here, for_whom), has | {engine.label})


def _zones(here: InView, ranks: Iterable[int]) -> dict[str, str]:
    return {here.labels[rank]: here.view.members[rank].zone for rank in ranks}


def explain(engine: Engine, id: MessageId, now: float) -> Explanation:
    """Tell what keeps a message from being stable, as this member knows it."""
    here = engine.in_view
    stable, waiting = ("stable", "waiting") if engine.options.bimodal is None else PROBABLY
    past = engine.own.past.get(id.source)
    if past is not None and id.seq <= past.stable_seq:
        return Explanation(id, stable, ())
    if here is None or id.source not in here.labels:
        return Explanation(id, "unknown", ())
    stream = here.data.streams[here.labels.index(id.source)]
    if id.seq <= stream.stable_seq:
        return Explanation(id, stable, ())
    if id.seq > stream.seq:
        own = id.source == engine.label and id.seq <= engine.own.sent
        return Explanation(id, "sending" if own else "unknown", ())
    return Explanation(id, waiting, laggards(engine, id, now))


def protocol_of(engine: Engine) -> str:
    """Return what finds out what is stable: in this view, or in general while there is none."""
    here = engine.in_view
    chosen = None if here is None else here.choice
    return engine.options.protocol_name if chosen is None else chosen.protocol.name


def describe(engine: Engine, now: float) -> Stats:
    """Return how a member is doing."""
    here, counters = engine.in_view, engine.counters
    oldest = _oldest(here)
    held_by: tuple[str, ...] = ()
    if here is not None and oldest is not None and here.data.awaited():
        source, kept = oldest
        lacking = here.lacking(source, kept.last, since=kept.at)
        held_by = tuple(here.labels[rank] for rank in lacking)
    view = engine.view
    present = Counts() if here is None else here.data.counts()
    lost, come_or_lost = counters.lost + present.lost, counters.come_or_lost + present.come_or_lost
    data = None if here is None else here.data
    bimodal = data if isinstance(data, BimodalPlane) else None
    loss = None if bimodal is None else bimodal.loss
    return Stats(
        me=engine.label,
        group=engine.options.group,
        state=engine.agreement.state,
        protocol=protocol_of(engine),
        members=engine.labels,
        view_epoch=0 if view is None else view.epoch,
        main=view is not None and view.line == engine.options.group,
        sent=counters.sent + engine.own.waiting,
        stable=engine.own.outcomes.stable_seq,
        delivered=engine.backlog.delivered,
        waiting=engine.backlog.waiting,
        unstable_messages=0 if here is None else sum(s.seq - s.stable_seq for s in here.data.streams),
        unstable_bytes=0 if here is None else here.data.kept_bytes(),
        peak_bytes=counters.peak_bytes,
        oldest_unstable_s=0.0 if oldest is None else now - oldest[1].at,
        held_by=held_by,
        repairs_asked=counters.repairs_asked + present.repairs_asked,
        repairs_sent=counters.repairs_sent + present.repairs_sent,
        views=counters.views,
        data_bytes=counters.data_bytes,
        control_bytes=counters.control_bytes,
        repair_bytes=counters.repair_bytes,
        refused=engine.refused(),
        frontier=engine.frontier,
        time_to_stable_p50=engine.own.times.percentile(0.5),
        time_to_stable_p90=engine.own.times.percentile(0.9),
        time_to_stable_p99=engine.own.times.percentile(0.99),
        step_s=0.0 if here is None else here.pace.step,
        window_bytes=int(engine.own.window.size),
        members_most=0 if view is None else most_of(view.members),
        p_fail=math.nan if bimodal is None else bimodal.p_fail(),
        lost_messages=lost,
        lost_share=lost / come_or_lost if come_or_lost else math.nan,
        loss=math.nan if loss is None else loss,
        multicasts_again=counters.multicasts_again + present.multicasts_again,
    )


def _oldest(here: InView | None) -> tuple[int, Kept] | None:
    if here is None:
        return None
    found = [(source, s.oldest) for source, s in here.data.streams.known() if s.oldest is not None]
    return min(found, key=lambda entry: entry[1].at, default=None)
