"""Closed forms that cut the space before anything is simulated, and refuse what nothing can do.

Floors
    A sender knows that all have a message when the news of the last one has come back: after a way there and
    a way back at least, and after what hosts take for one datagram each way.  With some protocols the news
    passes through several members, one after the other: ``ways``.  Where a protocol takes steps, half of all
    messages come at least ``STEP_SHARE`` of a step before the next one.
Limits
    All that is sent has to come through each member's link and processor.  What is not known to be stable is
    kept, so by Little's law a sender's share of the buffers has to hold what it sends in the time to stable.
What may be cut
    A candidate whose floor is above a limit that has to be kept, or more than ``MARGIN`` times above what
    ``explicit`` needs at most, where that takes little of every processor and most messages come through the
    first time.  A candidate whose messages alone would take a processor several times over.  Nothing else: a
    floor says little about what is just above it.
What can go wrong
    A floor that is too high would cut what is good.  So each leaves out what it does not know: queues,
    losses, waiting for steps of others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stablecast.advisor.candidates import LARGEST, WITHOUT_STEPS, Candidate
from stablecast.advisor.goals import SOONEST
from stablecast.advisor.question import Question
from stablecast.engine.options import Options
from stablecast.errors import StablecastError

FRAME_BYTES = 60
"""What a message has beside its payload in a datagram, headers not counted: a little less than it is."""
STEP_SHARE = 0.3
MARGIN = 2.0
QUIET = 0.3
"""Load of processors below which they hardly make anybody wait."""
MOSTLY = 0.6
"""Share of messages that come to all the first time, from which on losses do not show in the median."""
OVERLOAD = 3.0
ATTACHING = 4.0
"""Members from which on simulating a datagram takes longer, in proportion, where each message carries numbers
of all members: 0.7 ms with 64 of them, and 0.05 ms elsewhere."""
BELOW_P99 = 0.01
FOUND_OUT = 0.9
"""Share of the silence that is left of it when a message is sent that waits among the longest hundredth."""
SIGNS_PER_S = 32.0
"""Datagrams that an idle member sends in a second."""


class Impossible(StablecastError):
    """No candidate can do what was asked for; the message says what stands in the way."""


@dataclass(frozen=True)
class Load:
    """What a candidate's datagrams come to, in a second."""

    busiest: float
    """Share of its time for which the busiest member's processor is taken."""
    datagrams: float
    """Datagrams of all members."""


def parts(question: Question) -> int:
    """Return the datagrams that a message needs."""
    return max(1, math.ceil((question.message_bytes + FRAME_BYTES) / LARGEST))


def send_us(question: Question) -> float:
    """Return what a host takes to send a datagram with a message, or its part."""
    costs = question.figures
    size = min(question.message_bytes + FRAME_BYTES, LARGEST) + costs.header_bytes
    return costs.send_us + costs.send_us_per_byte * size


def receive_us(question: Question) -> float:
    """Return what a host takes to receive one."""
    return send_us(question) * question.figures.receive_factor


def floor_ms(question: Question) -> float:
    """Return the time to stable that nothing comes below: there and back, and once through each host."""
    hosts_us = send_us(question) + receive_us(question)
    back_us = question.figures.send_us * (1 + question.figures.receive_factor)
    return 1e3 * question.trip_s + (hosts_us + back_us) / 1e3


def floor_p99_ms(question: Question) -> float:
    """Return the 99th percentile that nothing comes below: what was lost takes another round trip."""
    if question.crashes:
        return 1e3 * Options.fail_after * FOUND_OUT
    lost = 1 - (1 - question.lost_share) ** (question.members - 1)
    return (2e3 * question.trip_s if lost > BELOW_P99 else 0.0) or floor_ms(question)


def ways(candidate: Candidate, members: int, senders: int) -> int:
    """Return through how many members at least news goes one after the other, until a sender knows."""
    name, others = candidate.protocol, members - 1
    degree = min(int(dict(candidate.params).get("tree_degree", 8)), others)
    levels = max(1, math.floor(math.log(max(1, others * (degree - 1)) + 1, degree))) if degree > 1 else others
    told = 0 if senders == 1 else 1
    """The first sender is the root, and the coordinator."""
    return {
        "coordp": 2 + told,
        "s_coord": 1 + levels + told,
        "s_coordp": 1 + levels + told,
        "train": 1 + others,
        "s_train": 2 + min(degree, others),
        "cubefulldist": 1 + max(1, math.floor(math.log2(members))),
    }.get(name, 2)


def candidate_floor_ms(question: Question, candidate: Candidate) -> float:
    """Return the median that a candidate does not come below."""
    way_ms = 1e3 * question.trip_s / 2
    hop_ms = question.figures.send_us * (1 + question.figures.receive_factor) / 1e3
    passed = ways(candidate, question.members, question.senders_there)
    step_ms = 0.0
    if candidate.protocol not in WITHOUT_STEPS:
        step_ms = 1e3 * STEP_SHARE * candidate.step_s(question.members)
    return max(passed * (way_ms + hop_ms), step_ms)


