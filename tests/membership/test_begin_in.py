"""A view that all members are given at once is the one that they would have joined to."""

import random

import pytest

from stablecast.engine.engine import Engine
from stablecast.engine.options import Options
from stablecast.engine.results import ViewChanged
from stablecast.errors import InvalidInput
from stablecast.membership.next_view import view_together
from stablecast.simulate import costs, topology
from stablecast.simulate.live.driver import LiveDriver
from stablecast.simulate.live.setup import LiveSetup

NAMES = ("a", "b", "c", "b")


def engines():
    return [
        Engine(
            Options(group="orders", member=name),
            address=("10.0.0.1", 7000 + k),
            largest=1400,
            rng=random.Random(k),
            now=0.0,
        )
        for k, name in enumerate(NAMES)
    ]


def view_of(made):
    return view_together(5, 1, [engine.agreement.me for engine in made], group="orders")


def test_members_begin_with_the_same_view_under_the_labels_that_joining_would_give():
    made = engines()
    view = view_of(made)
    for rank, engine in enumerate(made):
        engine.begin_in(view, [], 0.0)
        assert engine.labels == ("a", "b", "c", "b#2")
        assert engine.label == engine.labels[rank]
        assert not engine.is_blocked
        (event,) = engine.output().events
        assert isinstance(event, ViewChanged)
        assert event.main


def test_a_process_that_is_not_in_the_view_is_refused():
    made = engines()
    with pytest.raises(InvalidInput, match="is not in the view"):
        made[0].begin_in(view_of(made[1:]), [], 0.0)


def test_it_is_the_view_of_a_group_that_was_joined():
    """The same members, by labels and in order of rank where all have joined through the first one."""

    def begun(start):
        setup = LiveSetup(
            protocol="gsgc", topology=topology("star", members=4), costs=costs("lan"), start=start
        )
        driver = LiveDriver(setup)
        driver.begin()
        while driver.sends_until_ps is None:
            driver.calendar.step(10**13)
        return [seat.engine for seat in driver.seats]

    given, joined = begun("joined"), begun("joining")
    assert [engine.label for engine in given] == [engine.label for engine in joined]
    for one, other in zip(given, joined, strict=True):
        assert sorted(one.labels) == sorted(other.labels)
        assert one.labels[0] == other.labels[0]
        assert one.view.line == other.view.line
        assert one.view.labels == other.view.labels
        assert one.view.incarnations == other.view.incarnations
        assert one.in_view.rank == one.labels.index(one.label)
