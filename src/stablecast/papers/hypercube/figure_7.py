"""Section 3.4: the paper's comparison by analysis, Figure 7, measured (C8).

Figure 7 gives for each protocol the order of its iterations, of the messages of one node and of all messages,
and says whether it is robust to failures.  Here each order is read off the runs of all sizes.

- Iterations are the messages in the longest chain in which each is sent on receipt of the one before.
- The messages of a node are those that the busiest member sends and receives: Figure 7 names the
  coordinator's and not the mean, which is O(1) for it too.
- An order is an upper bound: it is met unless a higher one fits the measurements better.
- A protocol is robust if a round under way ends whoever crashes, once the others are told, without further
  messages: successors and rebuilt trees are ours.  (Before the round, fulldist waits for its first member,
  cubefulldist for nobody: see the table of stalls.)

The order of cubefulldist's messages in all is lost in the text at hand; section 4.2.3 has it (C5f).  Whether
code is regular is not measured.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from stablecast.papers.curves import with_interval
from stablecast.papers.hypercube import stalls
from stablecast.papers.hypercube.grid import MESSAGES, PROTOCOLS, Index, Sample, curve
from stablecast.papers.hypercube.orders import COUNTS, best_order, rather
from stablecast.papers.paper import Claim, Judgement, judged
from stablecast.papers.statistics import Comparison, exactly
from stablecast.pipeline.runs import Runs
from stablecast.report.table import Table

ITERATIONS = Index("iterations", "", lambda result: float(result.rounds))
OF_A_NODE = Index("messages of the busiest node", "", lambda result: float(result.processed_max))
PRINTED: dict[str, tuple[Index, dict[str, str]]] = {
    ITERATIONS.name: (
        ITERATIONS,
        {"s_coord": "log n", "coord": "1", "fulldist": "1", "cubefulldist": "log n"},
    ),
    OF_A_NODE.name: (
        OF_A_NODE,
        {"s_coord": "1", "coord": "n", "fulldist": "n", "cubefulldist": "log n"},
    ),
    "messages in all": (MESSAGES, {"s_coord": "n", "coord": "n", "fulldist": "n²"}),
}
"""What Figure 7 prints, by quantity: the index that measures it, and the order for each protocol."""
ROBUST = {"s_coord": False, "coord": False, "fulldist": True, "cubefulldist": True}


class Cell(NamedTuple):
    """An order that Figure 7 prints, and the runs that measure it."""

    quantity: str
    protocol: str
    printed: str
    measure: Index
    samples: list[Sample]

    @property
    def comparison(self) -> Comparison | None:
        """Whether an order up to the printed one fits as well as any higher one; None for the highest."""
        place = COUNTS.index(self.printed) + 1
        if place == len(COUNTS):
            return None
        what = f"{self.protocol}'s {self.quantity}: misfit of {self.printed} or less minus that of more"
        return rather(what, self.samples, self.measure, COUNTS[:place], COUNTS[place:])

    @property
    def agrees(self) -> bool:
        """Whether the printed order is met."""
        compared = self.comparison
        return compared is None or compared.holds


def cells(runs: Runs) -> list[Cell]:
    """Return all orders that Figure 7 prints."""
    known = {protocol: curve(runs, protocol) for protocol in PROTOCOLS}
    return [
        Cell(quantity, protocol, printed, index, known[protocol])
        for quantity, (index, orders) in PRINTED.items()
        for protocol, printed in orders.items()
    ]


def figure_7(runs: Runs) -> Table:
    """Figure 7, printed and measured."""
    rows: list[tuple[Any, ...]] = []
    for cell in cells(runs):
        least, most = cell.samples[0], cell.samples[-1]
        found = best_order(cell.samples, cell.measure)
        rows.append(
            (
                *(cell.quantity, cell.protocol, f"O({cell.printed})", f"O({found})"),
                "yes" if cell.agrees else "no",
                *(least.members, with_interval(least.estimate(cell.measure))[0]),
                *(most.members, *with_interval(most.estimate(cell.measure))),
            )
        )
    for protocol, robust in ROBUST.items():
        found_robust = stalls.survives(runs, protocol)
        told = ["yes" if each else "no" for each in (robust, found_robust, robust == found_robust)]
        rows.append(("robust to failures", protocol, *told, *[None] * 5))
    return Table(
        key="figure7",
        title="Figure 7: the protocols by analysis and as measured",
        columns=(
            "quantity",
            "protocol",
            "paper",
            "measured",
            "agrees",
            "least n",
            "there",
            "most n",
            "there",
            "±",
        ),
        rows=tuple(rows),
        note="Measured: the order that fits best over all sizes; it agrees with a printed order that is not"
        f" lower. Robust: a round under way ends whoever of {stalls.MEMBERS} members crashes, once the others"
        " are told.",
    )


TABLES = (figure_7,)


def judge_figure_7(runs: Runs) -> Judgement:
    """C8."""
    known = cells(runs)
    robust = {protocol: stalls.survives(runs, protocol) for protocol in ROBUST}
    comparisons = [each for cell in known if (each := cell.comparison) is not None]
    comparisons += [
        Comparison(what=f"{protocol}'s robustness", found=exactly(robust[protocol] == printed), least=1)
        for protocol, printed in ROBUST.items()
    ]
    differing = [
        f"{cell.protocol}'s {cell.quantity} O({best_order(cell.samples, cell.measure)}), not"
        f" O({cell.printed})"
        for cell in known
        if not cell.agrees
    ]
    differing += [f"{name}'s robustness" for name, printed in ROBUST.items() if robust[name] != printed]
    count = len(known) + len(ROBUST)
    least, most = known[0].samples[0].members, known[0].samples[-1].members
    return judged(
        comparisons,
        paper="iterations, messages of a node, messages in all, robustness: see Figure 7",
        measured=f"{count - len(differing)} of {count} cells as printed;"
        f" {'; '.join(differing) or 'none differs'}",
        why=f"orders of growth from n = {least} to {most} (fulldist to 400), an order being an upper bound;"
        " robust is a protocol whose round under way ends whoever crashes, once the others are told, without"
        " further messages",
    )


CLAIMS = (
    Claim(
        id="C8",
        kind="trend",
        text="Figure 7: iterations are O(log n) for s_coord and cubefulldist and O(1) for coord and fulldist;"
        " messages of a node O(1) for s_coord, O(n) for coord's coordinator and fulldist, O(log n) for"
        " cubefulldist; in all O(n), O(n) and O(n²) for s_coord, coord and fulldist; fulldist and"
        " cubefulldist are robust to failures, the others are not.",
        judge=judge_figure_7,
    ),
)
