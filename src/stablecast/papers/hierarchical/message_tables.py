"""Tables 1 to 4 and Figures 6 and 7: messages and rounds as printed, derived and simulated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from stablecast.overlays import Tree, complete_tree
from stablecast.papers.growth import growth_order
from stablecast.papers.hierarchical.theory import (
    PAPER_TABLE_1,
    PAPER_TABLE_3,
    PROTOCOLS,
    hops,
    processed,
    rounds,
)
from stablecast.papers.hierarchical.trees import (
    BASIC,
    PAIRS,
    STRUCTURED,
    Shape,
    run_on,
    shapes,
)
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.figure import Axis, Figure, Panel, Series
from stablecast.report.table import Table
from stablecast.simulate import simulate
from stablecast.simulate.options import Options
from stablecast.theory import group_size

SHAPE: Shape = (3, 5, 3)
GROWING: tuple[Shape, ...] = tuple((3, height, 3) for height in range(2, 7))
ROLES_TASK = f"{__name__}:run_by_role"
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


def by_role(protocol: str, shape: Shape) -> Point:
    """Return the run that also tells how many messages members of each role processed."""
    degree, height, fill = shape
    return task_point(ROLES_TASK, protocol=protocol, degree=degree, height=height, fill=fill)


def run_by_role(protocol: str, degree: int, height: int, fill: int) -> Outcome:
    """Run one execution; for each role and each number of messages processed, count the members."""
    options = Options(
        protocol=protocol,
        degree=degree,
        height=height,
        fill=fill,
        tracked=min(16, group_size(degree, height, fill)),
    )
    result = simulate(options.setup())
    extra = {"first": float(result.processed[0]), "others_max": float(result.processed[1:].max())}
    for role, chosen in roles(protocol, complete_tree(degree, height, fill=fill)).items():
        for value, count in zip(*np.unique(result.processed[chosen], return_counts=True), strict=True):
            extra[f"{role}={value}"] = float(count)
    return Outcome(result, extra)


def points(full: bool) -> list[Point]:
    """Return the runs beyond those on the trees of Table 3."""
    return [by_role(protocol, shape) for protocol in PROTOCOLS for shape in (SHAPE, *GROWING)]


def roles(protocol: str, tree: Tree) -> dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Tell which members play which role in a protocol."""
    root = np.arange(tree.size) == 0
    leaf = (tree.child_count == 0) & ~root
    if protocol == "coordp":
        return {"coord": root, "other": ~root}
    if protocol in ("fulldist", "train"):
        return {"member": np.ones(tree.size, np.bool_)}
    return {"root": root, "internal": ~root & ~leaf, "leaf": leaf}


def _seen(extra: dict[str, float], role: str) -> tuple[int, ...]:
    """Return the numbers of messages that members of a role processed."""
    return tuple(sorted(int(key.split("=")[1]) for key in extra if key.startswith(f"{role}=")))


