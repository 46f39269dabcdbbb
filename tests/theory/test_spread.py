"""The spread of gossip: one member exactly, and the first of all by a model, against the simulator."""

import numpy as np
import pytest

from stablecast.errors import InvalidInput
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.theory.epidemic import binomial
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


def is_within(runs, q, value):
    """Tell whether a value lies between the order statistics that hold a quantile with 99.8 %."""
    below = np.cumsum(binomial(RUNS, q))
    low, high = int(np.searchsorted(below, 0.001)), int(np.searchsorted(below, 0.999))
    return runs[max(low - 1, 0)] <= value <= runs[min(high, RUNS - 1)]


@pytest.mark.parametrize(("n", "b"), [(50, 1), (50, 2), (100, 3)])
def test_quantiles_of_the_first_member_are_those_of_the_simulator(n, b):
    runs, spread = steps_of_runs(n, b), first_to_hear_all(n, b)
    assert all(is_within(runs, q, spread.quantile(q)) for q in QUANTILES)
    assert spread.by(spread.quantile(0.5)) == pytest.approx(0.5)
    # Members that were independent of each other would be faster by more than these runs allow for.
    rival = [1 - (1 - sources_heard(n, b, t)[n]) ** n for t in runs[:: RUNS // 20]]
    if b > 1:
        assert not is_within(runs, 0.5, float(np.interp(0.5, rival, runs[:: RUNS // 20])))


def test_what_is_wrong_is_told():
    with pytest.raises(InvalidInput, match=r"subgroup 6 is not accepted \(accepted: 1 to 5\)"):
        sources_heard(5, 6, 1)
    with pytest.raises(InvalidInput, match=r"quantile 1\.0 is not accepted"):
        first_to_hear_all(50, 2).quantile(1.0)
    assert first_to_hear_all(1, 1).by(0) >= 0
