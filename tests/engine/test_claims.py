"""What stability messages leave out, and what their receivers take in its place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_forged_messages import kind_of, tracker_of

from stablecast.engine.choice import live_protocols
from stablecast.engine.claims import RESULTS, Claims
from stablecast.engine.wire import Stability
from stablecast.frontier.sets import BITS

MEMBERS = 5
NUMBERS = st.lists(st.integers(0, 6), min_size=MEMBERS, max_size=MEMBERS)


def claims_of(protocol, stable, *, members=MEMBERS):
    tracker = tracker_of(protocol, members=members)
    tracker.machine.me.stable[:] = stable
    return Claims(tracker.machine), tracker


def sent(claims, kind, array):
    sources, entries = claims.pack(kind, np.array(array, np.int64))
    return Stability(1234, kind, [1], sources, entries)


def test_what_is_known_to_be_stable_is_left_out_and_what_is_above_it_is_not():
    claims, tracker = claims_of("s_coord", [3, 0, 7, 0, 0])
    frame = sent(claims, kind_of(tracker, "ACK"), [3, 2, 6, 0, 1])
    assert (frame.sources, frame.entries) == ([1, 4], [2, 1])


def test_the_receiver_takes_what_it_knows_to_be_stable_for_what_was_left_out():
    claims, tracker = claims_of("s_coord", [4, 1, 0, 0, 0])
    frame = Stability(1234, kind_of(tracker, "ACK"), [1], [1, 4], [2, 1])
    assert claims.unpack(frame).tolist() == [4, 2, 0, 0, 1]


def test_a_result_travels_with_the_next_ones_so_that_a_loss_is_made_good():
    claims, tracker = claims_of("s_coord", [0] * MEMBERS)
    kind = kind_of(tracker, "INFO")
    claims.rose([2])
    for _ in range(RESULTS - 1):
        assert 2 in sent(claims, kind, [0] * MEMBERS).sources
        claims.rose([0])
    assert 2 in sent(claims, kind, [0] * MEMBERS).sources
    claims.rose([0])
    assert sent(claims, kind, [0] * MEMBERS).sources == [0]


@given(known=NUMBERS, here=NUMBERS, array=NUMBERS, risen=st.sets(st.integers(0, MEMBERS - 1)))
def test_a_claim_arrives_as_it_is_or_as_what_both_ends_know_to_be_everywhere(known, here, array, risen):
    """So it is never above what its set has; and whatever could make more stable arrives as it is."""
    sender, tracker = claims_of("s_coord", known)
    sender.rose(sorted(risen))
    receiver, _ = claims_of("s_coord", here)
    taken = receiver.unpack(sent(sender, kind_of(tracker, "ACK"), array)).tolist()
    for source in range(MEMBERS):
        if array[source] > known[source] or source in risen:
            assert taken[source] == array[source]
        else:
            assert taken[source] in (array[source], here[source])


def test_sets_of_members_travel_whole_beside_arrays_that_leave_sources_out():
    members = BITS + 5
    claims, tracker = claims_of("gsgc", 0, members=members)
    kind = kind_of(tracker, "GOSSIP")
    array = np.zeros(tracker.machine.width(kind), np.int64)
    array[7], array[members], array[members + 1] = 9, 5, 3
    frame = sent(claims, kind, array)
    assert (frame.sources, frame.entries) == ([7], [9, 5, 3, 0])
    assert claims.unpack(frame).tolist() == array.tolist()


@pytest.mark.parametrize("protocol", live_protocols())
def test_only_protocols_that_take_minima_leave_sources_out(protocol):
    claims, tracker = claims_of(protocol, 0)
    takes_minima = tracker.protocol.runs.by_minimum
    widths = [tracker.machine.width(kind) for kind in range(len(tracker.protocol.kinds))]
    for kind, width in enumerate(widths):
        if width and not takes_minima:
            assert claims.pack(kind, np.zeros(width, np.int64)) == ([], [0] * width)
        elif width:
            assert len(claims.pack(kind, np.zeros(width, np.int64))[1]) < width
    assert any(widths) or not takes_minima
