from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablecast.errors import InvalidInput
from stablecast.overlays.disjoint import are_joined, disjoint_paths, disjoint_paths_of_all
from stablecast.overlays.hypercube import (
    Hypercube,
    diameter,
    dimensions,
    disseminate,
    distances,
    hypercube,
    link_dimension,
)

SIZES = range(1, 513)
CUBES = {n: hypercube(n) for n in SIZES}

FARTHEST_IS_M = [
    *(1, 2, 4, 7, 8, 14, 15, 16, 28, 30, 31, 32, 56, 60, 61, 62, 63, 64),
    *(112, 120, 121, 122, 124, 126, 127, 128),
    *(224, 240, 241, 242, 244, 247, 248, 252, 253, 254, 255, 256),
    *(448, 480, 481, 482, 484, 487, 488, 494, 495, 496, 504, 505, 506, 508, 510, 511, 512),
]


def floor_log2(n: int) -> int:
    return n.bit_length() - 1


def by_definition(n: int) -> list[dict[int, int]]:
    """Section 3.3 of the paper, word for word: each node's neighbours by dimension."""
    m = dimensions(n)
    links: list[dict[int, int]] = [{k: p ^ 1 << k for k in range(m) if p ^ 1 << k < n} for p in range(n)]
    for z in range(n, 1 << m):
        group = sorted(z ^ 1 << k for k in range(m) if z ^ 1 << k < n)
        group = group[len(group) % 2 :]
        half = len(group) // 2
        for p, q in zip(group[:half], group[half:], strict=True):
            for end, other in ((p, q), (q, p)):
                dimension = (end ^ z).bit_length() - 1
                assert dimension not in links[end]
                links[end][dimension] = other
    return links


def links_of(cube: Hypercube) -> list[tuple[int, int]]:
    ends = np.repeat(np.arange(cube.size), cube.degree)
    return list(zip(ends.tolist(), cube.neighbours.tolist(), strict=True))


def test_seven_nodes_are_compensated_by_the_link_5_6_as_in_the_paper():
    cube = hypercube(7)
    extra = [link for link, new in zip(links_of(cube), cube.compensating, strict=True) if new]
    assert extra == [(5, 6), (6, 5)]
    assert cube.degree.tolist() == [3, 3, 3, 2, 3, 3, 3]


def test_fourteen_nodes_link_the_four_that_lack_14_or_15_and_keep_their_top_bit():
    cube = hypercube(14)
    extra = [link for link, new in zip(links_of(cube), cube.compensating, strict=True) if new]
    assert extra == [(10, 12), (11, 13), (12, 10), (13, 11)]
    assert np.flatnonzero(cube.degree == 3).tolist() == [6, 7]


def test_one_two_and_three_nodes():
    assert [hypercube(n).neighbours.tolist() for n in (1, 2, 3)] == [[], [1, 0], [1, 2, 0, 2, 1, 0]]


@pytest.mark.parametrize("size", [0, -1, 2**30 + 1])
def test_sizes_that_make_no_hypercube_are_refused(size):
    with pytest.raises(InvalidInput, match="accepted"):
        hypercube(size)


def test_every_link_is_the_definition_s():
    for n, cube in CUBES.items():
        links = by_definition(n)
        assert [cube.neighbours_of(p).tolist() for p in range(n)] == [
            [there[k] for k in sorted(there)] for there in links
        ]
        assert cube.dimension.tolist() == [k for there in links for k in sorted(there)]


def test_links_go_both_ways_once_and_join_no_node_with_itself():
    for cube in CUBES.values():
        links = links_of(cube)
        assert len(set(links)) == len(links)
        assert {(q, p) for p, q in links} == set(links)
        assert all(p != q for p, q in links)


def test_the_dimension_of_a_link_follows_from_its_ends():
    for cube in CUBES.values():
        assert [link_dimension(p, q) for p, q in links_of(cube)] == cube.dimension.tolist()


def test_the_ends_of_a_compensating_link_give_it_different_dimensions():
    for cube in CUBES.values():
        for (p, q), new in zip(links_of(cube), cube.compensating.tolist(), strict=True):
            assert (link_dimension(p, q) != link_dimension(q, p)) == new


