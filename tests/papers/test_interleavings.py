import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from stablecast.papers.timestamp.connections import connection
from stablecast.papers.timestamp.connections.cases import CASES, FIGURE_4
from stablecast.papers.timestamp.connections.interleavings import Case, Violation, explore

STATES = {
    "one pair, three connections": 6623,
    "one pair, with all that is left over from earlier connections": 18838,
    "two senders": 40978,
    "two senders, one comes back, with all that is left over": 10723,
    "two senders, one comes back": 16456,
    "two receivers": 13772,
    "two receivers, one comes back": 18907,
    "two of each, a pair connects, another closes": 14946,
    "two of each, a pair connects and closes": 16313,
    "figure 4, node 3 connects to node 1 at any time": 3903,
}
"""What is explored, and in how many states."""
SOAKED = {
    "one pair, with all that is left over from earlier connections",
    "two senders",
    "two senders, one comes back",
    "two receivers, one comes back",
    "two of each, a pair connects and closes",
}
"""The largest take two thirds of the time; each of their kinds of event is in a smaller one as well."""


def test_every_case_is_explored():
    assert list(CASES) == list(STATES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name in SOAKED)) for name in STATES]
)
def test_in_every_reachable_state_the_promise_and_the_rules_hold_and_all_becomes_stable(name):
    explored = explore(CASES[name])
    assert explored.states == STATES[name]
    assert explored.refused == 0
    assert explored.quiet > 0
    assert explored.joined > 0
    assert explored.stable > 0


LEFT_OVER = CASES["one pair, with all that is left over from earlier connections"]
LATE_SENDER = Case(((1, 2), (1, 2)), 1, connected=((0, 0),), closing=())
LATE_RECEIVER = Case(((1, 2),), 2, connected=((0, 0),), closing=((0, 0),))

MUTATIONS = {
    "the first acknowledgement is not recorded": (
        LATE_SENDER,
        "link = link._replace(heard=value)",
        "link = link._replace(heard=0)",
        "went back",
    ),
    "a sender enters the group with its first message, not with the first acknowledgement to it": (
        LATE_SENDER,
        "link.heard is None and self.rules",
        "link.heard is None and False",
        "not in its group",
    ),
    "a sender enters the group before anything was acknowledged to it": (
        LATE_SENDER,
        "        if link.heard is None and self.rules:\n            return self, ()\n",
        "",
        "went back",
    ),
    "a message that is not above the acknowledgement adds the receiver": (
        LATE_SENDER,
        "return acknowledged is not None and timestamp > acknowledged",
        "return acknowledged is not None",
        "lacks it",
    ),
    "a message as high as the acknowledgement adds the receiver": (
        LATE_SENDER,
        "timestamp > acknowledged",
        "timestamp >= acknowledged",
        "lacks it",
    ),
    "a message adds a receiver that has not acknowledged anything": (
        LEFT_OVER,
        "return acknowledged is not None and timestamp > acknowledged",
        "return acknowledged is None or timestamp > acknowledged",
        "confirmed nothing",
    ),
    "a message that is not above the entry is delivered": (
        LATE_SENDER,
        "if link.heard is not None and timestamp <= link.heard:",
        "if False:",
        "went back",
    ),
    "acknowledgements of an earlier connection count": (
        LEFT_OVER,
        "        if not link.is_open or message.connection != link.connection:\n"
        "            return self, ()\n"
        "        return self._settled(",
        "        if not link.is_open:\n            return self, ()\n        return self._settled(",
        "not in its group",
    ),
    "the closing of an earlier connection closes the present one": (
        LEFT_OVER,
        "        if not link.is_open or message.connection != link.connection:\n"
        "            return self, ()\n"
        "        if isinstance(message, Close):",
        "        if not link.is_open:\n            return self, ()\n        if isinstance(message, Close):",
        "are connected",
    ),
    "a connection that is closed opens again": (
        LEFT_OVER,
        "if message.connection <= link.connection:",
        "if message.connection < link.connection:",
        "are connected",
    ),
    "a receiver that comes back is still counted": (
        LEFT_OVER,
        "return self._forget(ReceiverLink(message.peer, message.connection, is_open=True))",
        "return self._with(link._replace(connection=message.connection, is_open=True)), ()",
        "not in its group",
    ),
    "a sender that is gone stays in the group": (
        LEFT_OVER,
        "link._replace(is_open=False, heard=None)",
        "link._replace(is_open=False)",
        "without an acknowledgement channel",
    ),
    "a receiver that is gone is still counted": (
        LATE_RECEIVER,
        "return self._forget(ReceiverLink(message.peer, message.connection))",
        "return self, ()",
        "are connected",
    ),
    "the largest entry is acknowledged": (
        LATE_SENDER,
        "min(self.timestamp_vector.values()",
        "max(self.timestamp_vector.values()",
        "more than it has",
    ),
    "the largest acknowledgement decides": (
        LATE_RECEIVER,
        "min(side.acknowledgement_vector.values()",
        "max(side.acknowledgement_vector.values()",
        "lacks it",
    ),
    "without senders acknowledgements begin anew": (
        LEFT_OVER,
        "default=self.acknowledged)",
        "default=0)",
        "went back",
    ),
    "what is stable follows a receiver that joins": (
        LATE_RECEIVER,
        "if up_to <= side.stable_up_to:",
        "if up_to == side.stable_up_to:",
        "went back",
    ),
    "an old acknowledgement replaces a new one": (
        LEFT_OVER,
        "acknowledged=max(link.acknowledged or 0, message.timestamp)",
        "acknowledged=message.timestamp",
        "entry of the acknowledgement vector went back",
    ),
    "one message too many leaves the buffer": (
        LEFT_OVER,
        "if timestamp > up_to)",
        "if timestamp > up_to + 1)",
        "dropped",
    ),
}


