import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_tree import Tree, one_execution

from stablecast.errors import StablecastError
from stablecast.papers.hierarchical import theory
from stablecast.theory.trees import random_tree_level_probabilities

SMALL_TREES = [(b, p, z) for b in range(1, 6) for p in range(1, 6) for z in range(1, b + 1)]
TINY_TREES = [(b, p, z) for b, p, z in SMALL_TREES if b**p <= 260]


@st.composite
def trees(draw: st.DrawFn, lowest_degree: int = 1) -> tuple[int, int, int]:
    degree = draw(st.integers(lowest_degree, 40))
    return degree, draw(st.integers(1, 30)), draw(st.integers(1, degree))


def walked_ring(tree: Tree) -> int:
    ring = tree.tour()
    return sum(tree.distance(a, b) for a, b in zip(ring, ring[1:] + ring[:1], strict=True))


def printed_ring(b: int, p: int, z: int) -> Fraction:
    power = int(b ** (p - 1)) - 1
    inner = (
        Fraction(b * b * power, (b - 1) ** 2) - Fraction(b * (p - 1), b - 1) - Fraction((p - 1) * (p - 2), 2)
    )
    return 2 * inner + 2 + 2 * z * (power + 1) + Fraction(2 * b * power, b - 1) - 2 * p


def role_of(protocol: str, tree: Tree, node: int) -> str:
    if protocol == "coordp":
        return "other" if node else "coord"
    return tree.role(node) if protocol.startswith("s_") else "member"


def processed_by_role(protocol: str, tree: Tree) -> dict[str, tuple[int, ...]]:
    handled: Counter[int] = Counter()
    for message in one_execution(protocol, tree):
        handled.update([message.source, *message.receivers])
    values: dict[str, set[int]] = {}
    for node in range(tree.size):
        values.setdefault(role_of(protocol, tree, node), set()).add(handled[node])
    return {role: tuple(sorted(counts)) for role, counts in values.items()}


# Group size


@pytest.mark.parametrize(("shape", "members"), theory.PAPER_TABLE_3.items())
def test_group_sizes_are_those_of_table_3(shape: tuple[int, int], members: int) -> None:
    assert theory.group_size(shape[0], 5, shape[1]) == members


@pytest.mark.parametrize("shape", SMALL_TREES)
def test_group_size_counts_the_nodes_of_the_tree(shape: tuple[int, int, int]) -> None:
    assert theory.group_size(*shape) == Tree(*shape).size


def test_a_tree_of_degree_one_is_a_chain() -> None:
    assert theory.group_size(1, 7, 1) == 8


# Hops


@given(trees())
def test_ack_hops_of_coordp_equal_the_sum_over_depths(shape: tuple[int, int, int]) -> None:
    b, p, z = shape
    assert theory.ack_hops_coordp(b, p, z) == sum(k * b**k for k in range(p)) + p * z * b ** (p - 1)


@given(trees(lowest_degree=2))
def test_printed_ack_hops_of_coordp_are_right_only_at_height_one(shape: tuple[int, int, int]) -> None:
    b, p, _ = shape
    surplus = theory.printed_ack_hops_coordp(*shape) - theory.ack_hops_coordp(*shape)
    assert surplus == Fraction((p - 1) ** 2 * b**p, b - 1)


def test_printed_ack_hops_of_coordp_are_not_even_whole_on_the_largest_tree_of_table_3() -> None:
    assert theory.ack_hops_coordp(4, 5, 4) == 6372
    assert theory.printed_ack_hops_coordp(4, 5, 4) == Fraction(35500, 3)


def test_printed_ack_hops_of_coordp_have_no_value_on_a_chain() -> None:
    with pytest.raises(ValueError, match="undefined at degree 1"):
        theory.printed_ack_hops_coordp(1, 3, 1)


@pytest.mark.parametrize("shape", SMALL_TREES)
def test_ring_hops_are_those_of_a_walk_through_the_tree(shape: tuple[int, int, int]) -> None:
    assert theory.ring_hops(*shape) == walked_ring(Tree(*shape))


@given(trees(lowest_degree=2))
def test_the_printed_ring_hops_are_right_for_degrees_above_one(shape: tuple[int, int, int]) -> None:
    assert theory.ring_hops(*shape) == printed_ring(*shape)


@given(st.integers(1, 1000))
def test_the_ring_on_a_chain_goes_down_and_back(height: int) -> None:
    assert theory.ring_hops(1, height, 1) == 2 * height


def test_numbering_every_level_from_the_left_makes_the_ring_longer() -> None:
    tree = Tree(3, 3, 3)
    tree.tour = lambda: list(range(tree.size))  # type: ignore[method-assign]
    assert walked_ring(tree) > theory.ring_hops(3, 3, 3)


