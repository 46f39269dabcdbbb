"""What wire traces tell of frames that no view explains, and how datagrams passed on are numbered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.engine.options import Options
from stablecast.engine.seal import Seal, number_in
from stablecast.engine.wire import EVERYONE, Hello, Stability
from stablecast.engine.wire_frames import Frames, Told, name_of
from stablecast.engine.wire_tracing import passed_on_number
from stablecast.membership.messages import Alive, TrialPassed
from stablecast.multicast.frames import AskHistory, Data, Nak, SentSoFar

SESSION = 7
sessions = st.integers(1, 2**64 - 1)
numbers = st.integers(1, 2**40)


def test_frames_are_called_by_their_types_in_capital_letters():
    kinds = (Alive, TrialPassed, AskHistory, Hello, Nak, SentSoFar)
    assert [name_of(kind) for kind in kinds] == [
        "ALIVE",
        "TRIAL_PASSED",
        "ASK_HISTORY",
        "HELLO",
        "NAK",
        "SENT",
    ]


@pytest.mark.parametrize(
    ("frame", "to", "told"),
    [
        (Data(1, 0, 1, 1, [b"x"]), EVERYONE, Told("DATA")),
        (Data(1, 0, 1, 1, [b"x"]), 9, Told("REPAIR")),
        (Nak(1, 0, [(2, 3)]), 9, Told("NAK")),
        (SentSoFar(1, 5, 5), EVERYONE, Told("SENT")),
        (Stability(1, 1, [4], [], []), 9, Told("ACK", 4)),
        (Stability(1, 99, [4], [], []), 9, Told("STABILITY")),
    ],
)
def test_of_a_view_that_has_not_begun_frames_tell_no_more_than_what_they_are(frame, to, told):
    assert Frames(Options(group="g", protocol="s_coord")).told(frame, SESSION, to) == told


def test_messages_of_protocols_without_executions_have_none():
    frame = Stability(1, 0, [4], [], [])
    assert Frames(Options(group="g", protocol="explicit")).told(frame, SESSION, EVERYONE) == Told("ACK")


def test_a_datagram_has_the_number_that_its_seal_counts():
    seal = Seal("g", SESSION, keyring=None)
    assert [number_in(seal.close(b"x")) for _ in range(3)] == [1, 2, 3]


@given(sessions, numbers, numbers)
def test_what_is_passed_on_has_a_number_of_its_own_that_every_reader_takes(session, first, second):
    found = [passed_on_number(session, number) for number in (first, second)]
    assert all(-(2**53) < number < 0 for number in found)
    assert (found[0] == found[1]) == (first == second)
