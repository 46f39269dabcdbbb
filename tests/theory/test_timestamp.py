import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.theory import timestamp as theory

from .timestamp_model import Case, Scenario, at_random, run, worst_latency

UNTIL = 200


@st.composite
def cases(draw: st.DrawFn, most: int = 4, latency: int = 50, pause: int = 20, groups: bool = True) -> Case:
    """Draw latencies, pauses, and who is connected with whom; nobody is alone."""
    senders, receivers = draw(st.integers(1, most)), draw(st.integers(1, most))
    times, waits = st.integers(0, latency), st.integers(1, pause)

    def matrix(rows: int, columns: int) -> list[list[int]]:
        return [[draw(times) for _ in range(columns)] for _ in range(rows)]

    pairs = [[not groups or draw(st.booleans()) for _ in range(receivers)] for _ in range(senders)]
    for k in range(max(senders, receivers)):
        pairs[k % senders][k % receivers] = True
    return matrix(senders, receivers), matrix(receivers, senders), draw(waits), draw(waits), pairs


def of(case: Case) -> theory.Channels:
    return theory.channels(*case)


# Figure 2


def test_figure_2_gives_7_and_14_with_vectors_and_11_with_timestamps() -> None:
    assert theory.vector_latency(theory.FIGURE_2) == (7, 14)
    assert theory.timestamp_latency(theory.FIGURE_2)[0] == 11
    assert theory.channels([[2, 2], [5, 5]], [[4, 8], [4, 8]], 1, 1) == theory.FIGURE_2


def test_figure_2_second_receiver_follows_from_7_and_11() -> None:
    """The text gives 2 and 4 for the first receiver; for the second only a sum of 6 and the result 11."""
    fits = []
    for down in range(7):
        channels = theory.channels([[2, down], [5, 5]], [[4, 8], [6 - down, 8]], 1, 1)
        only_second = theory.channels([[down], [5]], [[6 - down, 8]], 1, 1)
        assert theory.vector_latency(channels)[0] == 7
        if theory.timestamp_latency(only_second)[0] == 11:
            fits.append(down)
    assert fits == [2]


def test_figure_2_second_sender_loses_nothing_though_t_2_says_15() -> None:
    assert theory.timestamp_latency(theory.FIGURE_2)[1] == 15
    assert theory.sharp_timestamp_latency(theory.FIGURE_2) == (11, 14)


@pytest.mark.parametrize("fineness", [1, 2, 3])
def test_figure_2_played_out_comes_within_a_tick_of_11_and_reaches_7_and_14(fineness: int) -> None:
    message, ack = (
        [[k * fineness for k in row] for row in rows] for rows in ([[2, 2], [5, 5]], [[4, 8], [4, 8]])
    )
    for sender, vector, stamp in ((0, 7, 11 - Fraction(1, fineness)), (1, 14, 14)):
        played = [
            Fraction(worst_latency(message, ack, fineness, fineness, sender, protocol=name), fineness)
            for name in ("vector", "timestamp")
        ]
        assert played == [vector, stamp]


# The inequalities


@given(cases())
def test_t_2_is_above_t_1_by_t_send_or_more(case: Case) -> None:
    """Inequality (1), which leaves t_send out and so is never an equality."""
    channels = of(case)
    for low, high in zip(theory.lower_bound(channels), theory.timestamp_latency(channels), strict=True):
        assert low <= high
    for first, low in zip(theory.vector_latency(channels), theory.lower_bound(channels), strict=True):
        assert first + case[2] == low


@given(cases())
def test_t_2_is_at_most_the_right_side_of_inequality_2(case: Case) -> None:
    channels = of(case)
    for low, high in zip(theory.timestamp_latency(channels), theory.upper_bound(channels), strict=True):
        assert low <= high


@given(cases(), st.randoms(use_true_random=False))
def test_inequality_3_holds_receiver_by_receiver(case: Case, chance: random.Random) -> None:
    message, ack, _, _, _ = case
    s, other, r = chance.randrange(len(message)), chance.randrange(len(message)), chance.randrange(len(ack))
    path = message[s][r] + ack[r][other]
    assert path <= (message[s][r] + ack[r][s]) + (message[other][r] + ack[r][other])


