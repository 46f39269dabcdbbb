"""Tables 1 to 4: rounds, messages processed, group sizes and hops, as printed, derived and simulated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from stablecast.overlays import Tree, complete_tree
from stablecast.pipeline.experiments.growth import growth_order
from stablecast.pipeline.experiments.table import Table
from stablecast.simulate import Result, Setup, simulate, topology
from stablecast.theory import (
    PAPER_TABLE_1,
    PAPER_TABLE_3,
    PROTOCOLS,
    group_size,
    hops,
    processed,
    rounds,
)

HEIGHT = 5
SHAPE = (3, HEIGHT, 3)
PAPER_TABLE_2 = {
    "coordp": {"rounds": "O(1)", "processed, first member": "O(n)", "processed, others": "O(1)"},
    "fulldist": {"rounds": "O(1)", "processed, first member": "O(n)", "processed, others": "O(n)"},
    "train": {"rounds": "O(n)", "processed, first member": "O(1)", "processed, others": "O(1)"},
    "s_coordp": {"rounds": "O(log n)", "processed, first member": "O(1)", "processed, others": "O(1)"},
    "s_train": {"rounds": "O(log n)", "processed, first member": "O(1)", "processed, others": "O(1)"},
}
PAPER_TABLE_4_ORDER = {
    "coordp": "O(n log n)",
    "fulldist": "O(n^2)",
    "train": "O(n)",
    "s_coordp": "O(n)",
    "s_train": "O(n)",
}


class Symbols(NamedTuple):
    """What the paper prints for a tree: the group size, and F_a (by its sum), F_d and F_g."""

    n: Fraction
    f_a: Fraction
    f_d: Fraction
    f_g: Fraction


Printed = tuple[str, Callable[[Symbols], Fraction | int]]
_TO_ALL: Printed = ("n-1", lambda s: s.n - 1)
_NONE: Printed = ("0", lambda s: 0)
PRINTED_HOPS: dict[str, dict[str, Printed]] = {
    "coordp": {
        "START": _TO_ALL,
        "ACK": ("F_a", lambda s: s.f_a),
        "INFO": _TO_ALL,
        "total": ("F_a+2n-2", lambda s: s.f_a + 2 * s.n - 2),
    },
    "fulldist": {
        "START": _NONE,
        "ACK": _NONE,
        "INFO": ("n(n-1)", lambda s: s.n * (s.n - 1)),
        "total": ("n(n-1)", lambda s: s.n * (s.n - 1)),
    },
    "train": {
        "START": ("1", lambda s: 1),
        "ACK": ("F_d-1", lambda s: s.f_d - 1),
        "INFO": ("F_d", lambda s: s.f_d),
        "total": ("2F_d", lambda s: 2 * s.f_d),
    },
    "s_coordp": {
        "START": _TO_ALL,
        "ACK": _TO_ALL,
        "INFO": _TO_ALL,
        "total": ("3(n-1)", lambda s: 3 * (s.n - 1)),
    },
    "s_train": {
        "START": _TO_ALL,
        "ACK": ("F_g", lambda s: s.f_g),
        "INFO": _TO_ALL,
        "total": ("F_g+2n-2", lambda s: s.f_g + 2 * s.n - 2),
    },
}


def symbols(b: int, p: int, z: int) -> Symbols:
    """Evaluate the printed formulas on a tree of degree b > 1."""
    bottom = b ** (p - 1)
    f_d = 2 * (
        Fraction(b**2 * (bottom - 1), (b - 1) ** 2)
        - Fraction(b * (p - 1), b - 1)
        - Fraction((p - 1) * (p - 2), 2)
    ) + (2 + 2 * z * bottom + Fraction(2 * b * (bottom - 1), b - 1) - 2 * p)
    return Symbols(
        n=Fraction(b**p - 1, b - 1) + z * bottom,
        f_a=Fraction(sum(k * b**k for k in range(p)) + p * z * bottom),
        f_d=f_d,
        f_g=Fraction((2 * (b - 1) + 1) * sum(b**k for k in range(p - 1)) + (2 * (z - 1) + 1) * bottom),
    )


@cache
def run(protocol: str, degree: int, height: int, fill: int) -> Result:
    """Run one execution on a tree; hops and counts do not depend on the costs."""
    shape = topology("tree", degree=degree, height=height, fill=fill)
    return simulate(Setup(protocol=protocol, topology=shape, tracked=min(16, shape.member_count)))


def roles(protocol: str, tree: Tree) -> dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Tell which members play which role in a protocol."""
    root = np.arange(tree.size) == 0
    leaf = (tree.child_count == 0) & ~root
    if protocol == "coordp":
        return {"coord": root, "other": ~root}
    if protocol in ("fulldist", "train"):
        return {"member": np.ones(tree.size, np.bool_)}
    return {"root": root, "internal": ~root & ~leaf, "leaf": leaf}


