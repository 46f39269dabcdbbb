import numpy as np
import pyarrow as pa
import pytest

from stablecast.report.analysis_gather import TOGETHER, Places, first_rows, gather, integers


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    n = 500
    group = [f"g{k}" for k in rng.integers(0, 3, n)]
    seq = [None if k % 11 == 0 else int(k) for k in rng.integers(0, 100, n)]
    return pa.table({"group": group, "name": [f"n{k}" for k in rng.integers(0, 4, n)], "seq": pa.array(seq)})


def batches(rows, size):
    return [rows.slice(k, size) for k in range(0, rows.num_rows, size)]


@pytest.mark.parametrize("size", [3, 50, 1000])
def test_groups_over_batches_are_groups_over_all(rows, size):
    assert TOGETHER < 500 / 3
    made = {"count": ("seq", "count"), "low": ("seq", "min"), "high": ("seq", "max"), "sum": ("seq", "sum")}
    found = gather(batches(rows, size), ("group", "name"), made).to_pylist()
    frame = rows.to_pandas().groupby(["group", "name"])["seq"]
    expected = frame.agg(["count", "min", "max", "sum"])
    assert len(found) == len(expected)
    for row in found:
        assert [row["count"], row["low"], row["high"], row["sum"]] == list(
            expected.loc[row["group"], row["name"]]
        )


def test_groups_of_nothing():
    assert gather([], ("group",), {"count": ("seq", "count")}) is None
    assert first_rows([], [("seq", "ascending")], 3) is None


@pytest.mark.parametrize("size", [3, 50, 1000])
def test_the_first_rows_are_the_same_in_whatever_batches(rows, size):
    order = [("seq", "descending"), ("group", "ascending"), ("name", "ascending")]
    found = first_rows(batches(rows, size), order, 20)
    expected = rows.sort_by(order).slice(0, 20)
    assert found.select(["seq", "group", "name"]) == expected.select(["seq", "group", "name"])


def test_places_find_the_rows_of_some_pairs(rows):
    pairs = [("g1", "n3"), ("g0", "n0"), ("g9", "n0")]
    place = Places(pairs, "name").of(rows)
    expected = [
        pairs.index(pair) if (pair := (row["group"], row["name"])) in pairs else -1
        for row in rows.to_pylist()
    ]
    assert place.tolist() == expected
    assert set(expected) == {-1, 0, 1}
    kept = Places(pairs, "name").add_to(rows)
    assert kept.num_rows == sum(k >= 0 for k in expected)


def test_no_pairs_have_no_rows(rows):
    assert Places([], "name").add_to(rows).num_rows == 0


def test_nulls_become_a_number():
    assert integers(pa.chunked_array([[1, None], [3]]), null=-7).tolist() == [1, -7, 3]