@given(cases())
def test_symmetric_channels_bound_t_2_by_the_longest_t_1_and_one_sender_reaches_it(case: Case) -> None:
    message, _, t_send, t_ack, pairs = case
    channels = theory.channels(message, np.array(message).T, t_send, t_ack, pairs)
    assert max(theory.timestamp_latency(channels)) == theory.symmetric_bound(channels)
    assert theory.symmetric_bound(channels) == max(theory.vector_latency(channels)) + t_send


@given(cases())
def test_the_sharp_bound_lies_between_t_1_and_t_2(case: Case) -> None:
    channels = of(case)
    sharp = theory.sharp_timestamp_latency(channels)
    for low, middle, high in zip(
        theory.vector_latency(channels), sharp, theory.timestamp_latency(channels), strict=True
    ):
        assert low <= middle <= high <= middle + case[2]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.integers(1, 9))
def test_inequality_2_is_reached_when_the_far_sender_is_far_in_one_direction_only(
    far: int, back: int, t_send: int, t_ack: int
) -> None:
    far += back
    channels = theory.channels([[0], [far]], [[back, 0]], t_send, t_ack)
    assert theory.timestamp_latency(channels)[0] == theory.upper_bound(channels)[0]


def test_a_single_sender_loses_nothing_by_timestamps() -> None:
    channels = theory.channels([[3, 8]], [[5], [1]], 4, 2)
    assert theory.sharp_timestamp_latency(channels) == theory.vector_latency(channels) == (11,)
    assert theory.timestamp_latency(channels) == (15,)


def test_a_near_sender_may_wait_any_number_of_times_longer() -> None:
    channels = theory.channels([[0], [998]], [[0, 998]], 1, 1)
    assert theory.vector_latency(channels)[0] == 1
    assert theory.sharp_timestamp_latency(channels)[0] == 1000


# Against runs


@settings(max_examples=25)
@given(cases(most=3, latency=4, pause=2))
@example(
    ([[0, 3], [4, 1], [2, 2]], [[1, 0, 2], [3, 3, 0]], 3, 2, [[True, True], [True, False], [False, True]])
)
def test_the_worst_run_reaches_t_1_and_comes_within_a_tick_of_the_sharp_bound(case: Case) -> None:
    """All phases are tried. At worst the other sender's last message was a tick too early."""
    message, ack, t_send, t_ack, pairs = case
    vector, sharp = theory.vector_latency(of(case)), theory.sharp_timestamp_latency(of(case))
    for s in range(len(message)):
        played = [
            worst_latency(message, ack, t_send, t_ack, s, connected=pairs, protocol=name)
            for name in ("vector", "timestamp")
        ]
        assert played == [vector[s], max(vector[s], sharp[s] - 1)]
        assert played[1] < theory.timestamp_latency(of(case))[s]


def test_with_what_arrives_first_an_acknowledgement_waits_a_tick_less() -> None:
    assert worst_latency([[2]], [[3]], 2, 4, 0, protocol="vector") == 9
    assert worst_latency([[2]], [[3]], 2, 4, 0, protocol="vector", acks_first=False) == 8


def with_losses(case: Case, lost: int) -> theory.Channels:
    message, ack, t_send, t_ack, pairs = case
    return theory.channels(message, [[k + lost * t_ack for k in row] for row in ack], t_send, t_ack, pairs)


def check_bound(scenario: Scenario, bound: tuple[theory.Exact, ...]) -> None:
    known = run(scenario, UNTIL)
    for one in known:
        assert one.latency <= bound[one.sender]
    due = sum(tick + bound[s] < UNTIL for s, ticks in enumerate(scenario.sends) for tick in ticks)
    assert len(known) >= due, "theorem 1b: what is due is known"


@settings(max_examples=60)
@given(cases(most=3, latency=9, pause=6), st.integers(0, 10**6), st.integers(0, 2))
def test_no_run_is_slower_than_the_bounds_whatever_is_lost_or_overtakes(
    case: Case, seed: int, lost: int
) -> None:
    channels = with_losses(case, lost)
    check_bound(at_random(case, seed, lost, UNTIL, protocol="vector"), theory.vector_latency(channels))
    check_bound(at_random(case, seed, lost, UNTIL), theory.sharp_timestamp_latency(channels))


