from stablecast.membership.links import FRESH_COUNTS, MOST_LINKS, Links


def test_what_a_receiver_says_goes_from_member_to_member():
    receiver, other, third = (Links(rank, 4) for rank in (1, 2, 3))
    receiver.look([0], [9, 5, 9, 9])
    other.take(receiver.to_tell())
    third.take(other.to_tell())
    assert third.known() == ((0, 1),)
    assert not receiver.hears(0)
    assert receiver.hears(2)
    assert third.hears(0)


def test_a_link_is_forgotten_when_its_receiver_hears_again():
    receiver, other = Links(1, 3), Links(2, 3)
    receiver.look([0], [9, 5, 9])
    other.take(receiver.to_tell())
    receiver.look([], [9, 6, 9])
    assert receiver.known() == ()
    other.take(receiver.to_tell())
    other.look([], [9, 5 + FRESH_COUNTS, 9])
    assert other.known() == ((0, 1),)
    other.look([], [9, 6 + FRESH_COUNTS, 9])
    assert other.known() == ()


def test_nobody_is_told_by_others_whom_it_hears():
    links = Links(1, 3)
    links.take([(0, 1, 5), (7, 2, 5), (0, 7, 5)])
    assert links.known() == ()


def test_of_many_links_the_latest_are_told():
    links = Links(0, 100)
    for receiver in range(1, 100):
        links.take([(0, receiver, receiver)])
    told = links.to_tell()
    assert len(told) == MOST_LINKS
    assert {receiver for _, receiver, _ in told} == set(range(100 - MOST_LINKS, 100))
