"""Relaying at engines: what one sends to all goes to a few, who pass it on; and what may go wrong on the way.

Engines are in one view of nine from the start.  With degree 2 the tree of m0 is, by ranks:
0 → 1, 5; 1 → 2, 3; 3 → 4; 5 → 6, 7; 7 → 8.
"""

import random

import pytest

from stablecast.engine.degrees import RELAYS_FROM, degree_for
from stablecast.engine.engine import Engine
from stablecast.engine.fan_out import FanOut
from stablecast.engine.keys import Key, Keyring
from stablecast.engine.options import Options
from stablecast.engine.wire import DEGREE_MOST, INSIDE_BYTES, PassOn, encode, pack_encoded
from stablecast.errors import InvalidInput
from stablecast.membership.next_view import view_together
from stablecast.membership.roster import roster_of
from stablecast.multicast.frames import Data, Nak

SIZE, DEGREE = 9, 2
OLD, NEW = Key(1, bytes(range(32))), Key(2, bytes(range(1, 33)))
DELAY_S = 0.001


class Group:
    """Engines of one view, and a network between them on which a test can have a say."""

    def __init__(self, *, fan_out=DEGREE, size=SIZE, ip_multicast=False, group="orders"):
        self.now = 0.0
        self.engines = [
            Engine(
                Options(group=group, member=f"m{k}", fan_out=fan_out),
                address=("h", 7000 + k),
                largest=1400,
                rng=random.Random(k),
                now=0.0,
                keyring=Keyring((OLD,)),
                ip_multicast=ip_multicast,
            )
            for k in range(size)
        ]
        self.crashed = set()
        self.loses = lambda sender, to, datagram: False
        self.copies = lambda sender, to: 1
        self.delay_s = lambda sender, to: DELAY_S
        self.sent = []
        """Sender and receiver of every datagram that left."""
        self.delivered = [[] for _ in self.engines]
        self._on_the_way = []
        view = view_together(5, 1, [engine.agreement.me for engine in self.engines], group=group)
        for engine in self.engines:
            engine.begin_in(view, [], 0.0)
        self.run(0.3)
        self.sent.clear()

    def say(self, text=b"x", rank=0):
        engine = self.engines[rank]
        engine.own.send(text, self.now)
        engine.flush(self.now)

    def do(self):
        """Take what engines return."""
        for rank, engine in enumerate(self.engines):
            output = engine.output()
            self.delivered[rank] += [delivery.payload for delivery in output.deliveries]
            if rank in self.crashed:
                continue
            for datagram in output.datagrams:
                for _, port in datagram.to:
                    self._put(datagram.data, rank, port - 7000)

    def _put(self, data, sender, to):
        self.sent.append((sender, to, data))
        if not self.loses(sender, to, data):
            for _ in range(self.copies(sender, to)):
                self._on_the_way.append(
                    (self.now + self.delay_s(sender, to), len(self.sent), sender, to, data)
                )

    def run(self, seconds, until=lambda: False):
        end = self.now + seconds
        while self.now < end and not until():
            self.do()
            living = [e for rank, e in enumerate(self.engines) if rank not in self.crashed]
            due = min(engine.next_timer() for engine in living)
            self.now = max(self.now, min([due, end, *(entry[0] for entry in self._on_the_way)]))
            arrived = sorted(entry for entry in self._on_the_way if entry[0] <= self.now)
            self._on_the_way = [entry for entry in self._on_the_way if entry[0] > self.now]
            for _, _, sender, to, data in arrived:
                if to not in self.crashed:
                    self.engines[to].receive([(data, ("h", 7000 + sender))], self.now)
            for engine in living:
                if engine.next_timer() <= self.now:
                    engine.handle_timer(self.now)
        self.do()

    def has_come(self, count=1, but=()):
        return all(
            len(got) >= count
            for rank, got in enumerate(self.delivered)
            if rank not in self.crashed and rank not in but
        )


def data_links(group, rank=0):
    """Let a member send, and return the links that its message takes on its way to all."""
    group.sent.clear()
    group.say(rank=rank)
    group.do()
    first = group.sent[0][2]
    group.run(0.008)
    return [(sender, to) for sender, to, data in group.sent if data == first]


def test_a_message_comes_to_all_by_way_of_others_in_the_same_bytes():
    group = Group()
    links = data_links(group)
    assert sorted(links) == [(0, 1), (0, 5), (1, 2), (1, 3), (3, 4), (5, 6), (5, 7), (7, 8)]
    assert group.has_come()
    assert [engine.counters.passed_on_bytes > 0 for engine in group.engines] == [
        rank in (1, 3, 5, 7) for rank in range(SIZE)
    ]


