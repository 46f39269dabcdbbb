import pytest

from stablecast.errors import InvalidInput
from stablecast.papers.timestamp.connections.connection import (
    Acknowledgement,
    Added,
    Close,
    Data,
    Delivered,
    OpenAcknowledgements,
    OpenMessages,
    ReceiverSide,
    Removed,
    SenderSide,
    Stable,
)


class Nodes:
    """Nodes that are senders and receivers, and the letters between them, which wait to be delivered."""

    def __init__(self, *numbers, rules=True):
        self.sender = {n: SenderSide(rules) for n in numbers}
        self.receiver = {n: ReceiverSide(rules) for n in numbers}
        self.post = []
        self.delivered = {n: [] for n in numbers}

    def send_side(self, n, step, *given):
        self.sender[n], events = getattr(self.sender[n], step)(*given)
        self._note(n, events)

    def receive_side(self, n, step, *given):
        self.receiver[n], events = getattr(self.receiver[n], step)(*given)
        self._note(n, events)

    def _note(self, n, events):
        for event in events:
            if isinstance(event, Delivered):
                self.delivered[n].append(event.timestamp)
            elif isinstance(event, Data | Acknowledgement | OpenAcknowledgements | Close):
                self.post.append((n, event))

    def deliver(self, *, keep=lambda source, event: True):
        """Deliver what waits, in order, but for what ``keep`` does not let through."""
        waiting, self.post = self.post, []
        for source, event in waiting:
            if not keep(source, event):
                self.post.append((source, event))
                continue
            arrived = type(event)(source, *[getattr(event, name) for name in event.__slots__[1:]])
            if isinstance(event, OpenAcknowledgements | Acknowledgement):
                self.send_side(event.peer, "receive", arrived)
            elif isinstance(event, Data):
                self.receive_side(event.peer, "receive", arrived)

    def connect(self, *pairs):
        for s, r in pairs:
            self.receive_side(r, "connect", s)
        self.acknowledge()
        for s, r in pairs:
            self.send_side(s, "connect", r)

    def acknowledge(self):
        for n in self.receiver:
            self.receive_side(n, "acknowledge")
        self.deliver(keep=lambda source, event: not isinstance(event, Data))


def is_b_to_node_3(source, event):
    return isinstance(event, Data) and source == 1 and event.peer == 3 and event.timestamp == 27


def figure_4(nodes):
    """A (22) from node 2, B (27) from node 1, C (33) from node 2; node 3 does not get B for now.

    Node 3 sends something too, since without it node 2, which counts node 3, could not acknowledge 27.
    """
    nodes.send_side(2, "send", 22)
    nodes.send_side(1, "send", 27)
    nodes.send_side(3, "send", 30)
    nodes.send_side(2, "send", 33)
    nodes.deliver(keep=lambda source, event: not is_b_to_node_3(source, event))
    nodes.acknowledge()


ALL_PAIRS = [(s, r) for s in (1, 2, 3) for r in (1, 2, 3) if s != r]


def test_figure_4_without_the_rules_a_message_is_called_stable_that_a_node_lacks():
    nodes = Nodes(1, 2, 3, rules=False)
    nodes.connect(*ALL_PAIRS)
    figure_4(nodes)
    assert nodes.receiver[3].sender_group == (2,)
    assert nodes.receiver[3].acknowledgement == 33
    assert nodes.receiver[2].acknowledgement == 27
    assert nodes.sender[1].acknowledgement_vector == {2: 27, 3: 33}
    assert nodes.sender[1].stable_up_to == 27
    assert nodes.sender[1].buffered == ()
    assert 27 not in nodes.delivered[3]


def test_figure_4_with_the_rules_the_message_is_kept_until_node_3_has_it():
    nodes = Nodes(1, 2, 3)
    nodes.connect(*ALL_PAIRS)
    figure_4(nodes)
    assert nodes.receiver[3].timestamp_vector == {1: 0, 2: 33}
    assert nodes.receiver[3].held_back_by == (1,)
    assert nodes.sender[1].acknowledgement_vector == {2: 27, 3: 0}
    assert nodes.sender[1].stable_up_to == 0
    assert nodes.sender[1].buffered == (27,)
    nodes.deliver()
    nodes.acknowledge()
    assert nodes.delivered[3] == [22, 33, 27]
    assert nodes.sender[1].stable_up_to == 27
    assert nodes.sender[1].buffered == ()


