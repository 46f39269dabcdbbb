"""Critical paths of simulated runs, held against the graph of what was transmitted and arrived."""

import random

import pytest

from benchmarks.critical_paths import check_run, checked, drawn_options
from stablecast.causes import critical_path, life, read, shiviz, slowest
from stablecast.simulate.live.options import live_setup
from stablecast.simulate.live.run import simulate_live


@pytest.mark.parametrize("protocol", ["s_coordp", "gsgc", "explicit"])
def test_paths_of_drawn_runs_sum_and_are_critical(tmp_path, protocol):
    counts = {}
    for seed in range(6):
        options = drawn_options(seed, (protocol,))
        found, run = checked(options, tmp_path)
        assert run.remarks == (), options.command()
        counts = found + counts if counts else found
    assert counts["messages"] > 6
    assert counts["off"] > 20
    assert counts["on, earlier"] > 20


def test_a_simulated_live_group_tells_who_repaired_what(tmp_path):
    group = {"members": 5, "senders": 2, "rate_per_s": 40.0, "seconds": 1.0, "link_loss": 0.05, "seed": 3}
    simulate_live(live_setup(group), trace=tmp_path / "run.jsonl", wire=True)
    run = read([tmp_path / "run.jsonl"])
    assert check_run(run, random.Random(3))["on, earlier"]
    ways = set()
    for slow in slowest(run, 1000):
        told = life(run, slow.source, slow.seq)
        ways |= {each.how for each in told.members}
        repaired = [each for each in told.members if each.how == "repaired"]
        assert all(each.origin in set(run.members) - {each.member} for each in repaired)
        if told.last_member in {each.member for each in repaired}:
            path = critical_path(run, slow.source, slow.seq)
            assert "transmitted it again" in path.phases[0].text
    assert ways == {"sent", "copy", "repaired"}
    assert shiviz(run, to_us=100_000).count("\n") > 100
