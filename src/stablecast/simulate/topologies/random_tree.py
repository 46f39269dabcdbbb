"""Random trees as the hierarchical paper builds them: levels drawn by weight, parents drawn at random."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stablecast.errors import InvalidInput
from stablecast.overlays import Tree
from stablecast.simulate.topologies import Topology
from stablecast.theory.trees import random_tree_level_probabilities

TRIES = 1000


def random_tree(*, members: int = 364, degree: int = 3, height: int = 5, seed: int = 0) -> Topology:
    """Build a random tree of section 5.4.2 with a member on every node.

    Each node but the root falls on level k < p with probability b^k/(n-1) and on level p otherwise; then each
    is connected to a random node of the level above.  A draw that leaves a level empty is drawn again.
    """
    try:
        weights = [float(weight) for weight in random_tree_level_probabilities(members, degree, height)]
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    rng = np.random.default_rng([seed, 0x72747265])
    counts = _draw_levels(rng, members, weights)
    parents = [np.array([-1])]
    first = 0
    for above, count in zip(np.concatenate(([1], counts[:-1])), counts, strict=True):
        parents.append(np.sort(first + rng.integers(0, above, size=count)))
        first += int(above)
    shape = Tree(np.concatenate(parents).astype(np.int64))
    label = f"random-tree {members} nodes {degree}/{height} seed {seed}"
    return Topology("random-tree", label, shape, np.arange(members, dtype=np.int64))


def _draw_levels(rng: np.random.Generator, members: int, weights: list[float]) -> NDArray[np.int64]:
    for _ in range(TRIES):
        counts = rng.multinomial(members - 1, weights)
        if (counts > 0).all():
            return counts.astype(np.int64)
    raise InvalidInput(
        f"{members} members do not fill a random tree of height {len(weights)} (give more members)"
    )