@pytest.fixture
def broken(monkeypatch):
    """Make a copy of the module in which one piece of text is another."""

    def build(right, wrong):
        text = Path(connection.__file__).read_text()
        assert right in text, "the mutation no longer applies"
        module = ModuleType("broken_connection")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(text.replace(right, wrong), module.__name__, "exec"), module.__dict__)
        return module

    return build


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_rule_is_noticed(name, broken):
    case, right, wrong, reason = MUTATIONS[name]
    with pytest.raises(Violation, match=reason):
        explore(replace(case, machines=broken(right, wrong)))


BREAK_THE_PROMISE = [
    "the first acknowledgement is not recorded",
    "a sender enters the group with its first message, not with the first acknowledgement to it",
    "a message that is not above the acknowledgement adds the receiver",
    "a message as high as the acknowledgement adds the receiver",
    "a message adds a receiver that has not acknowledged anything",
    "a message that is not above the entry is delivered",
    "acknowledgements of an earlier connection count",
    "a receiver that comes back is still counted",
    "the largest entry is acknowledged",
    "the largest acknowledgement decides",
]
"""The others leave something waiting for ever, or let a number go back."""


@pytest.mark.parametrize("name", BREAK_THE_PROMISE)
def test_some_broken_rules_call_stable_what_a_receiver_lacks(name, broken):
    case, right, wrong, _ = MUTATIONS[name]
    with pytest.raises(Violation, match=r"stable, and receiver \d of its group lacks it"):
        explore(replace(case, machines=broken(right, wrong)), promise_only=True)


@pytest.mark.parametrize("case", [FIGURE_4, LATE_SENDER], ids=["figure 4", "two senders"])
def test_without_the_rules_some_order_of_events_breaks_the_promise(case):
    with pytest.raises(Violation, match=r"stable, and receiver \d of its group lacks it"):
        explore(replace(case, rules=False), promise_only=True)


def test_without_the_rules_a_single_sender_is_safe_while_nobody_comes_back():
    """The danger comes from one number that stands for several senders."""
    assert explore(replace(LATE_RECEIVER, rules=False), promise_only=True).stable > 0


def test_a_search_that_goes_on_counts_what_is_refused():
    without = explore(replace(LATE_SENDER, rules=False), promise_only=True, go_on=True)
    assert without.states == 2426
    assert without.refused == 300
    assert explore(LATE_SENDER, go_on=True).refused == 0


def test_a_search_that_goes_on_counts_steps_that_take_a_number_back(broken):
    forgets = replace(LATE_SENDER, machines=broken("link._replace(heard=value)", "link._replace(heard=0)"))
    only_states = explore(forgets, promise_only=True, go_on=True)
    assert explore(forgets, go_on=True).refused > only_states.refused
