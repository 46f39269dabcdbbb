from stablecast.membership.links import FRESH_ROUNDS, MOST_LINKS, Links

EVERY = 0.5
FRESH_S = FRESH_ROUNDS * EVERY


def links_of(rank: int, size: int = 4) -> Links:
    return Links(rank, size, every=EVERY)


def test_what_a_receiver_says_goes_from_member_to_member():
    receiver, other, third = map(links_of, (1, 2, 3))
    receiver.look([0], 5, 0.0)
    other.take(receiver.to_tell(), 0.1)
    third.take(other.to_tell(), 0.2)
    assert third.known() == ((0, 1),)
    assert not receiver.hears(0)
    assert receiver.hears(2)
    assert third.hears(0)


def test_a_link_is_forgotten_when_its_receiver_hears_again():
    receiver, other = map(links_of, (1, 2))
    receiver.look([0], 5, 0.0)
    other.take(receiver.to_tell(), 0.0)
    receiver.look([], 6, EVERY)
    assert receiver.known() == ()
    assert receiver.hears(0)
    other.take(receiver.to_tell(), EVERY)
    other.look([], 9, FRESH_S)
    assert other.known() == ((0, 1),)
    other.look([], 9, FRESH_S + EVERY)
    assert other.known() == ()


def test_a_link_is_believed_in_for_as_long_as_its_receiver_names_it():
    receiver, other = map(links_of, (1, 2))
    for count in range(1, 3 * FRESH_ROUNDS):
        receiver.look([0], count, count * EVERY)
        other.take(receiver.to_tell(), count * EVERY)
        other.look([], count, count * EVERY)
        assert other.known() == ((0, 1),)


def test_members_that_pass_an_old_link_on_to_each_other_do_not_keep_it_alive():
    receiver, one, other = map(links_of, (1, 2, 3))
    receiver.look([0], 5, 0.0)
    one.take(receiver.to_tell(), 0.0)
    for count in range(1, 4 * FRESH_ROUNDS):
        now = count * EVERY
        other.take(one.to_tell(), now)
        one.take(other.to_tell(), now)
        one.look([], count, now)
        other.look([], count, now)
    assert one.known() == other.known() == ()


def test_nobody_is_told_by_others_whom_it_hears():
    links = links_of(1, 3)
    links.take([(0, 1, 5), (7, 2, 5), (0, 7, 5)], 0.0)
    assert links.known() == ()


def test_of_many_links_the_latest_are_told():
    links = links_of(0, 100)
    for receiver in range(1, 100):
        links.take([(0, receiver, receiver)], 0.0)
    told = links.to_tell()
    assert len(told) == MOST_LINKS
    assert {receiver for _, receiver, _ in told} == set(range(100 - MOST_LINKS, 100))
