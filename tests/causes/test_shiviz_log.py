"""Logs for ShiViz: what its parser takes, and clocks that agree with what happened before what."""

import json
import re

import numpy as np
import pytest
from causes_runs import random_rows, run_from

from stablecast.causes import shiviz
from stablecast.errors import InvalidInput


def parsed(text):
    """Take a log apart as ShiViz does: by the expression in its first line, after an empty one."""
    expression, between, log = text.split("\n", 2)
    assert between == ""
    found = re.compile(expression.replace("(?<", "(?P<")).finditer(log)
    return [(one["event"], one["host"], json.loads(one["clock"])) for one in found]


def happened_before(rows):
    """Return steps by member and number, and for each the set of steps that happened before it, from rows."""
    steps, transmitted, edges = [], {}, {}
    latest = {}
    for row in rows:
        step = row["member"], row["step"]
        if step not in edges:
            edges[step] = {latest[row["member"]]} if row["member"] in latest else set()
            steps.append(step)
            latest[row["member"]] = step
        if row["kind"] == "transmit":
            transmitted[row["member"], row["number"]] = step
        if row["kind"] == "arrive":
            edges[step].add(transmitted[row["peer"], row["number"]])
    before = {}
    for step in steps:  # rows stand in the order in which they happened
        before[step] = set(edges[step]).union(*(before[other] for other in edges[step]))
    return before


def is_before(one, other):
    return one != other and all(other.get(host, 0) >= count for host, count in one.items())


@pytest.mark.parametrize("seed", range(6))
def test_clocks_agree_with_what_happened_before_what(seed):
    rows = random_rows(seed, members=4, messages=5)
    before, events = happened_before(rows), parsed(shiviz(run_from(rows)))
    clocks = {(host, clock[host]): clock for _, host, clock in events}
    number = {step: k for host in {h for h, _ in before} for k, step in enumerate(_of(before, host), 1)}
    assert len(clocks) == len(events) == len(before)
    for one in before:
        for other in before:
            told = is_before(clocks[one[0], number[one]], clocks[other[0], number[other]])
            assert told == (one in before[other]), (seed, one, other)


def _of(before, host):
    return sorted(step for step in before if step[0] == host)


def test_a_window_has_clocks_of_its_own_from_one_on():
    rows = random_rows(3, members=4)
    times = sorted(row["time_us"] for row in rows)
    from_us, to_us = times[len(times) // 3], times[len(times) // 2]
    inside = {(row["member"], row["step"]) for row in rows if from_us <= row["time_us"] <= to_us}
    events = parsed(shiviz(run_from(rows), from_us=from_us, to_us=to_us))
    assert len(events) == len(inside)
    counts = {}
    for _, host, clock in events:
        counts[host] = counts.get(host, 0) + 1
        assert clock[host] == counts[host]
        assert all(count <= counts.get(other, 0) for other, count in clock.items())
    before = happened_before(rows)
    number = {
        step: k
        for host in counts
        for k, step in enumerate((one for one in _of(before, host) if one in inside), 1)
    }
    clocks = {(host, clock[host]): clock for _, host, clock in events}
    for one in inside:
        for other in inside:
            told = is_before(clocks[one[0], number[one]], clocks[other[0], number[other]])
            assert told == (one in before[other])


def test_names_with_white_space_and_line_ends_do_not_break_the_log():
    rows = [
        {"kind": "transmit", "member": "ann b", "number": 1, "message": "x\ny", "time_us": 1, "step": 1},
        {"kind": "arrive", "member": "ann_b", "peer": "ann b", "number": 1, "time_us": 2, "step": 1},
    ]
    events = parsed(shiviz(run_from(rows)))
    assert [(host, clock) for _, host, clock in events] == [
        ("ann_b", {"ann_b": 1}),
        ("ann_b_1", {"ann_b": 1, "ann_b_1": 1}),
    ]


def test_deliveries_alone_make_a_log_too():
    rows = [
        {"kind": "send", "member": "a", "source": "a", "seq": 1, "time_us": 5},
        {"kind": "receive", "member": "b", "source": "a", "seq": 1, "time_us": 9},
        {"kind": "send", "member": "b", "source": "b", "seq": 1, "time_us": 9},
    ]
    assert [clock for _, _, clock in parsed(shiviz(run_from(rows)))] == [
        {"a": 1},
        {"a": 1, "b": 1},
        {"a": 1, "b": 2},
    ]


def test_an_empty_window_is_said_in_one_line():
    with pytest.raises(InvalidInput, match="nothing happened in this window"):
        shiviz(run_from(random_rows(1)), from_us=10**9)


def test_clocks_that_run_apart_do_not_reorder_causes():
    rows = [
        {"kind": "transmit", "member": "a", "number": 1, "time_us": 100, "step": 1},
        {"kind": "arrive", "member": "b", "peer": "a", "number": 1, "time_us": 70, "step": 1},
    ]
    assert [clock for _, _, clock in parsed(shiviz(run_from(rows)))] == [{"a": 1}, {"a": 1, "b": 1}]


def test_clocks_are_small_numbers_whatever_the_steps_are():
    rows = [{"kind": "timer", "member": "a", "time_us": k, "step": 10 * k} for k in range(3)]
    assert [clock["a"] for _, _, clock in parsed(shiviz(run_from(rows)))] == np.arange(1, 4).tolist()
