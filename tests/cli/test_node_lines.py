"""What ``stablecast node`` says of messages."""

import json

from stablecast.cli.node_lines import Lines
from stablecast.engine.results import (
    MessageId,
    MessagesLost,
    ProbablyStable,
    Stable,
    StableInSmallerView,
    TimedOut,
)

ID = MessageId("ann", 7)
BOTH, NOBODY = ("ann", "bob"), ()


def test_each_outcome_has_a_line_of_its_own():
    lines = Lines(as_json=False)
    assert lines.outcome(Stable(ID, BOTH, 0.0123)) == "stable: ann/7 at ann, bob after 12.3 ms\n"
    smaller = StableInSmallerView(ID, BOTH, ("cid",), 0.5)
    assert lines.outcome(smaller) == "stable: ann/7 at ann, bob after 500.0 ms; gone: cid\n"
    probably = ProbablyStable(ID, BOTH, NOBODY, 0.00051, 2.0)
    assert lines.outcome(probably) == "probably stable: ann/7 at ann, bob after 2000.0 ms; P_fail 0.00051\n"
    assert lines.outcome(TimedOut(ID, (), 1.0)) == "not stable: ann/7\n"


def test_json_names_what_is_only_probable():
    lines = Lines(as_json=True)
    told = json.loads(lines.outcome(ProbablyStable(ID, BOTH, ("cid",), 0.001, 2.0)))
    assert told == {
        "event": "probably_stable",
        "source": "ann",
        "seq": 7,
        "seconds": 2.0,
        "members": ["ann", "bob"],
        "gone": ["cid"],
        "p_fail": 0.001,
    }
    assert json.loads(lines.outcome(Stable(ID, BOTH, 0.5)))["event"] == "stable"


def test_lost_messages_are_named():
    assert Lines(as_json=False).event(MessagesLost("ann", 3, 3)) == "lost: ann/3\n"
    assert Lines(as_json=False).event(MessagesLost("ann", 3, 5)) == "lost: ann/3 to 5\n"
    told = json.loads(Lines(as_json=True).event(MessagesLost("ann", 3, 5)))
    assert told == {"event": "messages_lost", "source": "ann", "first": 3, "last": 5}
