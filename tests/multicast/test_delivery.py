import pytest

from stablecast.errors import InvalidInput
from stablecast.multicast.delivery import Bimodal, read_delivery
from stablecast.multicast.terms import terms_of
from stablecast.theory.buffering import failure_with_sender
from stablecast.theory.epidemic import incomplete, legs_served


def test_text_and_values_say_the_same():
    assert read_delivery("reliable") is None
    assert read_delivery("bimodal") == Bimodal()
    wanted = Bimodal(p_fail=0.0001, copies=7.5, keep_rounds=30)
    assert read_delivery("bimodal:p_fail=0.0001, copies=7.5,keep_rounds=30") == wanted
    assert read_delivery(wanted) is wanted


@pytest.mark.parametrize("bimodal", [Bimodal(), Bimodal(loss=0.02), Bimodal(copies=4.0, short_rounds=0)])
def test_what_is_shown_can_be_read(bimodal):
    assert read_delivery(str(bimodal)) == bimodal


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fast", "delivery 'fast' is not accepted (accepted: reliable, bimodal"),
        ("reliable:loss=0.1", "is not accepted"),
        (7, "delivery 7 is not accepted"),
        (
            "bimodal:speed=3",
            "'speed=3' is not accepted in bimodal delivery (accepted: NAME=VALUE with p_fail",
        ),
        ("bimodal:loss", "'loss' is not accepted in bimodal delivery"),
        ("bimodal:loss=much", "loss 'much' of bimodal delivery is not accepted (accepted: a number)"),
        ("bimodal:loss=1", "loss 1.0 of bimodal delivery is not accepted (accepted: 0 up to, but not, 1)"),
        ("bimodal:p_fail=nan", "p_fail nan of bimodal delivery is not accepted"),
        ("bimodal:copies=0", "copies 0.0 of bimodal delivery is not accepted (accepted: a number above 0)"),
        ("bimodal:gossip_s=0", "gossip_s 0.0 of bimodal delivery is not accepted"),
        ("bimodal:keep_rounds=2.5", "keep_rounds '2.5' of bimodal delivery is not accepted"),
        ("bimodal:keep_rounds=0", "keep_rounds 0 of bimodal delivery is not accepted"),
        ("bimodal:keep_rounds=2", "short_rounds 3 of bimodal delivery is not accepted (accepted: at most"),
    ],
)
def test_what_makes_no_sense_is_refused(given, said):
    with pytest.raises(InvalidInput) as refused:
        read_delivery(given)
    assert said in str(refused.value)


@pytest.mark.parametrize("members", [2, 3, 8, 16, 100, 1000])
@pytest.mark.parametrize("loss", [0.001, 0.05, 0.2])
def test_p_fail_is_at_most_what_was_asked_for_and_both_parts_of_it_hold(members, loss):
    bimodal = Bimodal(p_fail=0.001, loss=loss)
    terms = terms_of(bimodal, members)
    assert terms.p_fail() <= bimodal.p_fail * 1.000001
    assert failure_with_sender(members, terms.copies, loss) <= 0.9 * bimodal.p_fail * 1.000001
    if members <= 100:  # two rounds are what the closed form may be short by
        assert incomplete(members, members - 1, terms.rounds + 2, served=legs_served(loss, 4)) <= 0.0001
    fewer = terms.copies - 0.01
    assert terms.copies == 1.0 or failure_with_sender(members, fewer, loss) > 0.9 * bimodal.p_fail


def test_given_copies_and_rounds_hold_and_p_fail_follows():
    terms = terms_of(Bimodal(copies=3.0, keep_rounds=12, loss=0.05), 16)
    assert (terms.copies, terms.rounds) == (3.0, 12)
    assert terms.p_fail() == failure_with_sender(16, 3.0, 0.05) + 0.0001
    assert terms.p_fail(loss=0.1) > terms.p_fail()
    assert terms.p_fail(crash=0.25) > terms.p_fail()


def test_nothing_fails_alone_or_without_loss():
    assert terms_of(Bimodal(), 1).p_fail() == 0.0
    assert terms_of(Bimodal(loss=0.0), 16).p_fail() == 0.0
    assert terms_of(Bimodal(copies=50.0), 4).copies == 4.0