def test_figure_4_with_the_rules_a_node_that_is_not_connected_is_not_counted():
    nodes = Nodes(1, 2, 3)
    nodes.connect(*[pair for pair in ALL_PAIRS if pair != (1, 3)])
    figure_4(nodes)
    assert nodes.sender[1].receiver_group == (2,)
    assert nodes.sender[1].stable_up_to == 27
    nodes.connect((1, 3))
    assert nodes.receiver[3].timestamp_vector == {1: 33, 2: 33}
    nodes.send_side(1, "send", 31)
    assert nodes.sender[1].receiver_group == (2,)
    assert nodes.sender[1].least_timestamp == 34
    nodes.send_side(1, "send", 34)
    assert nodes.sender[1].receiver_group == (2, 3)
    nodes.deliver()
    assert nodes.delivered[3] == [22, 33, 34]


def test_figure_4_others_messages_cannot_be_judged_by_acknowledgements_when_groups_differ():
    """Node 2 has acknowledgements of 27 or more from all, and node 3 will never have B."""
    nodes = Nodes(1, 2, 3)
    nodes.connect(*[pair for pair in ALL_PAIRS if pair != (1, 3)])
    figure_4(nodes)
    nodes.send_side(1, "send", 40)
    nodes.deliver()
    nodes.acknowledge()
    assert min(nodes.sender[2].acknowledgement_vector.values()) >= 27
    assert sorted(nodes.sender[2].receiver_group) == [1, 3]
    assert 27 not in nodes.delivered[3]


def connected_pair(first=0):
    """A sender, and a receiver that has acknowledged ``first`` to it; both channels are open."""
    receiver, _ = ReceiverSide(acknowledged=first).connect(1)
    receiver, _ = receiver.acknowledge()
    sender, _ = SenderSide().receive(OpenAcknowledgements(2, 1))
    sender, _ = sender.connect(2)
    sender, _ = sender.receive(Acknowledgement(2, 1, first))
    return sender, receiver


def test_the_four_steps_of_a_connection():
    receiver, events = ReceiverSide().connect(1)
    assert events == (OpenAcknowledgements(1, 1),)
    assert receiver.sender_group == ()
    receiver, events = receiver.acknowledge()
    assert events == (Added(1), Acknowledgement(1, 1, 0))
    assert receiver.timestamp_vector == {1: 0}
    sender, events = SenderSide().receive(OpenAcknowledgements(2, 1))
    assert events == ()
    sender, events = sender.connect(2)
    assert events == (OpenMessages(2, 1),)
    sender, events = sender.receive(Acknowledgement(2, 1, 0))
    assert sender.receiver_group == ()
    sender, events = sender.send(5)
    assert events == (Added(2), Data(2, 1, 5))
    assert sender.acknowledgement_vector == {2: 0}
    receiver, events = receiver.receive(Data(1, 1, 5))
    assert events == (Delivered(1, 5),)
    receiver, events = receiver.acknowledge()
    assert events == (Acknowledgement(1, 1, 5),)
    sender, events = sender.receive(Acknowledgement(2, 1, 5))
    assert events == (Stable(5),)
    assert sender.buffered == ()


def test_either_side_may_disconnect_and_both_forget_the_other():
    sender, receiver = connected_pair()
    sender, _ = sender.send(1)
    gone, events = sender.disconnect(2)
    assert events == (Close(2, 1), Removed(2))
    assert gone.receiver_group == ()
    _, events = receiver.receive(Close(1, 1))
    assert events == (Removed(1),)
    gone, events = receiver.disconnect(1)
    assert events == (Removed(1), Close(1, 1))
    assert gone.sender_group == ()
    _, events = sender.receive(Close(2, 1))
    assert events == (Removed(2),)


def test_a_receiver_that_goes_no_longer_holds_back_what_others_have():
    sender, _ = SenderSide().receive(OpenAcknowledgements(2, 1))
    sender, _ = sender.receive(OpenAcknowledgements(3, 1))
    for peer in (2, 3):
        sender, _ = sender.connect(peer)
        sender, _ = sender.receive(Acknowledgement(peer, 1, 0))
    sender, _ = sender.send(4)
    sender, _ = sender.receive(Acknowledgement(2, 1, 4))
    assert sender.stable_up_to == 0
    sender, events = sender.receive(Close(3, 1))
    assert events == (Removed(3), Stable(4))


def test_a_sender_behind_an_acknowledgement_counts_the_receiver_when_it_has_passed_it():
    sender, receiver = connected_pair(first=20)
    sender, events = sender.send(18)
    assert events == (Data(2, 1, 18),)
    assert receiver.receive(Data(1, 1, 18)) == (receiver, ())
    assert sender.least_timestamp == 21
    sender, events = sender.send(sender.least_timestamp)
    assert events[0] == Added(2)


