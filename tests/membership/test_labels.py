"""Which part of a split view goes on giving plain labels: at most one, whatever each knows."""

import itertools
import random

import pytest

from stablecast.membership.change import Change
from stablecast.membership.labels import labelled, labels_after
from stablecast.membership.messages import Flushed
from stablecast.membership.next_view import next_view, view_alone
from stablecast.membership.rank_sets import set_of
from stablecast.membership.view import Labels, MemberInfo, View

NAMES = "abcdef"


def member(k, name=None):
    return MemberInfo(1000 + k, name or NAMES[k], 1, "h", 7000 + k)


def view_of(count, labels=Labels.PLAIN):
    members = tuple(member(k) for k in range(count))
    return View(1, 1, members, "orders", {m.name: 1 for m in members}, labels)


def part(old, stay, left=(), synced=(), leader=None):
    """Return the attempt of a part of a view, whose first stayer leads it."""
    survivors = [k for k, m in enumerate(old.members) if m.session in stay]
    leavers = [k for k, m in enumerate(old.members) if m.session in left]
    leader = leader or old.members[(survivors + leavers)[0]].session
    report = Flushed((2, leader), b"", (), tuple(synced))
    return Change((2, leader), old, set_of(survivors), set_of(leavers), 0.0, report=report)


def sessions(old, ranks):
    return frozenset(old.members[rank].session for rank in ranks)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_of_two_parts_at_most_one_gives_plain_labels(count):
    """All ways to split a view in two, with all leavers, of whom each part knows any."""
    old = view_of(count)
    is_plain = 0
    for who in itertools.product(("left", "right", "away", "leaves"), repeat=count):
        places = {place: [k for k in range(count) if who[k] == place] for place in set(who)}
        leavers = places.get("leaves", [])
        subsets = [c for n in range(len(leavers) + 1) for c in itertools.combinations(leavers, n)]
        for known, also_known in itertools.product(subsets, repeat=2):
            plain = [
                labels_after(part(old, sessions(old, places.get(side, [])), sessions(old, knows)))
                is Labels.PLAIN
                for side, knows in (("left", known), ("right", also_known))
                if places.get(side) or knows
            ]
            assert sum(plain) <= 1, (who, known, also_known)
            is_plain += sum(plain)
    assert is_plain


def test_a_part_with_a_member_that_has_agreed_to_another_leaders_view_marks():
    old = view_of(5)
    stay = sessions(old, [1, 2, 3, 4])
    assert labels_after(part(old, stay)) is Labels.PLAIN
    assert labels_after(part(old, stay, synced=(old.members[0].session,))) is Labels.MARKED
    own = old.members[1].session
    assert labels_after(part(old, stay, synced=(own,), leader=own)) is Labels.PLAIN


def test_labels_that_are_marked_stay_so():
    old = view_of(5, Labels.MARKED)
    assert labels_after(part(old, sessions(old, range(5)))) is Labels.MARKED


def test_a_mark_ends_the_label():
    one = member(0, "x")
    assert labelled(one, (), 1, Labels.PLAIN).label == "x"
    assert labelled(one, (), 2, Labels.MARKED).label == "x#2~00000000"
    assert labelled(one, ("x",), 2, Labels.REMEMBERED).label == "x#2"
    assert labelled(one, ("y",), 2, Labels.REMEMBERED).label == "x#2~00000000"


def test_a_name_that_may_have_been_forgotten_is_marked():
    rng = random.Random(1)
    view = view_alone(1, 1, member(0), group="orders", main=True)
    for k in range(1_200):
        change = part(view, {view.members[0].session})
        guest = MemberInfo(rng.getrandbits(64), f"guest {k}", 1, "h", 1)
        view = next_view(k + 2, k + 2, change, [guest], group="orders", receives={})
        view = next_view(k + 2, k + 3, part(view, {view.members[0].session}), [], group="orders", receives={})
    again = MemberInfo(rng.getrandbits(64), "guest 0", 1, "h", 1)
    last = next_view(
        9, 9_999, part(view, {view.members[0].session}), [again], group="orders", receives={}
    ).members[-1]
    assert last.label == f"guest 0~{last.session:016x}"[: len("guest 0~") + 8]
    known = MemberInfo(rng.getrandbits(64), "guest 1199", 1, "h", 1)
    last = next_view(
        9, 9_999, part(view, {view.members[0].session}), [known], group="orders", receives={}
    ).members[-1]
    assert last.label == "guest 1199#2"


def test_a_view_that_is_begun_alone_off_the_main_line_marks():
    view = view_alone(5, 1, member(0, "x"), group="orders", main=False)
    assert view.labels is Labels.MARKED
    assert view.members[0].label == "x~00000000"
    assert view.line.startswith("orders~")