@given(st.integers(513, 1 << 16))
def test_degrees_are_m_or_m_minus_1_and_only_lower_nodes_lose_a_link_in_large_groups(n):
    check_degrees(hypercube(n))


def test_degrees_are_m_or_m_minus_1_and_only_lower_nodes_lose_a_link():
    for n in SIZES[1:]:
        check_degrees(CUBES[n])


def check_degrees(cube: Hypercube) -> None:
    m = cube.dimensions
    assert set(cube.degree.tolist()) <= {m - 1, m}
    assert cube.degree.max() == m
    assert (cube.degree[1 << (m - 1) :] == m).all()
    assert cube.degree.min() >= floor_log2(cube.size)


def test_a_million_nodes():
    cube = hypercube(1_000_000)
    check_degrees(cube)
    assert distances(cube, 0).max() == 19


def test_the_diameter_is_m_or_m_minus_1():
    found = {n: diameter(cube) for n, cube in CUBES.items()}
    assert [n for n in SIZES if found[n] == dimensions(n)] == FARTHEST_IS_M
    assert all(found[n] in (dimensions(n), dimensions(n) - 1) for n in SIZES)


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_distances_are_at_most_the_numbers_of_different_bits(drawn):
    n, source = drawn
    distance = distances(hypercube(n), source)
    assert (distance >= 0).all()
    assert (distance <= np.bitwise_count(np.arange(n) ^ source)).all()


def test_a_node_has_heard_from_all_after_as_many_iterations_as_the_farthest_is_away():
    for n in range(1, 65):
        farthest = [distances(CUBES[n], p).max() for p in range(n)]
        assert disseminate(CUBES[n]).tolist() == farthest


def test_any_two_nodes_are_joined_by_as_many_disjoint_paths_as_the_lesser_has_neighbours():
    for n in range(2, 65):
        degree = CUBES[n].degree
        expected = np.minimum.outer(degree, degree)
        np.fill_diagonal(expected, 0)
        assert (disjoint_paths_of_all(CUBES[n]) == expected).all()


def test_the_same_holds_up_to_512_nodes_by_even_s_algorithm():
    for n in SIZES[1:]:
        cube, m = CUBES[n], dimensions(n)
        assert are_joined(cube, np.arange(n), int(cube.degree.min()))
        assert are_joined(cube, np.flatnonzero(cube.degree == m), m)


def test_even_s_algorithm_finds_nodes_that_are_not_joined_well_enough():
    for n in range(3, 65):
        cube = CUBES[n]
        least = int(cube.degree.min())
        assert not are_joined(cube, np.arange(n), least + 1)


def test_paths_that_share_a_node_count_once():
    neighbours = np.array([1, 2, 0, 2, 0, 1, 3, 4, 2, 4, 2, 3], dtype=np.int32)
    two_triangles_with_node_2_in_common = Hypercube(neighbours, np.array([0, 2, 4, 8, 10, 12]))
    assert disjoint_paths(two_triangles_with_node_2_in_common, 0, 3) == 1
    assert disjoint_paths(two_triangles_with_node_2_in_common, 0, 1) == 2
    assert not are_joined(two_triangles_with_node_2_in_common, np.array([0, 1, 3, 4]), 2)


def graph(size: int, links: set[tuple[int, int]]) -> Hypercube:
    """Any graph in a hypercube's form, for what does not depend on dimensions."""
    there = [sorted({q for link in links for q in link if p in link and q != p}) for p in range(size)]
    start = np.concatenate(([0], np.cumsum([len(row) for row in there])))
    return Hypercube(np.array([q for row in there for q in row], dtype=np.int32), start)


def fewest_that_separate(size: int, links: set[tuple[int, int]], a: int, b: int) -> int:
    """Menger's other side, by trying all sets of nodes; a link between the two counts as one."""
    direct = len(links & {(a, b), (b, a)})
    links = links - {(a, b), (b, a)}
    others = [v for v in range(size) if v not in (a, b)]
    sets = (set(s) for count in range(size) for s in combinations(others, count))
    return direct + next(len(s) for s in sets if b not in reachable(links, a, s))