def table_1(runs: Runs) -> Table:
    """Table 1: rounds, and messages processed for each role."""
    rows: list[tuple[Any, ...]] = []
    for protocol in PROTOCOLS:
        run = runs[by_role(protocol, SHAPE)]
        expected = rounds(protocol, *SHAPE)
        rows.append((protocol, "rounds", _printed(protocol, "rounds"), str(expected), str(run.result.rounds)))
        for role, values in processed(protocol, *SHAPE).items():
            seen = _seen(run.extra, role)
            rows.append((protocol, role, _printed(protocol, role), _either(values), _either(seen)))
    return Table(
        key="table1",
        title=f"Table 1: rounds and messages processed (tree {'/'.join(map(str, SHAPE))},"
        f" n = {group_size(*SHAPE)})",
        columns=("protocol", "what", "paper", "theory", "simulated"),
        rows=tuple(rows),
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


def table_2(runs: Runs) -> Table:
    """Table 2: how rounds and processed messages grow, read off simulations of growing trees."""
    rows = []
    sizes = [group_size(*shape) for shape in GROWING]
    for protocol in PROTOCOLS:
        done = [runs[by_role(protocol, shape)] for shape in GROWING]
        measured: dict[str, list[float]] = {
            "rounds": [run.result.rounds for run in done],
            "processed, first member": [run.extra["first"] for run in done],
            "processed, others": [run.extra["others_max"] for run in done],
        }
        theory = {
            "rounds": [rounds(protocol, *shape) for shape in GROWING],
            "processed, first member": [_role_max(protocol, shape, first=True) for shape in GROWING],
            "processed, others": [_role_max(protocol, shape, first=False) for shape in GROWING],
        }
        for what, printed in PAPER_TABLE_2[protocol].items():
            orders = growth_order(sizes, theory[what]), growth_order(sizes, measured[what])
            rows.append((protocol, what, printed, *orders))
    return Table(
        key="table2",
        title="Table 2: complexity",
        columns=("protocol", "what", "paper", "theory", "simulated"),
        rows=tuple(rows),
        note=f"Orders fitted to {len(GROWING)} trees of degree 3, n = {sizes[0]} to {sizes[-1]}.",
    )


def _role_max(protocol: str, shape: tuple[int, int, int], *, first: bool) -> int:
    values = processed(protocol, *shape)
    firsts = [role for role in values if role in ("coord", "root", "member")]
    others = [role for role in values if role not in ("coord", "root")]
    return max(max(values[role]) for role in (firsts if first else others) if values[role])


def table_3(runs: Runs) -> Table:
    """Table 3: group sizes of the trees of height 5."""
    rows = []
    for (degree, fill), printed in PAPER_TABLE_3.items():
        shape = (degree, 5, fill)
        built = run_on(runs, "s_coordp", shape).result.members
        rows.append((degree, fill, printed, group_size(*shape), built))
    return Table(
        key="table3",
        title="Table 3: group sizes (height 5)",
        columns=("b", "z", "paper", "theory", "simulated"),
        rows=tuple(rows),
    )


def table_4(runs: Runs) -> Table:
    """Table 4: messages on all hops, each type on its own row, for every tree of Table 3."""
    rows: list[tuple[Any, ...]] = []
    for protocol in PROTOCOLS:
        for shape in shapes():
            expected, measured = hops(protocol, *shape), run_on(runs, protocol, shape).result.hops
            label = "/".join(map(str, shape))
            for kind, (text, value) in PRINTED_HOPS[protocol].items():
                paper = value(symbols(*shape))
                printed = text if text.isdigit() else f"{text} = {paper}"
                rows.append((protocol, label, kind, printed, str(expected[kind]), str(measured[kind])))
        sizes = [group_size(*shape) for shape in GROWING]
        theory = growth_order(sizes, [hops(protocol, *shape)["total"] for shape in GROWING])
        grown = [runs[by_role(protocol, shape)].result.hops["total"] for shape in GROWING]
        order = growth_order(sizes, grown)
        rows.append((protocol, "growing", "total", PAPER_TABLE_4_ORDER[protocol], theory, order))
    return Table(
        key="table4",
        title="Table 4: messages on all hops",
        columns=("protocol", "b/p/z", "type", "paper", "theory", "simulated"),
        rows=tuple(rows),
    )


TABLES = (table_1, table_2, table_3, table_4)


def _equal_rows(rows: list[tuple[Any, ...]], *, printed: bool) -> tuple[int, str]:
    """Count the rows whose last columns agree: theory and simulation, and the printed value where asked."""
    wrong = [
        row
        for row in rows
        if row[-1] != row[-2] or (printed and str(row[-3]).split(" = ")[-1] != str(row[-1]))
    ]
    return len(rows) - len(wrong), f"; differs: {wrong[0]}" if wrong else ""


def _judged(rows: list[tuple[Any, ...]], *, paper: str, what: str, printed: bool = False) -> Judgement:
    equal, differs = _equal_rows(rows, printed=printed)
    return Judgement(
        paper=paper,
        measured=f"{equal} of {len(rows)} equal",
        holds=equal == len(rows),
        why=f"{what}: {'printed, derived and simulated alike' if equal == len(rows) else 'not all'}{differs}",
    )


def judge_rounds(runs: Runs) -> Judgement:
    """H1."""
    rows = [row for row in table_1(runs).rows if row[1] == "rounds"]
    rows += [row for row in table_2(runs).rows if row[1] == "rounds"]
    return _judged(rows, paper="3, 2, 2n, p+2, bp+2", what="rounds and their orders", printed=True)


def judge_processed(runs: Runs) -> Judgement:
    """H2."""
    rows = [row for row in table_1(runs).rows if row[1] != "rounds"]
    rows += [row for row in table_2(runs).rows if row[1] != "rounds"]
    return _judged(rows, paper="Table 1, each role", what="messages processed and their orders", printed=True)


def judge_sizes(runs: Runs) -> Judgement:
    """H3."""
    return _judged(list(table_3(runs).rows), paper="nine sizes", what="group sizes", printed=True)


def judge_hops(runs: Runs) -> Judgement:
    """H4."""
    return _judged(
        list(table_4(runs).rows),
        paper="Table 4, each type",
        what="every message type on every tree of Table 3, and the orders of growth",
        printed=True,
    )


CLAIMS = (
    Claim(
        id="H1",
        kind="exact",
        text="CoordP takes 3 rounds, FullDist 2, Train 2n, S_CoordP p+2 and S_Train bp+2.",
        judge=judge_rounds,
    ),
    Claim(
        id="H2",
        kind="exact",
        text="Messages that a member of each role processes, and how they grow with n.",
        judge=judge_processed,
    ),
    Claim(id="H3", kind="exact", text="Sizes of the groups that are simulated.", judge=judge_sizes),
    Claim(
        id="H4",
        kind="exact",
        text="Messages on all hops of the network, of each type, for each protocol.",
        judge=judge_hops,
    ),
)


def _hops_series(runs: Runs, protocol: str) -> Series:
    done = [run_on(runs, protocol, shape).result for shape in shapes()]
    return Series(
        name=protocol,
        x=tuple(float(result.members) for result in done),
        y=tuple(float(result.hops["total"]) for result in done),
        hover=tuple(
            ", ".join(f"{kind} {count:,}" for kind, count in result.hops.items() if kind != "total")
            for result in done
        ),
    )


def _hops_panel(runs: Runs, title: str, protocols: tuple[str, ...], *, log: bool) -> Panel:
    return Panel(
        title=title,
        x=Axis("members n"),
        y=Axis("messages on all hops", log=log),
        series=tuple(_hops_series(runs, protocol) for protocol in protocols),
    )


def figure_6(runs: Runs) -> Figure:
    """Figure 6: all protocols."""
    return Figure(
        key="figure6",
        title="Figure 6: total number of messages on all hops",
        caption="One execution on the trees of Table 3 (height 5). FullDist grows with n² and leaves all"
        " others behind; the structured protocols are linear in n.",
        panels=(_hops_panel(runs, "the five protocols", (*BASIC, *STRUCTURED), log=True),),
    )


def figure_7(runs: Runs) -> Figure:
    """Figure 7: each basic protocol beside its structured one."""
    return Figure(
        key="figure7",
        title="Figure 7: messages on all hops, each basic protocol and its structured one",
        caption="What following the tree saves: a factor that grows with log n for CoordP, with n for"
        " FullDist, and a constant one for Train.",
        panels=tuple(
            _hops_panel(runs, f"({letter}) {' and '.join(pair)}", pair, log=True)
            for letter, pair in zip("ABC", PAIRS, strict=True)
        ),
    )


FIGURES = (figure_6, figure_7)