def test_it_becomes_stable_and_counts_as_heard_from_its_sender():
    group = Group()
    group.say()
    group.run(5.0, lambda: all(e.frontier["m0"] == 1 for e in group.engines))
    assert all(engine.frontier["m0"] == 1 for engine in group.engines)


@pytest.mark.parametrize(("told", "ip_multicast"), [("direct", False), ("auto", False), (DEGREE, True)])
def test_small_groups_those_told_so_and_ip_multicast_send_each_its_copy(told, ip_multicast):
    links = data_links(Group(fan_out=told, ip_multicast=ip_multicast))
    assert sorted(links) == [(0, rank) for rank in range(1, SIZE)]


def test_a_copy_that_comes_twice_is_passed_on_once():
    group = Group()
    group.copies = lambda sender, to: 3
    assert len(data_links(group)) == SIZE - 1
    assert all(got == [b"x"] for got in group.delivered)


def test_copies_that_overtake_each_other_are_delivered_in_order():
    group = Group()
    times = iter([0.009, 0.001] * 1000)
    group.delay_s = lambda sender, to: next(times)
    for number in range(10):
        group.say(bytes([number]))
        group.do()
    group.run(2.0, lambda: group.has_come(10))
    assert all(got == [bytes([number]) for number in range(10)] for got in group.delivered)


def test_what_is_lost_at_the_first_hop_is_repaired_by_who_passes_it_on():
    group = Group()
    first = {}

    def loses(sender, to, datagram):
        if (sender, to) == (0, 1) and not first:
            first["lost"] = datagram
        return datagram == first.get("lost") and (sender, to) == (0, 1)

    group.loses = loses
    group.say(b"lost below m1")
    group.do()
    group.say(b"shows the gap")
    asked = record_requests(group)
    group.run(2.0, lambda: group.has_come(2))
    assert all(got == [b"lost below m1", b"shows the gap"] for got in group.delivered)
    assert (1, 0) in asked  # its copy came from the source itself
    assert {(asker, of) for asker, of in asked if asker in (2, 3)} == {(2, 1), (3, 1)}
    assert (4, 3) in asked


def record_requests(group):
    """Return a list to which who asks whom for data is added."""
    asked = []
    for rank, engine in enumerate(group.engines):
        to_rank = engine.mail.out.to_rank

        def spy(frame, to, rank=rank, to_rank=to_rank):
            if isinstance(frame, Nak):
                asked.append((rank, to))
            to_rank(frame, to)

        engine.mail.out.to_rank = spy
    return asked


def test_those_below_a_relay_that_crashes_get_everything_all_the_same():
    group = Group()
    group.crashed.add(1)
    group.say(b"one")
    group.run(2.0, lambda: group.has_come())
    assert group.now < 2.0  # long before m1 is suspected
    assert group.has_come()


def test_a_relay_that_is_suspected_is_passed_over_and_still_sent_to():
    group = Group()
    sender = group.engines[0].in_view
    sender.fan_out.take_out_of_reach(frozenset({1}))
    links = data_links(group)
    assert {(0, 1), (0, 2), (0, 3), (0, 5)} <= set(links)
    assert group.has_come()
    sender.fan_out.take_out_of_reach(frozenset())
    assert (0, 2) not in data_links(group)


def test_a_relay_passes_over_one_that_it_suspects_too_and_who_is_below_that():
    group = Group()
    for rank in (0, 1, 5):
        group.engines[rank].in_view.fan_out.take_out_of_reach(frozenset({3}))
    links = data_links(group)
    assert {(1, 2), (1, 3), (1, 4)} <= set(links)


def test_who_is_silent_for_long_is_passed_over():
    group = Group()
    here = group.engines[0].in_view
    before = here.fan_out.to_all().to
    group.crashed.add(1)
    group.run(5.0, lambda: here.fan_out.to_all().to != before)
    assert [port - 7000 for _, port in here.fan_out.to_all().to] == [1, 5, 2, 3]


def test_a_datagram_of_another_view_is_not_passed_on():
    group, other = Group(), Group(size=8)
    sender, relay = other.engines[0], group.engines[1]
    inside = pack_encoded([encode(PassOn.along(6, DEGREE, audience=False)), encode(Data(6, 0, 1, 1, [b"x"]))])
    relay.output()
    relay.receive([(sender.mail.seal.close(inside), ("h", 7000))], group.now)
    assert relay.output().datagrams == []
    assert relay.counters.passed_on_bytes == 0


