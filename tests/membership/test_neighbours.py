import math
import random

import pytest

from stablecast.membership.neighbours import ALL_NEIGHBOURS, RINGS, Rings, rings_of


def sessions_of(size: int, seed: int = 1) -> tuple[int, ...]:
    draw = random.Random(seed)
    return tuple(draw.getrandbits(64) for _ in range(size))


def distances(rings: Rings, size: int, begin: int) -> list[int]:
    """Return in how many steps news from one member reaches each other one."""
    far, found, front = 0, {begin: 0}, [begin]
    while front:
        far += 1
        front = [other for rank in front for other in rings.neighbours(rank) if other not in found]
        found |= dict.fromkeys(front, far)
    return [found[rank] for rank in range(size)]


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_in_a_small_group_everyone_is_a_neighbour_of_everyone(size):
    rings = Rings(7, sessions_of(size))
    for rank in range(size):
        assert set(rings.neighbours(rank)) == set(range(size)) - {rank}


@pytest.mark.parametrize("size", [10, 64, 1000])
def test_neighbours_are_few_and_mutual(size):
    rings = Rings(7, sessions_of(size))
    of = [set(rings.neighbours(rank)) for rank in range(size)]
    assert all(2 <= len(few) <= 2 * RINGS and rank not in few for rank, few in enumerate(of))
    assert all(rank in of[other] for rank, few in enumerate(of) for other in few)
    if size == 1000:
        assert sum(map(len, of)) / size > 2 * RINGS - 0.2


@pytest.mark.parametrize(("size", "seed"), [(64, 1), (256, 2), (1024, 3), (4096, 4)])
def test_news_reaches_everyone_in_a_few_steps(size, seed):
    rings = Rings(seed, sessions_of(size, seed))
    far = distances(rings, size, 0)
    assert max(far) <= math.ceil(math.log(size) / math.log(2 * RINGS - 1)) + 2


def test_another_view_of_the_same_members_has_other_neighbours():
    sessions = sessions_of(500)
    both = [set(Rings(view, sessions).neighbours(3)) for view in (1, 2)]
    assert len(both[0] & both[1]) <= 2


def test_those_who_are_gone_have_stand_ins_on_both_sides():
    size = 300
    rings = Rings(9, sessions_of(size))
    gone = frozenset(rings.neighbours(0))
    stand_ins = rings.neighbours(0, gone)
    assert len(stand_ins) >= ALL_NEIGHBOURS // 2
    assert not gone & set(stand_ins)
    assert all(0 in rings.neighbours(other, gone) for other in stand_ins)


def test_whoever_is_left_alone_has_no_neighbours():
    size = 12
    rings = Rings(9, sessions_of(size))
    assert rings.neighbours(4, frozenset(range(size)) - {4}) == ()
    assert Rings(9, sessions_of(3)).neighbours(1, frozenset({0, 2})) == ()


def test_the_members_of_one_process_share_their_rings():
    assert rings_of(5, sessions_of(100)) is rings_of(5, sessions_of(100))
    assert rings_of(5, sessions_of(100)) is not rings_of(6, sessions_of(100))
