from stablecast.engine.laggards import FRESH_ROUNDS, MOST_BEHIND, Laggards

EVERY = 0.25


def laggards_of(rank: int, size: int = 5) -> Laggards:
    return Laggards(rank, size, every=EVERY)


def test_what_a_neighbour_says_goes_from_member_to_member():
    judge, other, third = map(laggards_of, (1, 2, 3))
    judge.look([(4, 0, 7)], 12, 0.0)
    other.take(judge.to_tell(), 0.0)
    third.take(other.to_tell(), 0.0)
    assert third.to_tell() == ((4, 1, 12, 0, 7),)
    assert third.known() == {4: (0, 7)}


def test_who_has_caught_up_is_forgotten():
    judge, other = map(laggards_of, (1, 2))
    judge.look([(4, 0, 7)], 12, 0.0)
    other.take(judge.to_tell(), 0.0)
    judge.look([], 13, EVERY)
    assert judge.known() == {}
    for count in range(1, FRESH_ROUNDS + 2):
        other.look([], count, count * EVERY)
    assert other.known() == {}


def test_nobody_hears_of_itself_nor_what_it_says_itself():
    laggards = laggards_of(1)
    laggards.take([(1, 2, 3, 0, 0), (2, 1, 3, 0, 0), (9, 2, 3, 0, 0), (2, 9, 3, 0, 0), (2, 3, 3, 9, 0)], 0.0)
    assert laggards.known() == {}


def test_of_many_the_latest_are_told():
    laggards = laggards_of(0, 100)
    for rank in range(1, 99):
        laggards.take([(rank, 99, rank, 0, 0)], 0.0)
    assert {told[0] for told in laggards.to_tell()} == set(range(99 - MOST_BEHIND, 99))
