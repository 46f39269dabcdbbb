"""What the stability protocol attaches to messages must not be older than what it says next."""

import pytest

from stablecast.engine.choice import choose
from stablecast.engine.pace import Pace, PaceOptions
from stablecast.engine.tracker import Tracker
from stablecast.multicast.packing import Packer

MEMBERS = 3
STEP_S = 0.001


class Trackers:
    """Three members of one view, awake, whose words to each other arrive in the next step."""

    def __init__(self, protocol):
        self.waiting = []
        self.each = [self._make(protocol, rank) for rank in range(MEMBERS)]
        for tracker in self.each:
            tracker._awake_until = 10.0

    def _make(self, protocol, rank):
        def send(frame, dest):
            others = [other for other in range(MEMBERS) if other != rank]
            self.waiting += [(frame, rank, other) for other in (others if dest < 0 else [dest])]

        pace = Pace(PaceOptions(step_s=STEP_S), MEMBERS)
        return Tracker(
            choose(protocol), view=2, rank=rank, bases=[0] * MEMBERS, pace=pace, send=send, now=0.0
        )

    def run(self, first, last):
        for step in range(first, last):
            for tracker in self.each:
                tracker.handle_timer(step * STEP_S)
            taken, self.waiting = self.waiting, []
            for frame, source, dest in taken:
                self.each[dest].receive(frame, source, step * STEP_S)


@pytest.mark.parametrize("protocol", ["timestamp", "transitive"])
def test_a_message_that_waits_to_be_packed_is_not_stable_while_a_member_lacks_it(protocol):
    trackers = Trackers(protocol)
    sender = trackers.each[0]
    trackers.run(1, 5)
    packer = Packer(
        2,
        0,
        parts=0,
        messages=0,
        room=1_300,
        width=sender.width,
        attach=lambda part, _: sender.attach(part, 0.04),
    )
    packer.add(b"waits", 0.0)
    trackers.run(5, 40)  # the protocol speaks while the message waits for others to go with it
    (run,) = packer.flush(0.0)
    sender.has_received(0, 1, 0.04)
    trackers.each[2].put_attached(0, 1, run.attached)
    trackers.each[2].has_received(0, 1, 0.04)
    trackers.run(40, 60)
    assert [tracker.stable[0] for tracker in trackers.each] == [0, 0, 0]
    trackers.each[1].put_attached(0, 1, run.attached)
    trackers.each[1].has_received(0, 1, 0.06)
    trackers.run(60, 600)
    assert [tracker.stable[0] for tracker in trackers.each] == [1, 1, 1]
