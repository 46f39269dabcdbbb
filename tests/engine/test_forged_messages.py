"""Messages of the stability protocol that do not fit what it declares; a member may send anything."""

import contextlib
import random

import msgspec
import pytest

from stablecast.engine import wire
from stablecast.engine.choice import choose, live_protocols
from stablecast.engine.pace import Pace, PaceOptions
from stablecast.engine.tracker import Tracker
from stablecast.engine.wire import Stability
from stablecast.errors import StablecastError

MEMBERS = 5
VIEW = 1234
LONG = 1 << 63
ACK_ONE = {"ack_to": "senders"}


def tracker_of(protocol, *, rank=0, members=MEMBERS, options=None):
    return Tracker(
        choose(protocol, options),
        view=VIEW,
        rank=rank,
        bases=[0] * members,
        pace=Pace(PaceOptions(), members),
        send=lambda frame, dest: None,
        now=0.0,
    )


def kind_of(tracker, name):
    return tracker.protocol.kinds.index(name)


def frame_of(tracker, kind, *, number=None, entry=0):
    """Return a message of a kind with as many numbers and entries as it has to have.

    Without a number each is 1, or 0 where that is all that its range has.
    """
    machine = tracker.machine
    kinds = machine.protocol.declaration.fields[machine.protocol.messages[kind]].values()
    ranges = [k.below(machine.sizes) if k.below else LONG for k in kinds if k.storage == "number"]
    numbers = [min(1, below - 1) if number is None else number for below in ranges]
    entries = [entry] * machine.width(kind)
    return Stability(VIEW, kind, numbers, sources_named(tracker, kind), entries)


def sources_named(tracker, kind):
    """Return the sources that a message of a kind names if it leaves none out."""
    machine = tracker.machine
    kinds = machine.protocol.declaration.fields[machine.protocol.messages[kind]].values()
    named = machine.protocol.runs.by_minimum and any(k.by_source and k.length(machine.sizes) for k in kinds)
    return list(range(machine.sizes.tracked)) if named else []


def changed(frame, **changes):
    return msgspec.structs.replace(frame, **changes)


def is_taken(tracker, frame):
    return tracker.receive(frame, 1, 0.1)


@pytest.mark.parametrize("protocol", live_protocols())
def test_a_message_with_more_or_less_than_is_declared_is_refused(protocol):
    tracker = tracker_of(protocol)
    for kind in range(len(tracker.protocol.kinds)):
        good = frame_of(tracker, kind)
        for wrong in (
            changed(good, numbers=[*good.numbers, 1]),
            changed(good, numbers=good.numbers[1:] or [1, 1]),
            changed(good, entries=[*good.entries, 0]),
            changed(good, entries=good.entries[1:] or [0, 0]),
            changed(good, entries=[0] * 1_000),
            changed(good, sources=[*good.sources, MEMBERS]),
            changed(good, sources=good.sources[1:] or [0]),
        ):
            assert not is_taken(tracker, wrong)
        assert is_taken(tracker, good)


@pytest.mark.parametrize("protocol", ["gsgc", "gsgc-local", "s_coord", "train"])
@pytest.mark.parametrize("sources", [[5], [LONG - 1], [0, 0], [1, 0], [0, 5], [*range(5), 4], [2, 1, 4]])
def test_sources_that_do_not_exist_or_are_out_of_order_are_refused(protocol, sources):
    tracker = tracker_of(protocol)
    kind = next(k for k in range(len(tracker.protocol.kinds)) if sources_named(tracker, k))
    good = frame_of(tracker, kind)
    others = len(good.entries) - MEMBERS * arrays_by_source(tracker, kind)
    entries = [0] * (len(sources) * arrays_by_source(tracker, kind) + others)
    assert not is_taken(tracker, changed(good, sources=sources, entries=entries))
    assert is_taken(tracker, good)


def arrays_by_source(tracker, kind):
    machine = tracker.machine
    kinds = machine.protocol.declaration.fields[machine.protocol.messages[kind]].values()
    return sum(k.by_source and k.length(machine.sizes) > 0 for k in kinds)


@pytest.mark.parametrize("kind", [-1, 2, 250, LONG])
def test_a_kind_that_the_protocol_does_not_have_is_refused(kind):
    tracker = tracker_of("gsgc")
    assert not is_taken(tracker, changed(frame_of(tracker, 0), kind=kind))
    assert tracker.stable == [0] * MEMBERS


