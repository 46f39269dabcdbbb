import pytest

from stablecast.engine import acquaintances
from stablecast.engine.acquaintances import Acquaintances
from stablecast.engine.seal import Seal
from stablecast.engine.trust import Trust

ME = 1_000


class Kept:
    """Acquaintances with what they keep."""

    def __init__(self):
        self.trust = Trust(ME, bytes(32))
        self.seal = Seal("orders", ME, keyring=None)
        self.found = Acquaintances(self.trust, self.seal)

    def meet(self, *sessions):
        for session in sessions:
            self.trust.trust(session)
            self.found.met(session)

    def trusted(self, *sessions):
        return [session for session in sessions if self.trust.trusted(session)]


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(acquaintances, "MOST", 3)
    return Kept()


def test_who_was_not_heard_of_for_longest_is_given_up(kept):
    kept.meet(1, 2, 3)
    kept.found.heard(1)
    kept.meet(4, 5)
    assert kept.trusted(1, 2, 3, 4, 5) == [1, 4, 5]


def test_members_and_who_is_about_to_be_one_are_not_given_up(kept):
    kept.found.named(frozenset((1, 2)))
    kept.found.began((1, 2, ME), ME)
    kept.found.named(frozenset((1, 2, 3)))
    kept.meet(11, 12, 13, 14, 15)
    assert kept.trusted(1, 2, 3, 11, 12, 13, 14, 15) == [1, 2, 3, 13, 14, 15]


def test_who_is_a_member_no_longer_or_never_became_one_goes_with_the_others(kept):
    kept.found.named(frozenset((1, 2, 3)))
    kept.found.began((1, 2, ME), ME)
    kept.found.named(frozenset((1, 4)))
    kept.found.began((1, ME), ME)
    kept.meet(11)
    assert len(kept.trusted(2, 3, 4, 11)) == 3
    assert kept.trusted(1, 11) == [1, 11]


def test_a_session_that_was_given_up_cannot_be_replayed(kept):
    datagram = Seal("orders", 1, keyring=None).close(b"x")
    kept.meet(1)
    assert kept.seal.open(datagram) is not None
    kept.meet(2, 3, 4)
    assert not kept.trusted(1)
    assert kept.seal.open(datagram) is None