def test_a_member_that_is_blocked_by_a_view_change_goes_on_relaying_for_its_view():
    group = Group()
    group.engines[1].leave(group.now)
    group.do()
    group.run(0.02, lambda: group.engines[3].is_blocked)
    assert group.engines[3].is_blocked
    inside = pack_encoded([encode(PassOn.along(5, DEGREE, audience=False)), encode(Data(5, 0, 1, 1, [b"x"]))])
    datagram = group.engines[0].mail.seal.close(inside)
    group.engines[3].output()
    group.engines[3].receive([(datagram, ("h", 7001))], group.now)
    passed = [d for d in group.engines[3].output().datagrams if d.data == datagram]
    assert [list(each.to) for each in passed] == [[("h", 7004)]]


def test_a_stranger_with_the_key_has_nothing_passed_on():
    group = Group()
    stranger = Engine(
        Options(group="orders", member="eve"),
        address=("h", 9000),
        largest=1400,
        rng=random.Random("eve"),
        now=0.0,
        keyring=Keyring((OLD,)),
    )
    relay = group.engines[1]
    relay.output()
    forged = stranger.mail.seal.close(pack_encoded([encode(PassOn.along(5, DEGREE, audience=False))]))
    relay.receive([(forged, ("h", 7000))], group.now)
    assert relay.output().datagrams == []
    assert relay.counters.untrusted == 1


def test_a_stranger_without_the_key_cannot_change_who_it_is_passed_on_for():
    group = Group()
    group.say()
    datagram = group.engines[0].output().datagrams[0].data
    relay = group.engines[1]
    relay.output()
    forged = datagram[:2] + group.engines[2].session.to_bytes(8, "big") + datagram[10:]
    relay.receive([(forged, ("h", 7000))], group.now)
    assert relay.output().datagrams == []
    assert relay.refused()["authentication"] == 1


def test_a_frame_that_is_not_the_first_means_nothing():
    group = Group()
    inside = pack_encoded([encode(Data(5, 0, 1, 1, [b"x"])), encode(PassOn.along(5, DEGREE, audience=False))])
    relay = group.engines[1]
    relay.output()
    relay.receive([(group.engines[0].mail.seal.close(inside), ("h", 7000))], group.now)
    assert relay.counters.malformed == 1
    assert relay.counters.passed_on_bytes == 0


def test_it_comes_to_all_while_keys_are_changed_one_member_after_the_other():
    group = Group()
    for ring in (Keyring((OLD, NEW)), Keyring((NEW, OLD)), Keyring((NEW,))):
        for rank, engine in enumerate(group.engines):
            engine.rotate(ring)
            group.say(bytes([rank]), rank=0)
            group.run(0.05)
        group.run(0.2)
    expected = [bytes([rank]) for _ in range(3) for rank in range(SIZE)]
    group.run(2.0, lambda: group.has_come(len(expected)))
    assert all(got == expected for got in group.delivered)


def test_members_that_relay_and_members_that_do_not_understand_each_other():
    group = Group()
    here = group.engines[3].in_view
    here.fan_out = FanOut(roster_of(here.view), 3, degree=None)
    assert len(data_links(group, rank=3)) == SIZE - 1
    assert group.has_come()
    assert len([link for link in data_links(group, rank=0) if link[0] == 0]) == DEGREE


@pytest.mark.parametrize("told", ["twice", 0, 65, "-1", True, 2.0])
def test_other_fan_outs_are_refused(told):
    with pytest.raises(InvalidInput, match=r"fan_out .* is not accepted"):
        Options(group="orders", fan_out=told)


def test_the_degree_grows_with_the_group_so_that_two_hops_are_enough_and_ends():
    assert degree_for("auto", RELAYS_FROM - 1) is None
    assert [degree_for("auto", size) for size in (64, 256, 1_024, 100_000)] == [8, 16, 32, 32]
    assert degree_for("direct", 5_000) is None
    assert degree_for("3", 2) == degree_for(3, 5_000) == 3


@pytest.mark.parametrize("audience", [True, False])
@pytest.mark.parametrize("degree", [1, 2, DEGREE_MOST])
def test_the_frame_says_which_tree_and_takes_no_more_room_than_a_session(degree, audience):
    frame = PassOn.along((1 << 64) - 1, degree, audience=audience)
    assert (frame.degree, frame.audience) == (degree, audience)
    many = [encode(frame), *[encode(Nak(1, 1, []))] * 100]
    assert len(pack_encoded(many)) - sum(map(len, many[1:])) <= INSIDE_BYTES
    assert len(pack_encoded(many[1:], (1 << 64) - 1)) - sum(map(len, many[1:])) == INSIDE_BYTES
