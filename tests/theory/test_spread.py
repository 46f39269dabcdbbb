"""The spread of gossip: one member exactly, and the first of all by a model, against the simulator."""

import numpy as np
import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.theory.spread import first_to_hear_all, sources_heard

RUNS = 300
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def heard_by_one(n, b, steps, rng):
    """Play gossip forwards; return how many the first member has heard from."""
    heard = np.eye(n, dtype=bool)
    phases = rng.random(n)
    sends = sorted(
        (k + phases[i], i) for i in range(n) for k in range(int(steps) + 1) if k + phases[i] < steps
    )
    for _, sender in sends:
        heard[rng.choice(n, b, replace=False)] |= heard[sender]
    return heard[0].sum()


@pytest.mark.parametrize(("n", "b", "steps"), [(5, 2, 1.5), (8, 1, 3)])
def test_what_one_member_has_heard_is_that_of_gossip_played_forwards(n, b, steps):
    rng = np.random.default_rng(3)
    tries = 4000
    counts = np.bincount([heard_by_one(n, b, steps, rng) for _ in range(tries)], minlength=n + 1)
    expected = sources_heard(n, b, steps)
    assert expected.sum() == pytest.approx(1)
    spread = np.sqrt(expected * (1 - expected) / tries)
    assert (np.abs(counts / tries - expected) <= 4 * spread + 1e-9).all()


def steps_of_runs(n, b):
    """Return the steps until the first member has the result, of groups on a network that takes no time."""
    options = {"protocol": "gsgc", "topology": "balanced", "members": n, "nodes": n, "costs": "links-only"}
    options |= {"senders": 1, "subgroup": b, "step_s": 100.0, "stop_at_first": True}
    return np.sort([simulate(Options(**options, seed=seed).setup()).steps for seed in range(RUNS)])


@pytest.mark.parametrize(("n", "b"), [(50, 1), (50, 2), (100, 3)])
def test_the_distribution_of_the_first_member_is_that_of_the_simulator(n, b):
    runs, spread = steps_of_runs(n, b), first_to_hear_all(n, b)
    times = [float(np.quantile(runs, q)) for q in QUANTILES]
    # Chance alone makes 0.079 with 95 % (Kolmogorov), and the model is off by up to 0.03 here.
    assert max(abs(spread.by(at) - q) for at, q in zip(times, QUANTILES, strict=True)) < 0.1
    # Members that were independent of each other would be much too fast with larger sub-groups.
    independent = 1 - (1 - sources_heard(n, b, times[2])[n]) ** n
    assert b == 1 or independent > 0.62


def test_what_is_wrong_is_told():
    with pytest.raises(InvalidInput, match=r"subgroup 6 is not accepted \(accepted: 1 to 5\)"):
        sources_heard(5, 6, 1)
    with pytest.raises(InvalidInput, match=r"quantile 1\.0 is not accepted"):
        first_to_hear_all(50, 2).quantile(1.0)
    assert first_to_hear_all(1, 1).by(0) >= 0