def test_one_silent_sender_keeps_everyone_from_knowing_anything() -> None:
    """Theorem 1b needs messages of every sender of every receiver; with vectors nobody else's matter."""
    case: Case = ([[1], [1], [1]], [[1, 1, 1]], 2, 2, [[True], [True], [True]])
    for protocol, known in (("timestamp", set()), ("vector", {0, 1})):
        scenario = at_random(case, 1, 0, UNTIL, protocol=protocol)
        scenario.sends[2] = []
        assert {one.sender for one in run(scenario, UNTIL)} == known


# Clocks


@settings(max_examples=15)
@given(cases(most=2, latency=3, pause=2), st.lists(st.integers(0, 6), min_size=2, max_size=2))
def test_the_worst_run_with_skewed_clocks_comes_within_a_tick_of_its_bound(
    case: Case, offsets: list[int]
) -> None:
    message, ack, t_send, t_ack, pairs = case
    offsets = offsets[: len(message)]
    vector, sharp = theory.vector_latency(of(case)), theory.sharp_timestamp_latency(of(case), offsets)
    for s in range(len(message)):
        played = worst_latency(message, ack, t_send, t_ack, s, connected=pairs, offsets=offsets)
        assert played == max(vector[s], sharp[s] - 1)


@given(cases(), st.integers(0, 30), st.data())
def test_a_skew_costs_at_most_itself_and_the_worst_clocks_cost_all_of_it(
    case: Case, skew: int, data: st.DataObject
) -> None:
    channels = of(case)
    offsets = data.draw(st.lists(st.integers(0, skew), min_size=len(case[0]), max_size=len(case[0])))
    right, bound = theory.sharp_timestamp_latency(channels), theory.skewed_latency(channels, skew)
    for s, latency in enumerate(theory.sharp_timestamp_latency(channels, offsets)):
        assert theory.vector_latency(channels)[s] <= latency <= bound[s] <= right[s] + skew
        assert bound[s] <= theory.timestamp_latency(channels)[s] + skew
        alone_ahead = [skew if q == s else 0 for q in range(len(case[0]))]
        assert theory.sharp_timestamp_latency(channels, alone_ahead)[s] == bound[s]


def test_in_figure_2_every_unit_of_skew_is_a_unit_of_latency_for_the_first_sender() -> None:
    assert [theory.skewed_latency(theory.FIGURE_2, skew) for skew in (0, 1, 5)] == [
        (11, 14),
        (12, 14),
        (16, 17),
    ]
    assert theory.sharp_timestamp_latency(theory.FIGURE_2, (0, 9)) == (7, 21)


def test_clock_skew_is_no_channel_latency() -> None:
    """Section 4 puts skew into latencies: that slows vectors down too, and may be negative."""
    slow = theory.channels([[2, 2], [5 + 5, 5 + 5]], [[4, 8], [4, 8]], 1, 1)
    assert theory.sharp_timestamp_latency(slow)[0] == theory.skewed_latency(theory.FIGURE_2, 5)[0]
    assert theory.vector_latency(slow) == (7, 19)
    with pytest.raises(InvalidInput, match="negative"):
        theory.channels([[2, 2], [5 - 9, 5 - 9]], [[4, 8], [4, 8]], 1, 1)


@settings(max_examples=60)
@given(
    cases(most=3, latency=6, pause=5, groups=False), st.integers(0, 10**6), st.integers(0, 1), st.booleans()
)
def test_no_run_with_logical_clocks_is_slower_than_their_bound(
    case: Case, seed: int, lost: int, same_nodes: bool
) -> None:
    same_nodes &= len(case[0]) == len(case[1])
    bound = theory.logical_latency(with_losses(case, lost), same_nodes=same_nodes)
    scenario = at_random(case, seed, lost, UNTIL, clock="logical", same_nodes=same_nodes)
    known = run(scenario, UNTIL)
    assert all(one.latency <= bound[one.sender] for one in known)


