"""The hierarchical paper's tables come out equal; the judgements can also come out otherwise."""

import pytest

from stablecast.pipeline.experiments import hierarchical
from stablecast.pipeline.experiments.growth import growth_order
from stablecast.pipeline.experiments.table import Table


@pytest.mark.parametrize(
    "make",
    [
        hierarchical.complexity,
        hierarchical.complexity_orders,
        hierarchical.group_sizes,
        hierarchical.trigger_on_network,
        hierarchical.trigger_model,
        hierarchical.time_to_stable,
    ],
)
def test_an_exact_table_holds(make):
    table = make()
    assert table.exact
    assert table.verdicts
    assert all(holds for holds, _ in table.verdicts.values()), table.verdicts
    assert not table.failed
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_a_missed_exact_claim_fails_its_table():
    missed = Table("key", "title", ("a",), [(1,)], verdicts={"X": (False, "because")}, exact=True)
    assert missed.failed
    assert missed.as_json()["verdicts"] == {"X": {"holds": False, "why": "because"}}


@pytest.mark.parametrize(
    ("order", "value"),
    [
        ("O(1)", lambda n: 7),
        ("O(n)", lambda n: 3 * n + 4),
        ("O(n^2)", lambda n: n * (n - 1)),
    ],
)
def test_growth_is_recognised(order, value):
    sizes = [13, 40, 121, 364, 1093]
    assert growth_order(sizes, [value(n) for n in sizes]) == order


def test_techniques_save_bytes_where_they_should():
    rows = hierarchical.techniques().rows
    cost = {(row[0], row[1]): row[2] for row in rows}
    for protocol in ("coordp", "fulldist", "train", "s_coordp", "s_train"):
        assert cost[protocol, "one sequence for all"] < cost[protocol, "senders in 4 groups"]
        assert cost[protocol, "senders in 4 groups"] < cost[protocol, "none"]
        assert cost[protocol, "changed entries only"] < cost[protocol, "none"]
