"""Draws beside a formula: how often something happens, against how often it should.

A count of independent draws is taken to agree if it is within `Z` standard deviations of what is expected;
by chance alone one comparison in 16,000 would not be. Tests print their seed; ``MONTE_CARLO_SEED`` sets it.
"""

import math
import os

import numpy as np

SEED = int(os.environ.get("MONTE_CARLO_SEED", "1999"))
Z = 4.0
CONFIDENCE = math.erf(Z / math.sqrt(2))


def generator(*purpose: int) -> np.random.Generator:
    """Return the generator of one test; its draws do not depend on what other tests draw."""
    print(f"MONTE_CARLO_SEED={SEED}")
    return np.random.default_rng([SEED, *purpose])


def assert_agrees(hits: int, trials: int, probability: float) -> None:
    """Fail if a count is further from what the probability says than chance allows."""
    expected = trials * probability
    assert expected >= 10, f"only {expected:.1f} hits are expected in {trials} trials, which tells nothing"
    deviation = math.sqrt(expected * (1 - probability))
    print(f"{hits} of {trials}, expected {expected:.1f} within {Z * deviation:.1f} ({CONFIDENCE:.4%})")
    assert abs(hits - expected) <= Z * deviation


def assert_mean_agrees(values: np.ndarray, mean: float) -> None:
    """Fail if a sample's mean is further away than chance allows."""
    deviation = float(values.std(ddof=1)) / math.sqrt(values.size)
    print(f"mean {values.mean():.5f} of {values.size}, expected {mean:.5f} within {Z * deviation:.5f}")
    assert abs(float(values.mean()) - mean) <= Z * deviation
