"""The paper's figures taken literally: the pseudo-code of Figure 1, and the clocks of Figure 3."""

from itertools import product

import pytest

from .timestamp_model import TAKE, Figure3, Receiver, Sender

# Figure 1, taken literally


def test_two_messages_with_one_timestamp_lose_the_second_and_call_it_stable() -> None:
    sender, receiver = Sender([0]), Receiver([0])
    for stamp in (5, 5):
        sender.send(stamp)
    assert [receiver.receive(0, stamp) for stamp in (5, 5)] == [True, False]
    assert sender.acknowledged(0, receiver.acknowledgement()) == [5, 5]


def test_a_message_with_timestamp_0_is_never_delivered() -> None:
    assert not Receiver([0]).receive(0, 0)


def test_an_acknowledgement_is_not_as_high_as_every_message_that_it_waited_for() -> None:
    """The proof of theorem 1b has at_r >= t_m' for every other sender's m'; only at_r >= t_m is true."""
    receiver = Receiver([0, 1])
    receiver.receive(0, 5)
    receiver.receive(1, 9)
    assert receiver.acknowledgement() == 5


def test_equal_timestamps_of_different_senders_are_acknowledged_together() -> None:
    receiver = Receiver([0, 1])
    receiver.receive(0, 5)
    assert receiver.acknowledgement() == 0
    receiver.receive(1, 5)
    assert receiver.acknowledgement() == 5


@pytest.mark.parametrize(("entry", "then"), [(0, 0), ("last", 7)])
def test_acknowledgements_go_back_when_a_sender_is_added_at_zero(entry: int | str, then: int) -> None:
    """Section 3 starts entries at 0, section 6 at what was acknowledged: only that does not fall."""
    receiver = Receiver([0])
    receiver.receive(0, 7)
    receiver.vector[1] = receiver.acknowledgement() if entry == "last" else 0
    assert receiver.acknowledgement() == then


def test_a_receiver_that_is_added_takes_the_least_acknowledgement_back() -> None:
    sender = Sender([0])
    sender.acknowledged(0, 100)
    sender.acks[1] = 50  # rule 4: its first acknowledgement
    assert min(sender.acks.values()) == 50


def test_figure_4_is_33_only_if_message_c_is_node_2s_and_node_3_has_sent_as_high() -> None:
    """Node 3 knows of 2 and 3 alone and lacks B; who sent C, and what did node 3 last send?"""
    fits = []
    for source, own in product((2, 3), (0, 22, 32, 33, 40)):
        receiver = Receiver([2, 3])
        receiver.receive(2, 22)
        receiver.receive(3, own)
        receiver.receive(source, 33)
        if receiver.acknowledgement() == 33:
            fits.append((source, own))
    assert fits == [(2, 33), (2, 40)]


def test_figure_4_node_1_calls_b_stable_although_node_3_lacks_it() -> None:
    for view, wrong in (([2, 3], True), ([1, 2, 3], False)):
        nodes = {1: Receiver([1, 2, 3]), 2: Receiver([1, 2, 3]), 3: Receiver(view)}
        sender = Sender([1, 2, 3])
        sender.send(27)
        for source, stamp, lost_at in ((2, 22, 0), (1, 27, 3), (2, 33, 0), (3, 34, 0)):
            for number, node in nodes.items():
                if number != lost_at:
                    node.receive(source, stamp)
        left = [
            stamp for n, node in nodes.items() for stamp in sender.acknowledged(n, node.acknowledgement())
        ]
        assert nodes[2].acknowledgement() == 27
        assert nodes[3].acknowledgement() == (33 if wrong else 0)
        assert (left == [27]) == wrong


# Figure 3


def test_figure_3_step_by_step() -> None:
    """Ticks: sending a message, sending an acknowledgement; what comes in is a maximum, no event."""
    figure = Figure3("largest", "clock", True, "largest")
    assert [figure.send(s) for s in (0, 0, 0, 0, 0, 1)] == [1, 2, 3, 4, 5, 1]  # (a)
    assert (figure.clocks, figure.receiver_clocks) == ([5, 1], [5, 5])
    assert figure.acknowledge() == [1, 1]  # (b)
    assert (figure.clocks, figure.receiver_clocks) == ([6, 6], [6, 6])
    assert figure.buffers == [[2, 3, 4, 5], []]
    assert [figure.send(0), figure.send(1)] == [7, 7]  # (c)
    assert figure.acknowledge() == [7, 7]  # (d)
    assert figure.buffers == [[], []]
    assert figure.clocks == [8, 8]


def test_figure_3_needs_a_second_number_in_acknowledgements_and_no_tick_at_receipt() -> None:
    fits = set()
    for rules in product(
        ("largest", "above", "an event"), ("clock", "smallest", "largest"), (False, True), TAKE
    ):
        figure = Figure3(*rules)
        for s in (0, 0, 0, 0, 0, 1):
            figure.send(s)
        figure.acknowledge()
        if figure.clocks == [6, 6] and [figure.send(0), figure.send(1)] == [7, 7]:
            fits.add(rules)
    by_clock = {("largest", "clock", True, "largest"), ("largest", "clock", False, "above")}
    by_clock |= {("above", "clock", False, "largest")}
    relayed = set(product(("largest", "above", "an event"), ["largest"], (False, True), ["above"]))
    assert fits == by_clock | relayed


def test_figure_3_by_lamports_rules_for_every_event_has_10_and_11_for_6_and_7() -> None:
    figure = Figure3("an event", "clock", True, "an event")
    for s in (0, 0, 0, 0, 0, 1):
        figure.send(s)
    assert figure.receiver_clocks == [7, 7]
    figure.acknowledge()
    assert figure.clocks == [10, 10]
    assert [figure.send(0), figure.send(1)] == [11, 11]


def test_figure_3_with_physical_clocks_acknowledges_five_of_the_six_messages() -> None:
    senders, receiver = [Sender([0]), Sender([0])], Receiver([0, 1])
    for time, s in enumerate((0, 0, 0, 0, 0, 1), start=1):
        senders[s].send(time)
        receiver.receive(s, time)
    assert receiver.acknowledgement() == 5
    assert [sender.acknowledged(0, 5) for sender in senders] == [[1, 2, 3, 4, 5], []]
    assert senders[1].buffer == [6]
