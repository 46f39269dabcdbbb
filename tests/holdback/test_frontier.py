"""The frontier, its blockers and the counterfactual are what going through every number says."""

from hypothesis import given
from hypothesis import strategies as st
from logs import Plain, log_of, logs

from stablecast.holdback.frontier import freed, frontier_of, without
from stablecast.holdback.model import NOTHING, Amount


@given(logs())
def test_the_frontier_is_the_last_number_that_nobody_lacks(log):
    found, plain = frontier_of(log), Plain(log)
    assert found.stable_seq == plain.stable()
    assert list(found.waiting_for) == plain.lacking(plain.stable() + 1)
    assert found.held == plain.kept_above(plain.stable())
    assert found.deletable == log.kept.less(found.held)


@given(logs())
def test_a_reader_stands_as_if_the_others_were_counted_without_it(log):
    for one in frontier_of(log).standings:
        name = one.reader.member
        rest = Plain(log, without={name})
        assert one.without_seq == rest.stable()
        assert one.blocks == (name in frontier_of(log).waiting_for)
        if one.blocks:
            now, then = Plain(log).kept_above(Plain(log).stable()), rest.kept_above(rest.stable())
            assert one.frees == now.less(then)
            if rest.stable() > Plain(log).stable():
                assert sorted(one.next_blockers) == rest.lacking(rest.stable() + 1)


@given(logs(), st.sets(st.sampled_from("abcdef")))
def test_what_goes_free_without_readers_is_what_is_held_no_longer(log, names):
    now, then = Plain(log), Plain(log, without=names)
    assert without(log, names).stable_seq == then.stable()
    assert freed(log, names) == now.kept_above(now.stable()).less(then.kept_above(then.stable()))


@given(logs())
def test_readers_are_ranked_by_what_they_hold(log):
    held = [one.lag for one in frontier_of(log).standings if one.reader.holds]
    assert held == sorted(held, reverse=True)


def test_the_blocker_is_named_with_the_next_one():
    found = frontier_of(log_of(100, {"archive": 20, "billing": 70, "search": 100}))
    blocker = found.standings[0]
    assert (found.stable_seq, found.waiting_for) == (20, ("archive",))
    assert (blocker.frees, blocker.next_blockers) == (Amount(50, 500), ("billing",))


def test_without_one_of_two_that_lack_the_same_nothing_goes_free():
    found = frontier_of(log_of(100, {"archive": 20, "search": 20}))
    assert [one.frees for one in found.standings] == [NOTHING, NOTHING]


def test_a_reader_whose_next_number_is_gone_has_lost_it():
    found = frontier_of(log_of(100, {"late": 20, "new": None}, first_seq=50))
    assert {one.reader.member: one.lost for one in found.standings} == {"late": True, "new": False}


def test_a_log_without_readers_waits_for_nobody():
    found = frontier_of(log_of(100, {}))
    assert (found.stable_seq, found.held, found.waiting_for) == (100, NOTHING, ())