def test_a_sender_without_receivers_keeps_its_messages_until_one_is_counted():
    sender, _ = SenderSide().send(3)
    assert (sender.stable_up_to, sender.buffered) == (0, (3,))
    sender, _ = sender.receive(OpenAcknowledgements(2, 1))
    sender, _ = sender.connect(2)
    sender, _ = sender.receive(Acknowledgement(2, 1, 0))
    sender, _ = sender.send(4)
    sender, _ = sender.receive(Acknowledgement(2, 1, 4))
    assert (sender.stable_up_to, sender.buffered) == (4, ())


def test_a_sender_that_is_cut_off_from_all_calls_nothing_further_stable():
    sender, _ = connected_pair()
    sender, _ = sender.send(4)
    sender, events = sender.receive(Close(2, 1))
    assert events == (Removed(2),)
    assert sender.buffered == (4,)


def test_a_receiver_that_joins_is_counted_for_later_messages_only():
    """What was sent before is called stable although a member of the group, by then, lacks it."""
    sender, _ = SenderSide().receive(OpenAcknowledgements(2, 1))
    sender, _ = sender.connect(2)
    sender, _ = sender.send(3)
    sender, _ = sender.receive(Acknowledgement(2, 1, 0))
    sender, _ = sender.send(5)
    receiver, _ = ReceiverSide().connect(1)
    receiver, events = receiver.receive(Data(1, 1, 3))
    assert events == ()
    receiver, _ = receiver.acknowledge()
    receiver, events = receiver.receive(Data(1, 1, 5))
    assert events == (Delivered(1, 5),)
    sender, events = sender.receive(Acknowledgement(2, 1, receiver.acknowledgement))
    assert events == (Stable(5),)


def test_what_was_sent_on_an_earlier_connection_is_not_made_up_for():
    sender, receiver = connected_pair()
    sender, _ = sender.send(3)
    receiver, _ = receiver.disconnect(1)
    receiver, _ = receiver.connect(1)
    receiver, _ = receiver.acknowledge()
    assert receiver.receive(Data(1, 1, 3)) == (receiver, ())
    sender, events = sender.receive(OpenAcknowledgements(2, 2))
    assert events == (Removed(2),)
    sender, _ = sender.receive(Acknowledgement(2, 1, 0))
    sender, _ = sender.connect(2)
    sender, events = sender.send(4)
    assert events == (Data(2, 2, 4),), "the acknowledgement was left over from the first connection"
    sender, _ = sender.receive(Acknowledgement(2, 2, 0))
    sender, events = sender.send(5)
    assert events == (Added(2), Data(2, 2, 5))


def test_a_sender_that_never_sends_holds_back_the_acknowledgements_to_all_until_it_is_disconnected():
    receiver = ReceiverSide()
    for sender in (1, 2):
        receiver, _ = receiver.connect(sender)
    receiver, _ = receiver.acknowledge()
    for timestamp in range(1, 100):
        receiver, _ = receiver.receive(Data(1, 1, timestamp))
        receiver, events = receiver.acknowledge()
        assert Acknowledgement(1, 1, 0) in events
    assert receiver.held_back_by == (2,)
    receiver, _ = receiver.disconnect(2)
    assert receiver.acknowledgement == 99


@pytest.mark.parametrize("second", [1, 7])
def test_a_sender_that_is_added_does_not_take_the_acknowledgement_back(second):
    receiver, _ = ReceiverSide().connect(3)
    receiver, _ = receiver.acknowledge()
    receiver, _ = receiver.receive(Data(3, 1, 9))
    receiver, _ = receiver.connect(second)
    receiver, events = receiver.acknowledge()
    assert Acknowledgement(second, 1, 9) in events
    assert receiver.timestamp_vector == {3: 9, second: 9}
    assert receiver.receive(Data(second, 1, 8)) == (receiver, ())


def test_steps_out_of_turn_are_refused():
    sender, receiver = connected_pair()
    with pytest.raises(InvalidInput, match="connected already"):
        receiver.connect(1)
    with pytest.raises(InvalidInput, match="not connected"):
        ReceiverSide().disconnect(1)
    with pytest.raises(InvalidInput, match="not connected"):
        SenderSide().disconnect(2)
    for side in (SenderSide(), sender):
        with pytest.raises(InvalidInput, match="waits for a message channel"):
            side.connect(2)
    sender, _ = sender.send(5)
    for timestamp in (5, 4, 0):
        with pytest.raises(InvalidInput, match="not above 5"):
            sender.send(timestamp)