def reachable(links: set[tuple[int, int]], source: int, without: set[int]) -> set[int]:
    found, waiting = {source}, [source]
    while waiting:
        v = waiting.pop()
        following = {q for link in links for q in link if v in link} - without - found
        found |= following
        waiting += following
    return found


PAIRS = [(p, q) for q in range(10) for p in range(q)]
GRAPHS = st.sets(st.sampled_from(PAIRS), min_size=10, max_size=28)


@given(GRAPHS)
def test_disjoint_paths_of_any_graph_are_as_many_as_the_fewest_nodes_that_separate(links):
    found = disjoint_paths_of_all(graph(10, links))
    for a, b in ((0, 9), (3, 7), (2, 1)):
        assert found[a, b] == disjoint_paths(graph(10, links), a, b) == fewest_that_separate(10, links, a, b)


@given(GRAPHS, st.sets(st.integers(0, 9), min_size=2), st.integers(1, 4))
def test_even_s_algorithm_agrees_with_trying_every_pair(links, nodes, paths):
    chosen = np.array(sorted(nodes))
    found = disjoint_paths_of_all(graph(10, links))[np.ix_(chosen, chosen)]
    every_pair = bool((found[~np.eye(chosen.size, dtype=np.bool_)] >= paths).all())
    assert are_joined(graph(10, links), chosen, paths) == every_pair


def test_paths_of_a_node_to_itself_are_refused():
    with pytest.raises(InvalidInput, match="two different"):
        disjoint_paths(hypercube(8), 3, 3)


def test_fewer_than_log_n_failed_neighbours_of_a_node_cost_at_most_one_iteration_beyond_m():
    for n in range(4, 33):
        for node in range(n):
            for failures in range(floor_log2(n)):
                for failed in combinations(CUBES[n].neighbours_of(node).tolist(), failures):
                    check_dissemination(CUBES[n], failed)


def test_as_many_failures_among_node_0_s_neighbours_in_larger_groups():
    for n in SIZES[63::7]:
        for failed in combinations(CUBES[n].neighbours_of(0).tolist(), floor_log2(n) - 1):
            check_dissemination(CUBES[n], failed)


def check_dissemination(cube: Hypercube, failed: tuple[int, ...]) -> None:
    live = np.ones(cube.size, dtype=np.bool_)
    live[list(failed)] = False
    iterations = disseminate(cube, failed=failed)
    assert iterations[live].min() >= 0
    assert iterations.max() <= cube.dimensions + 1
    assert (iterations[~live] == -1).all()


def test_log_n_failed_neighbours_cut_a_node_off():
    for n in SIZES[3:]:
        least = int(np.argmin(CUBES[n].degree))
        assert disseminate(CUBES[n], failed=CUBES[n].neighbours_of(least)).max() == -1


@pytest.mark.parametrize("m", [3, 4, 5, 8])
def test_of_2_to_the_m_plus_1_nodes_two_are_cut_off_by_m_failures(m):
    cube = hypercube((1 << m) + 1)
    failed = [1 << k for k in range(m)]
    assert cube.neighbours_of(0).tolist() == [*failed, 1 << m]
    assert (disseminate(cube, failed=failed) == -1).all()


def test_a_plain_cube_has_the_links_that_compensate_for_nothing():
    for n in (1, 2, 3, 5, 7, 14, 33, 64, 100):
        whole, plain = hypercube(n), hypercube(n, compensated=False)
        kept = [link for link, new in zip(links_of(whole), whole.compensating, strict=True) if not new]
        assert links_of(plain) == kept
        assert not plain.compensating.any()
        assert plain.dimension.tolist() == [link_dimension(p, q) for p, q in kept]


@pytest.mark.parametrize("m", range(1, 8))
def test_the_last_of_one_member_more_than_a_power_of_two_has_one_link_in_a_plain_cube(m):
    plain = hypercube((1 << m) + 1, compensated=False)
    assert plain.neighbours_of(1 << m).tolist() == [0]
    assert diameter(plain) == m + 1


def test_a_plain_cube_is_as_wide_as_its_numbers_have_different_bits():
    for n in (6, 11, 21, 50):
        plain = hypercube(n, compensated=False)
        for source in range(n):
            assert distances(plain, source).tolist() == [(source ^ other).bit_count() for other in range(n)]