@given(trees())
def test_ack_hops_of_s_train_equal_the_displayed_sum(shape: tuple[int, int, int]) -> None:
    b, p, z = shape
    displayed = (2 * (b - 1) + 1) * sum(b**k for k in range(p - 1)) + (2 * (z - 1) + 1) * b ** (p - 1)
    assert theory.ack_hops_s_train(b, p, z) == displayed


@given(trees())
def test_the_text_of_s_train_misses_the_subgroup_under_the_root(shape: tuple[int, int, int]) -> None:
    b, p, z = shape
    text = (2 * b - 1) * sum(b**k for k in range(1, p - 1)) + (2 * z - 1) * b ** (p - 1)
    assert theory.printed_text_ack_hops_s_train(b, p, z) == text
    assert theory.ack_hops_s_train(b, p, z) - text == (2 * b - 1 if p > 1 else 0)


@pytest.mark.parametrize("shape", TINY_TREES)
@pytest.mark.parametrize("protocol", theory.PROTOCOLS)
def test_hops_by_type_are_those_of_every_message_sent(protocol: str, shape: tuple[int, int, int]) -> None:
    sent: Counter[str] = Counter()
    for message in one_execution(protocol, Tree(*shape)):
        sent[message.kind.rstrip("12")] += message.hops
    row = theory.hops(protocol, *shape)
    if protocol == "train":  # Table 4 books the first hop of the ring as START.
        row |= {"START": row["START"] - 1, "ACK": row["ACK"] + 1}
    assert row == {kind: sent[kind] for kind in ("START", "ACK", "INFO")} | {"total": sent.total()}


def test_table_4_row_of_train_books_its_first_hop_as_start() -> None:
    first = one_execution("train", Tree(4, 5, 4))[0]
    assert (first.kind, first.hops) == ("ACK", 1)
    assert theory.hops("train", 4, 5, 4)["START"] == 1


def test_structured_protocols_save_less_than_a_factor_log_n_of_hops() -> None:
    for (b, z), members in theory.PAPER_TABLE_3.items():
        for basic, structured in (("coordp", "s_coordp"), ("train", "s_train")):
            gain = theory.hops(basic, b, 5, z)["total"] / theory.hops(structured, b, 5, z)["total"]
            assert gain < math.log(members)
        assert (
            theory.hops("fulldist", b, 5, z)["total"] * 3
            == theory.hops("s_coordp", b, 5, z)["total"] * members
        )
    assert theory.hops("train", 4, 5, 4)["total"] < 1.5 * theory.hops("s_train", 4, 5, 4)["total"]


@pytest.mark.parametrize("shape", TINY_TREES)
def test_the_longest_ack_chain_of_s_train_depends_on_the_fill(shape: tuple[int, int, int]) -> None:
    b, p, z = shape
    longest = max(message.chain_hops for message in one_execution("s_train", Tree(*shape)))
    assert theory.ack_chain_hops_s_train(*shape) == longest
    assert (longest == p * (2 * (b - 1) + 1)) == (z == b)


# Rounds and messages processed


@pytest.mark.parametrize("shape", TINY_TREES)
@pytest.mark.parametrize("protocol", theory.PROTOCOLS)
def test_rounds_are_the_longest_chain_of_messages(protocol: str, shape: tuple[int, int, int]) -> None:
    assert theory.rounds(protocol, *shape) == max(m.round for m in one_execution(protocol, Tree(*shape)))


def test_rounds_of_s_train_are_the_printed_ones_for_a_full_bottom_level_only() -> None:
    for b, p, z in SMALL_TREES:
        assert (theory.rounds("s_train", b, p, z) == b * p + 2) == (z == b)


def test_leaf_subgroups_of_s_train_are_done_in_round_b_plus_one() -> None:
    b, p = 3, 3
    tree = Tree(b, p, b)
    acks = [m for m in one_execution("s_train", tree) if m.kind.startswith("ACK")]
    leaves = set(tree.levels[p])
    assert {m.round for m in acks if m.source in leaves} == set(range(2, b + 2))
    assert min(m.round for m in acks if m.source not in leaves) == b + 2


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_first_members_of_the_subgroups_lie_b_apart_along_the_whole_level(depth: int) -> None:
    b, tree = 3, Tree(3, 4, 3)
    level = tree.levels[depth]
    firsts = [level.index(group[0]) + 1 for group in tree.subgroups() if group[0] in level]
    assert firsts == list(range(1, (b ** (depth - 1) - 1) * b + 2, b))
    assert (firsts[-1] == (depth - 1) * b + 1) == (depth == 1)