def load_of(question: Question, candidate: Candidate) -> Load:
    """Return what a candidate's datagrams take, roughly: messages, a step's, and signs of life."""
    n, m = question.members, question.senders_there
    degree = min(int(dict(candidate.params).get("tree_degree", 8)), n - 1)
    subgroup = int(dict(candidate.params).get("subgroup", 1 if candidate.protocol == "gsgc-local" else 3))
    to_all = n - 1 if dict(candidate.params).get("ack_to", "all") == "all" else m
    busiest, total = {
        "coordp": (3 * (n - 1), 3 * (n - 1)),
        "fulldist": (2 * (n - 1), n * (n - 1)),
        "vector": (2 * to_all, n * to_all),
        "timestamp": (2 * to_all, n * to_all),
        "train": (4, 2 * n),
        "s_train": (2 * degree, 2 * n),
        "s_coord": (3 * degree, 2 * n),
        "s_coordp": (degree + n, 2 * n),
        "gsgc": (2 * subgroup, n * subgroup),
        "gsgc-local": (2 * subgroup, n * subgroup),
        "cubefulldist": (2 * math.ceil(math.log2(n)), n * math.ceil(math.log2(n))),
    }.get(candidate.protocol, (0, 0))
    step_s = candidate.step_s(n)
    pieces = question.rate_per_s * parts(question)
    answers = question.rate_per_s * (n - 1) if candidate.protocol == "explicit" else 0.0
    datagrams = pieces * (n - 1) + total / step_s + answers + SIGNS_PER_S * n
    received_us = pieces * receive_us(question)
    each_us = question.figures.send_us * (1 + question.figures.receive_factor) / 2
    busy_us = received_us + each_us * (busiest / step_s + answers / m)
    return Load(busy_us / 1e6, datagrams)


def work(question: Question, candidate: Candidate) -> float:
    """Return the datagrams of a run, roughly: what simulating it takes."""
    dear = question.members / ATTACHING if candidate.protocol == "transitive" else 1.0
    return load_of(question, candidate).datagrams * (question.seconds + 0.2) * max(1.0, dear)


def refuse_impossible(question: Question) -> None:
    """Refuse what no protocol can do, with the limit that binds."""
    costs, n = question.figures, question.members
    wire_bytes = question.message_bytes + parts(question) * (FRAME_BYTES + costs.header_bytes)
    bits = question.rate_per_s * wire_bytes * 8 * (n - 1) / n
    if bits > costs.bandwidth_bps:
        raise Impossible(
            f"impossible: messages alone are {bits:,.0f} bits a second on each member's link, which carries"
            f" {costs.bandwidth_bps:,.0f} (binds: the link; fewer or smaller messages, or --bandwidth-bps)"
        )
    datagrams = question.rate_per_s * wire_bytes / LARGEST
    busy = datagrams * costs.send_us * costs.receive_factor / 1e6
    shared = busy * (n - 1) / question.cores if question.cores else busy
    if shared > 1:
        raise Impossible(
            f"impossible: receiving {datagrams:,.0f} full datagrams a second takes {shared:.1f} times the"
            " processor time that there is (binds: the processor; fewer or smaller messages, fewer members)"
        )
    share = question.buffer_bytes / n
    unstable = (
        question.rate_per_s / question.senders_there * question.message_bytes * floor_ms(question) / 1e3
    )
    if unstable > max(share, question.message_bytes):
        raise Impossible(
            f"impossible: a sender has {unstable:,.0f} bytes on their way in the {floor_ms(question):.3g} ms"
            f" that a message and its answers take, and its share of the buffers is {share:,.0f} (binds: the"
            " buffer; a larger --buffer-mib, or more senders for the same rate)"
        )
    limit = question.wanted.limit_ms
    if limit is not None and floor_p99_ms(question) > limit:
        what = (
            f"a crash is found out after {Options.fail_after:g} s of silence (binds: fail_after)"
            if question.crashes
            else "messages, answers and what was lost take so long on this network (binds: the round trip)"
        )
        raise Impossible(
            f"impossible: a 99th percentile of {limit:g} ms is below {floor_p99_ms(question):.3g} ms: {what}"
        )


def quick_ms(question: Question) -> float:
    """Return what ``explicit`` needs at most for half of the messages; infinite where that is not known."""
    load = load_of(question, Candidate("explicit"))
    mostly = (1 - question.lost_share) ** (question.members - 1) > MOSTLY
    per_core = load.busiest * (question.members / question.cores if question.cores else 1)
    if per_core > QUIET or not mostly or question.crashes:
        return math.inf
    hosts_ms = (question.members + 1) * (send_us(question) + receive_us(question)) / 1e3
    bits = question.members * parts(question) * min(question.message_bytes + 200, 2 * LARGEST) * 8
    return 1e3 * question.trip_s + 2 * hosts_ms + 2e3 * bits / question.figures.bandwidth_bps


def cut(question: Question, found: list[Candidate]) -> list[Candidate]:
    """Return the candidates that closed forms leave, the default always among them."""
    quick = quick_ms(question)
    limit = question.wanted.limit_ms or math.inf
    kept = []
    for candidate in found:
        floor = candidate_floor_ms(question, candidate)
        too_slow = floor > limit or (question.wanted.name == SOONEST and floor > MARGIN * quick)
        if not too_slow and load_of(question, candidate).busiest <= OVERLOAD:
            kept.append(candidate)
    return sorted(kept or found, key=lambda each: (candidate_floor_ms(question, each), each))
