"""The ways in which the paper's comparisons can be understood.

The paper compares its scheme with others by orders and bounds, and simulates nothing.  It leaves open what
counts as a byte, whether an acknowledgement is a message of its own and whom it goes to, how wide a timestamp
is, how far clocks are apart, and how often senders send.  Each reading decides these in one way for the whole
paper.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from stablecast.papers.reading import Choice, Options, Reading
from stablecast.simulate.topologies.registry import topology

APART = Choice(
    "an acknowledgement is a message of its own, every t_ack",
    "section 3: a receiver sends one at least every t_ack; sections 2 and 6: on channels for them,"
    " which may lose them, beside reliable ones for messages",
)
TO_ALL = Choice(
    "one acknowledgement goes to all senders, and counts once",
    "section 4: one timestamp value, or one vector, is sent for each receiver; bandwidth is O(N_r)",
)
WHOLE = Choice(
    "every message has a header of 32 bytes, which counts",
    "section 1: what is compared is the bandwidth that acknowledgements consume; a receiver is known by its"
    " acknowledgement (section 6)",
)
NARROW = Choice(
    "where bytes are compared, a timestamp takes 4 bytes, as a number of a vector does",
    "section 4: vectors take N_s times the bandwidth, so that one value of either kind takes the same",
)
TOGETHER = Choice("clocks do not differ", "section 4: perfectly synchronized physical clocks, for simplicity")
UNEQUAL = Choice(
    "where clocks are compared, one sender sends much more than the others",
    "section 5: in the example that shows what logical clocks lack, one sender sends five messages and the"
    " other one",
)
MAIN = Reading(
    name="own messages",
    about="Acknowledgements are messages of their own with headers, to all senders at once; clocks in step.",
    choices=(APART, TO_ALL, WHOLE, NARROW, TOGETHER, UNEQUAL),
)


def _with_a_ride(options: Options) -> Options:
    return {"piggyback_ms": options["ack_every_ms"]} if "ack_every_ms" in options else {}


def _apart_by_a_way(options: Options) -> Options:
    """Return a skew as large as the way between the most distant members, where clocks have none."""
    if options.get("clock") == "logical" or options.get("skew_us") or "propagation_us" not in options:
        return {}
    shape = tuple((name, options[name]) for name in ("topology", "nodes", "members") if name in options)
    return {"skew_us": _longest_way(shape) * float(options["propagation_us"])}


@cache
def _longest_way(shape: tuple[tuple[str, Any], ...]) -> int:
    """Return the links between two leaves on either side of a tree's root."""
    given = dict(shape)
    tree = topology(given.pop("topology"), **given).tree
    return 2 * (len(tree.level_starts) - 2)


READINGS = (
    MAIN,
    Reading(
        name="values alone",
        about="As the main reading, and nothing but values counts.",
        choices=(
            Choice(
                "messages have no headers",
                "section 4: bandwidth is counted in values, so that the factor between both schemes is N_s",
            ),
        ),
        options={"header_bytes": 0},
    ),
    Reading(
        name="in data",
        about="As the main reading, and an acknowledgement waits up to t_ack to travel in a data message.",
        choices=(
            Choice(
                "an acknowledgement travels in its sender's next data message, if that is due within t_ack",
                "section 2: typically all nodes send and receive; section 1: transitive acknowledgements are"
                " in newly generated messages",
            ),
        ),
        change=_with_a_ride,
    ),
    Reading(
        name="one for each sender",
        about="As the main reading, and each sender is sent an acknowledgement of its own.",
        choices=(
            Choice(
                "a receiver sends one acknowledgement to each of its senders",
                "section 6: there is a channel for acknowledgements between each receiver and each sender",
            ),
        ),
        options={"ack_to": "senders"},
    ),
    Reading(
        name="wide timestamps",
        about="As the main reading with timestamps of 8 bytes.",
        choices=(
            Choice(
                "a timestamp takes 8 bytes, a number of a vector 4",
                "section 2: clocks may be synchronized by GPS; 4 bytes of microseconds are over after 72"
                " minutes",
            ),
        ),
        options={"stamp_bytes": 8},
    ),
    Reading(
        name="clocks apart",
        about="As the main reading with clocks that differ by as much as section 2 allows.",
        choices=(
            Choice(
                "clocks differ by up to the latency between the most distant members",
                "section 2: to be efficient the skew should be less than the mean latency between the most"
                " distant sender and receiver",
            ),
        ),
        change=_apart_by_a_way,
    ),
    Reading(
        name="equal senders",
        about="As the main reading, and all senders send alike.",
        choices=(
            Choice(
                "all senders have the same rate, everywhere",
                "section 4: every sender sends at a minimum rate; no sender is named that sends more",
            ),
        ),
        options={"first_rates_per_s": ""},
    ),
)
EXCLUSIONS: dict[tuple[str, str], str] = {}