@pytest.mark.parametrize(
    ("protocol", "name", "options"),
    [
        ("explicit", "ACK", None),
        ("explicit", "ASK", None),
        ("vector", "ACK_ONE", ACK_ONE),
        ("vector", "ACK_ONE", None),
        ("timestamp", "NULL", None),
    ],
)
@pytest.mark.parametrize("column", [-1, -MEMBERS, MEMBERS, MEMBERS + 1, 10**6, LONG - 1, -LONG])
def test_a_source_that_does_not_exist_is_refused(protocol, name, options, column):
    tracker = tracker_of(protocol, options=options)
    good = frame_of(tracker, kind_of(tracker, name), number=MEMBERS - 1)
    assert is_taken(tracker, good)
    assert not is_taken(tracker, changed(good, numbers=[column, *good.numbers[1:]]))


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_a_level_that_local_groups_do_not_have_is_refused(levels):
    """A controller's kernel indexes its rows with it."""
    options = {"levels": levels, "local_size": 2, "controllers": 1}
    tracker = tracker_of("gsgc-local", members=31, options=options)
    good = frame_of(tracker, kind_of(tracker, "GLOBAL"))
    for row in (-1, -LONG, levels - 1, levels, LONG - 1):
        assert not is_taken(tracker, changed(good, numbers=[1, row]))
    for row in range(levels - 1):
        assert is_taken(tracker, changed(good, numbers=[1, row]))


@pytest.mark.parametrize("number", [-1, -LONG, 1 << 62, LONG - 1])
def test_a_round_from_which_nobody_could_count_on_is_refused(number):
    tracker = tracker_of("coordp")
    assert not is_taken(tracker, frame_of(tracker, kind_of(tracker, "START"), number=number))
    assert tracker.machine.me.execution == 0


@pytest.mark.parametrize(
    ("protocol", "name", "members"), [("gsgc", "GOSSIP", 5), ("cubefulldist", "STABILITY", 31)]
)
@pytest.mark.parametrize("word", [1 << 29, 1 << 30, -1, -LONG])
def test_a_set_with_members_that_do_not_exist_is_refused(protocol, name, members, word):
    tracker = tracker_of(protocol, members=members)
    good = frame_of(tracker, kind_of(tracker, name))
    words = -(-members // 30)
    place = members + words - 1  # the set's last word, behind one array of sequence numbers
    entries = list(good.entries)
    entries[place] = word
    assert not is_taken(tracker, changed(good, entries=entries))
    entries[place] = 1
    assert is_taken(tracker, changed(good, entries=entries))


@pytest.mark.parametrize("value", [LONG, 2 * LONG - 1, -LONG - 1])
@pytest.mark.parametrize("field", ["numbers", "entries"])
def test_a_number_of_more_than_64_bits_is_no_datagram(field, value):
    frame = changed(frame_of(tracker_of("gsgc"), 0), **{field: [value]})
    with pytest.raises((msgspec.DecodeError, OverflowError)):
        wire.unpack(wire.pack([frame]))


@pytest.mark.parametrize("protocol", live_protocols())
def test_whatever_fits_the_declaration_harms_nobody(protocol):
    """Compiled kernels check no bounds, so what is accepted must not make them leave their arrays."""
    draw = random.Random(protocol)
    for members in (1, 2, 5, 31):
        tracker = tracker_of(protocol, members=members)
        machine = tracker.machine
        for step in range(400):
            kind = draw.randrange(len(tracker.protocol.kinds))
            numbers = [drawn_number(draw, members) for _ in range(machine.number_count(kind))]
            entries = [drawn_number(draw, members) for _ in range(machine.width(kind))]
            frame = Stability(VIEW, kind, numbers, sources_named(tracker, kind), entries, True)
            with contextlib.suppress(StablecastError):  # it makes the member send more than it ever would
                tracker.receive(frame, draw.randrange(members), step / 100)
            tracker.handle_timer(step / 100)
        assert len(tracker.stable) == members


def drawn_number(draw, members):
    """Return a number that is mostly small, and at times as large as numbers are."""
    return draw.choice((0, 1, 1, 2, 3, draw.randrange(members), draw.randrange(8), draw.randrange(1 << 20)))


def test_a_message_that_makes_a_member_send_without_end_is_noticed():
    """A neighbour that claims to be far ahead, and to know of nobody, makes the other member follow it."""
    tracker = tracker_of("cubefulldist", members=2)
    kind = kind_of(tracker, "STABILITY")
    with pytest.raises(StablecastError, match="cubefulldist: a call sends more than"):
        is_taken(tracker, Stability(VIEW, kind, [1, 1_000], [0, 1], [0, 0, 0]))