@settings(max_examples=60)
@given(cases(most=3, latency=6, pause=5), st.integers(0, 10**6), st.lists(st.integers(0, 30), min_size=3))
def test_no_run_with_hybrid_clocks_is_slower_than_their_bound(
    case: Case, seed: int, offsets: list[int]
) -> None:
    """Latencies are one at least here: a clock that is heard of within the tick would be a tick ahead."""
    message, ack, t_send, t_ack, pairs = case
    case = (
        [[1 + k for k in row] for row in message],
        [[1 + k for k in row] for row in ack],
        t_send,
        t_ack,
        pairs,
    )
    bound = theory.logical_latency(of(case), skew=max(offsets) - min(offsets))
    scenario = at_random(case, seed, 0, UNTIL, clock="hybrid", offsets=offsets[: len(message)])
    check_bound(scenario, bound)


def test_hybrid_clocks_are_bounded_by_the_skew_and_by_the_way_around() -> None:
    bounds = [theory.logical_latency(theory.FIGURE_2, skew=skew) for skew in (0, 5, 99)]
    assert bounds == [(11, 14), (16, 17), (22, 22)]


def test_logical_clocks_double_the_latency_of_figure_2() -> None:
    assert theory.logical_latency(theory.FIGURE_2) == (22, 22)
    message, ack = [[4, 4], [10, 10]], [[8, 16], [8, 16]]
    played = [worst_latency(message, ack, 2, 2, s, clock="logical") for s in (0, 1)]
    assert [Fraction(latency, 2) for latency in played] == [21, 21]  # two ticks of a half below 22


# Bytes, steps, buffers


def ack_bytes(protocol: str, senders: int, receivers: int, header: int = 32, **more: Any) -> theory.Exact:
    return theory.ack_bytes(protocol, senders, receivers, header_bytes=header, entry_bytes=4, **more)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 9))
def test_bytes_are_those_of_every_acknowledgement_counted(
    senders: int, receivers: int, messages: int
) -> None:
    counted = {"timestamp": 0, "vector": 0, "explicit": 0, "unicast": 0}
    for _ in range(receivers):
        counted["timestamp"] += 36
        counted["vector"] += 32
        for _ in range(senders):
            counted["vector"] += 4
            counted["unicast"] += 36
            counted["explicit"] += sum(36 for _ in range(messages))
    for protocol in ("timestamp", "vector", "explicit"):
        assert ack_bytes(protocol, senders, receivers, rate=messages) == counted[protocol]
    for protocol in ("timestamp", "vector"):
        assert ack_bytes(protocol, senders, receivers, unicast=True) == counted["unicast"]


def test_vectors_take_fewer_than_n_s_times_the_bytes_once_there_are_headers() -> None:
    for header, factor in ((0, 50), (32, Fraction(232, 36))):
        vector, stamp = (ack_bytes(name, 50, 20, header) for name in ("vector", "timestamp"))
        assert Fraction(vector, stamp) == factor


def test_transitive_acknowledgements_ride_and_only_silent_receivers_pay_headers() -> None:
    assert ack_bytes("transitive", 5, 5, rate=3, predecessors=1) == 5 * 3 * 4
    assert ack_bytes("transitive", 5, 5) == 5 * 4 * 4
    assert ack_bytes("transitive", 5, 8, predecessors=2) == 5 * 8 + 3 * (32 + 8)
    assert ack_bytes("transitive", 5, 8, carriers=0) == 8 * (32 + 20)


def test_timestamps_in_messages_cost_more_than_they_save_when_messages_are_many() -> None:
    """They save N_r (N_s - 1) entries in t_ack and put one into each of N_s k messages."""
    for messages, saves in ((17, True), (19, False)):
        stamps = theory.stamping_bytes(10, header_bytes=32, stamp_bytes=4, rate=messages, t_send=1, t_ack=1)
        vector, acks = (ack_bytes(name, 10, 20) for name in ("vector", "timestamp"))
        assert (acks + stamps < vector) == saves
    assert theory.stamping_bytes(3, header_bytes=32, stamp_bytes=8, rate=2, t_send=5, t_ack=10, idle=1) == 400