@pytest.mark.parametrize("shape", TINY_TREES)
@pytest.mark.parametrize("protocol", theory.PROTOCOLS)
def test_messages_processed_are_those_of_every_member(protocol: str, shape: tuple[int, int, int]) -> None:
    counted = processed_by_role(protocol, Tree(*shape))
    formulas = theory.processed(protocol, *shape)
    assert {role: values for role, values in formulas.items() if values} == counted
    assert theory.processed_max(protocol, *shape) == max(max(values) for values in counted.values())


@pytest.mark.parametrize("protocol", theory.PROTOCOLS)
def test_messages_processed_are_those_of_table_1_on_a_full_tree(protocol: str) -> None:
    symbols = {"n": 1365, "p": 5, "b": 4}

    def values(cell: str) -> tuple[int, ...]:
        spelled = cell.replace("2n", "2*n").replace("bp", "b*p")
        return tuple(eval(part, {}, symbols) for part in spelled.split(" or "))

    printed = {name: values(cell) for name, cell in theory.PAPER_TABLE_1[protocol].items()}
    assert printed.pop("rounds") == (theory.rounds(protocol, 4, 5, 4),)
    assert printed == theory.processed(protocol, 4, 5, 4)


def test_a_tree_of_height_one_has_no_internal_members() -> None:
    assert theory.processed("s_coordp", 4, 1, 3) == {"root": (7,), "internal": (), "leaf": (3,)}
    assert theory.processed("s_train", 4, 1, 3) == {"root": (5,), "internal": (), "leaf": (3, 4)}


def test_a_parent_of_leaves_collects_one_ack_for_each_leaf() -> None:
    assert theory.processed("s_coordp", 4, 3, 2)["internal"] == (5, 7)


def test_an_only_child_receives_no_ack_from_a_sibling() -> None:
    assert theory.processed("s_train", 1, 3, 1) == {"root": (5,), "internal": (4,), "leaf": (3,)}
    assert theory.processed("s_train", 3, 3, 1)["leaf"] == (3,)


# Random trees


@given(trees(), st.integers(0, 10**6))
def test_probabilities_of_the_levels_add_up_to_one(shape: tuple[int, int, int], extra: int) -> None:
    b, p, z = shape
    members = theory.group_size(b, p, z) + extra
    levels = random_tree_level_probabilities(members, b, p)
    assert len(levels) == p
    assert sum(levels) == 1
    assert all(0 < probability <= 1 for probability in levels)


@given(trees(), st.integers(0, 10**6))
def test_the_printed_bottom_level_probability_falls_short_of_one(
    shape: tuple[int, int, int], extra: int
) -> None:
    b, p, z = shape
    members = theory.group_size(b, p, z) + extra
    right = random_tree_level_probabilities(members, b, p)[-1]
    assert right - theory.printed_bottom_level_probability(members, b, p) == Fraction(b**p, members - 1)


def test_the_printed_bottom_level_probability_is_never_positive_in_table_3() -> None:
    for (b, z), members in theory.PAPER_TABLE_3.items():
        printed = theory.printed_bottom_level_probability(members, b, 5)
        assert printed == 0 if z == b else printed < 0


def test_a_group_too_small_for_its_random_tree_is_refused() -> None:
    assert random_tree_level_probabilities(31, 2, 5)[-1] == 0
    with pytest.raises(ValueError, match=r"members must be at least 31.*got 30"):
        random_tree_level_probabilities(30, 2, 5)


# Arguments


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 3, 1), "degree must be an integer of at least 1, got 0"),
        ((2, 0, 1), "height must be an integer of at least 1, got 0"),
        ((2, 3, 0), "fill must be an integer of at least 1, got 0"),
        ((2, 3, 3), "fill must be between 1 and the degree 2, got 3"),
        ((2.5, 3, 1), "degree must be an integer of at least 1, got 2.5"),
    ],
)
def test_impossible_trees_are_refused(shape: tuple[int, int, int], message: str) -> None:
    for function in (theory.group_size, theory.ack_hops_coordp, theory.ring_hops, theory.ack_hops_s_train):
        with pytest.raises(ValueError, match=message):
            function(*shape)


def test_unknown_protocols_are_refused_with_those_that_are_known() -> None:
    for function in (theory.hops, theory.rounds, theory.processed):
        with pytest.raises(ValueError, match=r"unknown protocol 's_fulldist'.*s_coordp, s_train"):
            function("s_fulldist", 2, 3, 1)


def test_refusals_share_the_root_of_all_errors() -> None:
    with pytest.raises(StablecastError):
        theory.group_size(2, 3, 3)
