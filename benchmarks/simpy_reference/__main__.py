"""Print completion times, hops and speed for small groups."""

import numpy as np
from numpy.typing import NDArray

from .model import tree_parents
from .scenarios import (
    LAN,
    LINKS_ONLY,
    StabilityResult,
    UnicastResult,
    run_coordp,
    run_fulldist,
    run_unicast,
)


def _arrays(degree: int, height: int, fill: int) -> NDArray[np.int32]:
    member_count = len(tree_parents(degree, height, fill))
    return np.random.default_rng(1).integers(0, 1000, (member_count, member_count), dtype=np.int32)


def _destinations(step_count: int, member_count: int = 200) -> NDArray[np.int64]:
    offsets = np.random.default_rng(7).integers(1, member_count, (step_count, member_count, 3))
    return (offsets + np.arange(member_count)[:, None]) % member_count


def _print(name: str, result: StabilityResult | UnicastResult) -> None:
    total = sum(result.hops.values())
    kinds = " ".join(f"{kind}={count}" for kind, count in sorted(result.hops.items()))
    print(f"{name:<28} {result.completion_ps:>18} {total / result.wall_s:>10.0f}  {kinds}")


def main() -> None:
    print(f"{'scenario':<28} {'completion_ps':>18} {'hops/s':>10}  hops")
    for costs, label in ((LAN, "lan"), (LINKS_ONLY, "links-only")):
        for tree in ((2, 3, 2), (3, 3, 2), (3, 3, 3)):
            name = "/".join(map(str, tree))
            _print(f"coordp {name} {label}", run_coordp(*tree, 2, _arrays(*tree), costs=costs))
            _print(f"fulldist {name} {label}", run_fulldist(*tree, _arrays(*tree), costs=costs))
    _print("unicast 200, 5 steps", run_unicast(_destinations(5)))


if __name__ == "__main__":
    main()