def test_steps_are_those_of_a_binary_search_and_a_scan_takes_fewer() -> None:
    assert theory.ack_steps("timestamp", 50, 1000) == {"receiver": 300, "sender": 10}
    assert theory.ack_steps("vector", 50, 1000) == {"receiver": 50, "sender": 10}
    for count in range(2, 200):
        assert theory.ack_steps("vector", 1, count)["sender"] == math.ceil(math.log2(count))
        if count > 2:
            assert (
                theory.scan_steps(count, 1)["receiver"] < theory.ack_steps("timestamp", count, 1)["receiver"]
            )


@given(
    st.fractions(Fraction(1, 10), 20, max_denominator=12), st.fractions(Fraction(1, 9), 5, max_denominator=9)
)
def test_a_sender_holds_latency_times_rate_messages(latency: Fraction, rate: Fraction) -> None:
    sent = [k / rate for k in range(120)]
    held = [sum(at <= now < at + latency for at in sent[: k + 1]) for k, now in enumerate(sent)]
    assert max(held) == theory.buffer_messages(latency, rate)


def test_the_printed_buffer_shrinks_as_the_rate_grows() -> None:
    assert [theory.buffer_messages(11, rate) for rate in (1, 10)] == [11, 110]
    assert [theory.printed_buffer(11, rate) for rate in (1, 10)] == [11, Fraction(11, 10)]


# Arguments


def test_numbers_come_out_as_they_go_in() -> None:
    third = Fraction(1, 3)
    assert theory.vector_latency(theory.channels([[third]], [[third]], 1, third)) == (1,)
    whole = theory.vector_latency(theory.channels(np.array([[2, 3]]), np.array([[1], [1]]), 1, np.int64(1)))  # type: ignore[arg-type]
    assert whole == (5,)
    assert type(whole[0]) is int


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2]], [[1]], 1, 1), "a row for each of 2 receivers and a column for each of 1 senders"),
        (([[1], [1, 2]], [[1]], 1, 1), "message must be a matrix"),
        (([], [], 1, 1), "message must be a matrix"),
        (([[1]], [[-1]], 1, 1), "ack latency must not be negative, got -1"),
        (([[0.5]], [[1]], 1, 1), "message latency must be a whole number or a Fraction, got 0.5"),
        (([[1]], [[1]], 0, 1), "t_send must be above 0, got 0"),
        (([[1]], [[1]], 1, True), "t_ack must be a whole number"),
        (([[1]], [[1]], 1, 1, [[False]]), "every sender needs a receiver"),
        (([[1]], [[1]], 1, 1, [[True, True]]), "connected must have 1 rows of 1"),
    ],
)
def test_impossible_channels_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        theory.channels(*arguments)  # type: ignore[arg-type]


def test_what_does_not_fit_the_channels_is_refused() -> None:
    with pytest.raises(InvalidInput, match="differ: 2 and 4"):
        theory.symmetric_bound(theory.FIGURE_2)
    with pytest.raises(InvalidInput, match="2 entries"):
        theory.sharp_timestamp_latency(theory.FIGURE_2, [1])
    with pytest.raises(InvalidInput, match="skew must not be negative"):
        theory.skewed_latency(theory.FIGURE_2, -1)
    apart = theory.channels([[1] * 3] * 2, [[1] * 2] * 3, 1, 1, [[True, False, True], [False, True, False]])
    assert theory.logical_latency(apart) == theory.vector_latency(apart)
    with pytest.raises(InvalidInput, match="as many receivers"):
        theory.logical_latency(apart, same_nodes=True)


def test_unknown_protocols_and_impossible_counts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'vector'"):
        ack_bytes("vectors", 2, 2)
    with pytest.raises(InvalidInput, match="timestamp, vector"):
        theory.ack_steps("explicit", 2, 2)
    with pytest.raises(InvalidInput, match="senders must be an integer of at least 1, got 0"):
        ack_bytes("vector", 0, 2)
    with pytest.raises(InvalidInput, match="carriers must be an integer between 0 and 2, got 3"):
        ack_bytes("transitive", 2, 5, carriers=3)
    with pytest.raises(InvalidInput, match="predecessors must be between 0 and 2, got 3"):
        ack_bytes("transitive", 2, 5, predecessors=3)