def complexity() -> Table:
    """Table 1: rounds, and messages processed for each role."""
    tree = complete_tree(SHAPE[0], SHAPE[1], fill=SHAPE[2])
    rows: list[tuple[object, ...]] = []
    holds = {"H1": True, "H2": True}
    for protocol in PROTOCOLS:
        result = run(protocol, *SHAPE)
        expected = rounds(protocol, *SHAPE)
        rows.append((protocol, "rounds", _printed(protocol, "rounds"), expected, result.rounds))
        holds["H1"] &= expected == result.rounds
        for role, values in processed(protocol, *SHAPE).items():
            seen = tuple(sorted({int(v) for v in result.processed[roles(protocol, tree)[role]]}))
            rows.append((protocol, role, _printed(protocol, role), _either(values), _either(seen)))
            holds["H2"] &= seen == values
    why = "theory and simulation agree in every row" if all(holds.values()) else "a row differs"
    return Table(
        key="table1",
        title=f"Table 1: rounds and messages processed (tree {'/'.join(map(str, SHAPE))}, n = {tree.size})",
        columns=("protocol", "what", "paper", "theory", "simulated"),
        rows=rows,
        verdicts={claim: (value, why) for claim, value in holds.items()},
        exact=True,
    )


def _printed(protocol: str, what: str) -> str:
    """Return an entry of Table 1 with its value on the tree at hand."""
    degree, height, _ = SHAPE
    n = group_size(*SHAPE)
    values = {
        "n + 3": n + 3,
        "n + 1": n + 1,
        "2n": 2 * n,
        "p + 2": height + 2,
        "b + 4": degree + 4,
        "b + 3": degree + 3,
        "bp + 2": degree * height + 2,
    }
    text = PAPER_TABLE_1[protocol][what]
    return f"{text} = {values[text]}" if text in values else text


def _either(values: tuple[int, ...]) -> str:
    return " or ".join(map(str, values))


def complexity_orders() -> Table:
    """Table 2: how rounds and processed messages grow, read off simulations of growing trees."""
    rows = []
    shapes = [(3, height, 3) for height in range(2, 7)]
    sizes = [group_size(*shape) for shape in shapes]
    for protocol in PROTOCOLS:
        results = [run(protocol, *shape) for shape in shapes]
        measured = {
            "rounds": [result.rounds for result in results],
            "processed, first member": [int(result.processed[0]) for result in results],
            "processed, others": [int(result.processed[1:].max()) for result in results],
        }
        theory = {
            "rounds": [rounds(protocol, *shape) for shape in shapes],
            "processed, first member": [_role_max(protocol, shape, first=True) for shape in shapes],
            "processed, others": [_role_max(protocol, shape, first=False) for shape in shapes],
        }
        for what, printed in PAPER_TABLE_2[protocol].items():
            rows.append(
                (
                    protocol,
                    what,
                    printed,
                    growth_order(sizes, theory[what]),
                    growth_order(sizes, measured[what]),
                )
            )
    agree = all(row[2] == row[3] == row[4] for row in rows)
    why = f"orders fitted to {len(shapes)} trees of degree 3, n = {sizes[0]} to {sizes[-1]}"
    return Table(
        key="table2",
        title="Table 2: complexity",
        columns=("protocol", "what", "paper", "theory", "simulated"),
        rows=rows,
        verdicts={"H1-H2": (agree, why)},
        exact=True,
    )


def _role_max(protocol: str, shape: tuple[int, int, int], *, first: bool) -> int:
    values = processed(protocol, *shape)
    firsts = [role for role in values if role in ("coord", "root", "member")]
    others = [role for role in values if role not in ("coord", "root")]
    return max(max(values[role]) for role in (firsts if first else others) if values[role])


def group_sizes() -> Table:
    """Table 3: group sizes of the trees of height 5."""
    rows = []
    for (degree, fill), printed in PAPER_TABLE_3.items():
        built = topology("tree", degree=degree, height=HEIGHT, fill=fill).member_count
        rows.append((degree, fill, printed, group_size(degree, HEIGHT, fill), built))
    agree = all(row[2] == row[3] == row[4] for row in rows)
    return Table(
        key="table3",
        title="Table 3: group sizes (height 5)",
        columns=("b", "z", "paper", "theory", "simulated"),
        rows=rows,
        verdicts={"H3": (agree, "all nine sizes")},
        exact=True,
    )


def hop_counts() -> Table:
    """Table 4: messages on all hops, each type on its own row, for every tree of Table 3."""
    rows: list[tuple[object, ...]] = []
    agree = True
    for protocol in PROTOCOLS:
        for degree, fill in PAPER_TABLE_3:
            shape = (degree, HEIGHT, fill)
            expected, measured = hops(protocol, *shape), run(protocol, *shape).hops
            for kind, (text, value) in PRINTED_HOPS[protocol].items():
                paper = value(symbols(*shape))
                agree &= paper == expected[kind] == measured[kind]
                printed = text if text.isdigit() else f"{text} = {paper}"
                rows.append(
                    (protocol, "/".join(map(str, shape)), kind, printed, expected[kind], measured[kind])
                )
        shapes = [(3, height, 3) for height in range(2, 7)]
        sizes = [group_size(*shape) for shape in shapes]
        grown = [run(protocol, *shape).hops["total"] for shape in shapes]
        theory = growth_order(sizes, [hops(protocol, *shape)["total"] for shape in shapes])
        order = growth_order(sizes, grown)
        rows.append((protocol, "growing", "total", PAPER_TABLE_4_ORDER[protocol], theory, order))
        agree &= PAPER_TABLE_4_ORDER[protocol] == theory == order
    return Table(
        key="table4",
        title="Table 4: messages on all hops",
        columns=("protocol", "b/p/z", "type", "paper", "theory", "simulated"),
        rows=rows,
        verdicts={"H4": (agree, "every type, on every tree of Table 3")},
        exact=True,
    )
