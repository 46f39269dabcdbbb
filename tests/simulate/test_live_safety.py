"""What is checked in every run of a simulated live group, and that it holds under faults drawn from seeds."""

import random

import pytest
from live_setups import live, run

from stablecast.engine.choice import live_protocols
from stablecast.engine.results import Delivery
from stablecast.engine.tracker import Tracker
from stablecast.errors import SafetyViolation
from stablecast.simulate import topology
from stablecast.simulate.live.checks import Checks
from stablecast.simulate.live.run import simulate_live
from stablecast.trace.verdict import judge_files


def test_a_false_claim_is_seen(monkeypatch):
    def claims(self, source, part, now):
        received(self, source, part, now)
        self.take_stable(source, part)

    received = Tracker.has_received
    monkeypatch.setattr(Tracker, "has_received", claims)
    with pytest.raises(SafetyViolation, match=r"was told that m. has its message 1, which it has not"):
        run(changes={"link_loss": 0.2})


@pytest.mark.parametrize("seqs", [(1, 3), (1, 1), (2, 1)])
def test_deliveries_out_of_order_are_seen(seqs):
    checks = Checks(seed=1)
    first, second = ([Delivery("a", seq, b"x", "b")] for seq in seqs)
    checks.was_delivered(first)
    with pytest.raises(SafetyViolation, match=f"message {seqs[1]} of a after message {seqs[0]}"):
        checks.was_delivered(second)


def drawn(seed):
    """Return a set-up and its faults: shared links with short queues, losses, and what happens to members."""
    rng = random.Random(f"live on links {seed}")
    names = live_protocols()
    members = rng.randint(4, 9)
    one, other = rng.sample(range(1, members - 1), 2)
    begin = rng.randrange(300, 1500)
    end = begin + rng.choice((200, 800, 4000))
    faults = [
        f"crash {one} at {begin}",
        f"leave {one} at {begin}",
        f"pause {one} from {begin} to {end}",
        f"partition {one},{other} from {begin} to {end}",
        f"join 1 at {begin}",
    ]
    shape = topology("star", members=members)
    if rng.random() < 0.5:
        shape = topology("tree", degree=2, height=rng.choice((2, 3)))
    changes = {
        "bandwidth_bps": rng.choice((2e6, 10e6, 1e9)),
        "propagation_us": rng.choice((25, 5000)),
        "queue_limit": rng.choice((0, 8, 30)),
        "link_loss": rng.choice((0.0, 0.02, 0.1)),
        "duplicate": rng.choice((0.0, 0.1)),
        "reorder": rng.choice((0.0, 0.2)),
    }
    told = {"policy": rng.choice(("until-stable", "two-buffers")), "fail_after": 2.0}
    return live(
        protocol=names[seed % len(names)],
        shape=shape,
        changes=changes,
        told=told,
        faults="; ".join(rng.sample(faults, rng.randint(1, 3))),
        start=rng.choice(("joined", "joining")),
        ip_multicast=rng.random() < 0.3,
        rate_per_s=rng.choice((2, 10)),
        data_bytes=rng.choice((10, 1000, 5000)),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(1, 15))
def test_every_promise_is_kept_on_links(tmp_path, seed):
    file = tmp_path / "trace.jsonl"
    setup = drawn(seed)
    result = simulate_live(setup, trace=file)
    assert result.completed, (setup.faults, result.told[-3:])
    verdict = judge_files([file])
    counts = {kind: count for kind, count in verdict.counts.items() if count}
    counts.pop("receive_after_departure", None)  # one that is left out goes on until it hears so
    if setup.membership.policy == "two-buffers":
        counts.pop("early_release", None)
    assert not counts, verdict.violations[:3]
