"""Cumulative receipts become one for each number, as going through them in the order of time gives it."""

import os
import random
from collections import Counter, defaultdict

import pyarrow.parquet as pq
import pytest
from analysis_plain import Event
from analysis_traces import as_table
from pyspark.sql.functions import lit

from stablecast.pipeline.analysis.cumulative import one_by_one
from stablecast.pipeline.analysis.scan import scanned
from stablecast.pipeline.analysis.workspace import WorkFolder

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)
LARGEST = 2**63 - 1
EXAMPLES = {
    "what goes back or comes again adds nothing": (
        range(1, 6),
        [(0, 2), (1, 2), (2, 1), (3, 4), (4, 3), (5, 4)],
        [(1, 0), (2, 0), (3, 3), (4, 3)],
    ),
    "what was not sent is not received": ([3, 4, 7], [(1, 2), (2, 6), (3, 99)], [(3, 2), (4, 2), (7, 3)]),
    "runs of numbers end and begin": (
        [0, 254, 255, 256, 257, 511, 512],
        [(1, 255), (2, 256), (9, 511), (5, 600)],
        [(0, 1), (254, 1), (255, 1), (256, 2), (257, 5), (511, 5), (512, 5)],
    ),
    "numbers are far apart": (
        [0, 10**15, LARGEST],
        [(3, 10**15 + 7), (4, LARGEST)],
        [(0, 3), (10**15, 3), (LARGEST, 4)],
    ),
    "nobody sent anything": ([], [(1, 9)], []),
}
"""Numbers sent; commits as (time, number); receipts as (number, time)."""
SOURCES = {"a": 0, "b": 1, "c": 10**12, "quiet": 0}
"""With their first numbers."""


def send(group, source, seq):
    return Event(group, "send", source, source, seq, 0, 10)


def receive(group, member, source, seq, time_us):
    return Event(group, "receive", member, source, seq, time_us, None)


def example_events():
    for group, (numbers, commits, _) in EXAMPLES.items():
        yield from (send(group, "s", number) for number in numbers)
        yield from (receive(group, "m", "s", number, time_us) for time_us, number in commits)


def random_events(draw):
    """Yield sends with gaps and some twice, and commits in no order, back, and beyond the end."""
    for group in ("g", "h"):
        yield Event(group, "stable", "m", "a", 9, 50, None)
        for source, begin in SOURCES.items():
            if source == "quiet":
                continue
            numbers = [begin + k for k in range(draw.randrange(1500)) if draw.random() < 0.9]
            yield from (send(group, source, number) for number in numbers + numbers[:5])
        for _ in range(draw.randrange(300)):
            source = draw.choice(list(SOURCES))
            seq = max(0, SOURCES[source] + draw.randrange(-300, 2000))
            yield receive(group, draw.choice("amn"), source, seq, draw.randrange(-20, 200))


def in_order(events):
    """Return the receipts that cumulative ones stand for, going through them as they were made."""
    numbers = defaultdict(set)
    for event in events:
        if event.kind == "send":
            numbers[event.group, event.source].add(event.seq)
    have, receipts = defaultdict(lambda: -1), []
    for event in sorted(events, key=lambda event: event.time_us):
        if event.kind != "receive":
            continue
        key = event.group, event.source, event.member
        new = [n for n in numbers[event.group, event.source] if have[key] < n <= event.seq]
        receipts += [event._replace(seq=number) for number in new]
        have[key] = max(have[key], event.seq)
    return receipts


class Expanded:
    """Events of all tests, in one run of Spark."""

    def __init__(self, spark, folder):
        self.events = [*example_events(), *random_events(random.Random(SEED))]
        pq.write_table(as_table(self.events), folder / "events.parquet")
        rows = spark.read.parquet(f"{folder}/events.parquet")
        work = WorkFolder(folder, spark)
        self.before = scanned(rows.withColumn("problem", lit(None).cast("string")), work, None)
        self.after = one_by_one(self.before, work)
        self.found = [Event(*row) for row in self.after.good.collect()]


@pytest.fixture(scope="module")
def expanded(spark, tmp_path_factory):
    return Expanded(spark, tmp_path_factory.mktemp("cumulative"))


@pytest.mark.parametrize("group", EXAMPLES)
def test_each_number_is_received_when_it_is_first_covered(expanded, group):
    found = [(e.seq, e.time_us) for e in expanded.found if e.group == group and e.kind == "receive"]
    assert sorted(found) == EXAMPLES[group][2]


def test_random_commits_give_what_going_through_them_in_order_gives(expanded):
    found = Counter(e for e in expanded.found if e.kind == "receive" and e.group in ("g", "h"))
    wanted = Counter(in_order([e for e in expanded.events if e.group in ("g", "h")]))
    assert found == wanted, f"seed {SEED}: {found - wanted} instead of {wanted - found}"


def test_other_events_and_what_the_scan_found_stay(expanded):
    others = Counter(event for event in expanded.events if event.kind != "receive")
    assert Counter(event for event in expanded.found if event.kind != "receive") == others
    assert expanded.after.table is expanded.before.table
    assert expanded.after.kinds == expanded.before.kinds
    assert expanded.after.events >= len(expanded.found)
