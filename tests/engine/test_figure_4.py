"""Figure 4 of the timestamp paper on live engines: without agreed groups a message is falsely called stable.

Node 3 counts node 2 alone as a sender, node 1 counts node 3 as a receiver.  Message B of node 1 does not get
to node 3, which acknowledges the later timestamp of C, a message of node 2; node 1 takes that for an
acknowledgement of B.  What makes the groups agree, in live groups, is the view.
"""

import random

import msgspec
import pytest

from stablecast.engine.engine import Engine
from stablecast.engine.explain import explain
from stablecast.engine.options import Options
from stablecast.engine.results import MessageId
from stablecast.membership.next_view import view_together

NAMES = ("n2", "n1", "n3")
"""The first one leads."""
DELAY_S = 0.001
B = MessageId("n1", 1)


class Nodes:
    """Three engines that are given their views, on links that can be dead."""

    def __init__(self, protocol, *, is_agreed):
        self.now = 1000.0
        self.dead = set()
        self.engines = {
            name: Engine(
                Options(group="orders", member=name, protocol=protocol, receives=receives),
                address=(name, 7000),
                largest=1400,
                rng=random.Random(name),
                now=self.now,
            )
            for name, receives in zip(NAMES, (True, True, ["n2"]), strict=True)
        }
        self.delivered = {name: [] for name in NAMES}
        members = [engine.agreement.me for engine in self.engines.values()]
        agreed = view_together(5, 1, members, group="orders")
        wrong = msgspec.structs.replace(
            agreed,
            members=tuple(msgspec.structs.replace(member, receives=("*",)) for member in agreed.members),
        )
        for name, engine in self.engines.items():
            engine.begin_in(agreed if is_agreed or name == "n3" else wrong, [], self.now)

    def turn(self):
        """Hand over what engines have to say, where links carry it, and let time pass."""
        arriving = {}
        for name, engine in self.engines.items():
            output = engine.output()
            self.delivered[name] += [delivery.id for delivery in output.deliveries]
            for datagram in output.datagrams:
                for to, _ in datagram.to:
                    if (name, to) not in self.dead:
                        arriving.setdefault(to, []).append((datagram.data, (name, 7000)))
        due = min(engine.next_timer() for engine in self.engines.values())
        self.now = self.now + DELAY_S if arriving else max(self.now, due)
        for name, engine in self.engines.items():
            if name in arriving:
                engine.receive(arriving[name], self.now)
            if self.now >= engine.next_timer():
                engine.handle_timer(self.now)
        self.check_n1()

    def run_for(self, seconds):
        until = self.now + seconds
        while self.now < until:
            self.turn()

    def send(self, name):
        engine = self.engines[name]
        assert engine.own.may_send(1)
        engine.own.send(b"x", self.now)
        engine.flush(self.now)

    @property
    def outcome(self):
        """What node 1 says of B."""
        return self.engines["n1"].own.outcomes.of(B.seq, 0.0)

    def check_n1(self):
        """Note whether node 1 has called B stable at somebody who lacks it."""
        outcome = self.outcome
        if outcome is not None:
            for name in outcome.members:
                if B not in self.delivered[name]:
                    raise AssertionError(f"B is called stable, and {name} lacks it")


@pytest.mark.parametrize("protocol", ["timestamp", "gsgc"])
def test_without_agreed_groups_b_is_called_stable_though_node_3_lacks_it(protocol):
    nodes = Nodes(protocol, is_agreed=False)
    nodes.run_for(0.1)
    nodes.dead = {("n1", "n3")}
    nodes.send("n1")
    nodes.send("n2")
    with pytest.raises(AssertionError, match="B is called stable, and n3 lacks it"):
        nodes.run_for(1.0)
    assert nodes.outcome.members == ("n2", "n1", "n3")


@pytest.mark.parametrize("protocol", ["timestamp", "gsgc"])
def test_with_an_agreed_view_b_is_for_those_who_receive_it(protocol):
    nodes = Nodes(protocol, is_agreed=True)
    nodes.dead = {("n1", "n3")}
    nodes.send("n1")
    nodes.run_for(0.005)
    nodes.send("n2")
    nodes.run_for(1.5)
    assert nodes.outcome.members == ("n2", "n1")
    assert nodes.delivered["n3"] == [("n2", 1)]


@pytest.mark.parametrize("protocol", ["timestamp", "vector", "explicit", "gsgc", "coordp"])
@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_whenever_b_is_sent_while_node_3_connects_it_is_not_stable_before_node_3_has_it(protocol, turns):
    nodes = Nodes(protocol, is_agreed=True)
    nodes.run_for(0.02)
    nodes.engines["n3"].receive_from(True, nodes.now)
    for _ in range(turns):
        nodes.turn()
    while not nodes.engines["n1"].own.may_send(1):
        nodes.turn()
    nodes.dead = {("n1", "n3")}
    nodes.send("n1")
    nodes.run_for(0.005)
    nodes.send("n2")
    nodes.run_for(0.3)
    nodes.dead = set()
    nodes.run_for(3.0)
    assert nodes.outcome is not None
    assert ("n3" in nodes.outcome.members) == (B in nodes.delivered["n3"])


def test_after_it_has_connected_node_3_is_waited_for_by_name():
    nodes = Nodes("timestamp", is_agreed=True)
    nodes.engines["n3"].receive_from(True, nodes.now)
    nodes.run_for(0.5)
    assert nodes.engines["n1"].view.receivers_of("n1") == ("n2", "n3")
    nodes.dead = {("n1", "n3"), ("n2", "n3")}
    nodes.send("n1")
    nodes.run_for(0.5)
    assert nodes.outcome is None
    [laggard] = explain(nodes.engines["n1"], B, nodes.now).laggards
    assert laggard.member == "n3"
    nodes.dead = set()
    nodes.run_for(2.0)
    assert nodes.outcome.members == ("n2", "n1", "n3")
