"""Small delivery traces for Hypothesis, healthy and nasty ones, made so that ties and odd cases are frequent.

A trace is decoded from one run of bytes.  Drawing each field of each event apart takes Hypothesis many times
as long, and thousands of traces are wanted.
"""

import hypothesis
import pyarrow as pa
from analysis_plain import Event
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

SCHEMA = pa.schema(
    {
        "group": pa.string(),
        "kind": pa.string(),
        "member": pa.string(),
        "source": pa.string(),
        "seq": pa.int64(),
        "time_us": pa.int64(),
        "bytes": pa.int32(),
    }
)
# In UTF-16 the last two are in the other order than by code point.
NAMES = ("a", "B", "aa", "é", "\uff5e", "\U0001f600")
SIZES = (None, 0, 1, 7, 100, 2_000_000_000)
ORIGINS_US = (0, -10, 1_700_000_000_000_000)
SPANS_US = (3, 10, 40)
MESSAGE_KINDS = ("send", "receive", "stable", "release")
MEMBER_KINDS = ("join", "leave", "fail")
BYTES_A_TRACE = 400


class Choices:
    """Choices from a run of bytes; the first ones when it is used up."""

    def __init__(self, data):
        self.data = iter(data)

    def below(self, count):
        return next(self.data, 0) % count

    def one_of(self, options):
        return options[self.below(len(options))]

    def one_in(self, count):
        return self.below(count) == count - 1

    def shuffled(self, items):
        left, taken = list(items), []
        while left:
            taken.append(left.pop(self.below(len(left))))
        return taken


def traces():
    """A strategy for traces of one group, a few of them of two: lists of events in no order."""
    return st.binary(min_size=BYTES_A_TRACE, max_size=BYTES_A_TRACE).map(decoded)


def decoded(data):
    choices = Choices(data)
    make = healthy if choices.below(2) else wild
    events = make(choices)
    if choices.one_in(8):
        events = [e._replace(group=choices.one_of("ab")) for e in events]
    return choices.shuffled(events)


def wild(choices):
    """Any events whatever."""
    names = NAMES[: 1 + choices.below(5)]
    sources = choices.shuffled(NAMES)[: 1 + choices.below(3)]
    kinds = MESSAGE_KINDS + choices.one_of([(), ("leave",), MEMBER_KINDS, MEMBER_KINDS * 2])
    frame = choices.one_of(ORIGINS_US), choices.one_of(SPANS_US)
    count = 1 + choices.below(45)
    return [wild_event(choices, kinds, names, sources, frame) for _ in range(count)]


def wild_event(choices, kinds, names, sources, frame):
    kind, member = choices.one_of(kinds), choices.one_of(names)
    origin_us, span_us = frame
    time_us = origin_us + choices.below(span_us)
    if kind in MEMBER_KINDS:
        return Event("a", kind, member, None, None, time_us)
    source = choices.one_of(sources)
    # The number before the first says that nothing is stable.
    seq = choices.one_of([1, 2, 1, 2, 3, 3, 4, 5, int(kind != "stable"), 1000])
    size = choices.one_of(SIZES) if kind == "send" else None
    if kind == "send" and choices.below(4):
        member = source
    return Event("a", kind, member, source, seq, time_us, size)


def healthy(choices):
    """Messages that everybody receives, claims and releases; and up to three things that are wrong."""
    names = choices.shuffled(NAMES)[: 1 + choices.below(4)]
    frame = choices.one_of(ORIGINS_US), choices.one_of(SPANS_US)
    sources = names[: 1 + choices.below(2)]
    events = list(membership(choices, names, frame)) if choices.below(3) else []
    for source in sources:
        events += stream(choices, source, names, frame)
    for _ in range(choices.below(4)):
        spoil(choices, events, names, frame)
    return events


def membership(choices, names, frame):
    origin_us, span_us = frame
    for name in names:
        start_us = choices.one_of([0, 0, 0, choices.below(span_us)])
        yield Event("a", "join", name, None, None, origin_us + start_us)
        if choices.one_in(4):
            gone_us = start_us + choices.below(span_us)
            yield Event("a", choices.one_of(["leave", "fail"]), name, None, None, origin_us + gone_us)
            if choices.one_in(2):
                back_us = gone_us + choices.below(3)
                yield Event("a", "join", name, None, None, origin_us + back_us)


def stream(choices, source, names, frame):
    """What happens to the messages of one source when all goes well."""
    origin_us, span_us = frame
    sent_us = origin_us + choices.below(3)
    stable_us = sent_us
    for seq in range(1, 2 + choices.below(4)):
        yield Event("a", "send", source, source, seq, sent_us, choices.one_of(SIZES))
        for name in names:
            got_us = sent_us + choices.below(1 + span_us // 3)
            if name != source or choices.below(2):
                stable_us = max(stable_us, got_us)
                yield Event("a", "receive", name, source, seq, got_us)
        for name in names:
            if choices.one_in(3):
                yield Event("a", "stable", name, source, seq, stable_us + choices.below(3))
            if choices.below(3):
                yield Event("a", "release", name, source, seq, stable_us + choices.below(4))
        sent_us += choices.below(1 + span_us // 4)


def spoil(choices, events, names, frame):
    """Do one thing that is wrong to the events."""
    place = choices.below(len(events)) if events else 0
    if not events or choices.one_in(3):
        kinds = MESSAGE_KINDS + MEMBER_KINDS
        events.append(wild_event(choices, kinds, [*names, "out"], [*names, "out"], frame))
        return
    event = events[place]
    change = choices.below(5)
    if change == 0:
        del events[place]
    elif change == 1:
        events.append(event)
    elif change == 2:
        events[place] = event._replace(time_us=event.time_us + choices.below(21) - 10)
    elif change == 3:
        events[place] = event._replace(member=choices.one_of(NAMES))
    elif event.seq is not None:
        events[place] = event._replace(seq=event.seq + 1 + choices.below(2))


def drawn(count, seed):
    """Return so many traces that Hypothesis makes of this seed."""
    found = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @hypothesis.given(traces())
    def collect(trace):
        found.append(trace)

    collect()
    return found


def as_table(events):
    """Return events as an Arrow table."""
    columns = list(zip(*events, strict=True)) or [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def together(many):
    """Return the events of many traces with each trace's groups named after its place."""
    return [e._replace(group=f"{place:05d}{e.group}") for place, trace in enumerate(many) for e in trace]
