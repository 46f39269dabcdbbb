"""A trace folded part by part has the tables of all events so far after every part, and carries little on."""

import io
import os
import random
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from analysis_compare import rows_of
from analysis_random_trace import Rates, random_trace
from analysis_traces import as_table, drawn, together
from test_whole import coded

from stablecast.delivery import membership
from stablecast.delivery.durations import SENT, TO_DETECT, TO_STABLE, Described
from stablecast.delivery.kinds import SEND, STABLE
from stablecast.delivery.stream.fold import Patience, State, Untimely, fold, folded_anew
from stablecast.delivery.tables import TABLES
from stablecast.delivery.whole import tables_of
from stablecast.errors import InvalidInput

SEED = 1 if os.environ.get("CI") else random.randrange(1 << 32)


class Stream:
    """Parts so far, the final rows of them, and the state; what is too late has all computed anew."""

    def __init__(self, patience, first_seq):
        self.patience, self.first_seq = patience, first_seq
        self.state, self.parts, self.final, self.folded, self.rebuilt = State.nothing(), [], [], None, 0

    def add(self, part):
        self.parts.append(part)
        try:
            self.folded = fold(self.state, part, self.patience, first_seq=self.first_seq)
        except Untimely:
            self.rebuilt += 1
            self.final = []
            self.folded, self.patience = folded_anew(self.parts, self.patience, first_seq=self.first_seq)
        self.state = self.folded.state
        self.final.append(self.folded.final)

    def tables(self):
        made = dict(self.folded.current)
        for name, rows in self.folded.open.items():
            made[name] = pa.concat_tables([*(final[name] for final in self.final), rows])
        return made

    def differences(self):
        """Return how the tables differ from those of all events so far."""
        ours, theirs = (
            self.tables(),
            tables_of(pa.concat_tables(self.parts), first_seq=self.first_seq),
        )
        lines = []
        for name in TABLES:
            left, right = (counted(table[name]) for table in (ours, theirs))
            lines += [f"{name}: only folded {row}" for row in (left - right).elements()]
            lines += [f"{name}: only whole {row}" for row in (right - left).elements()]
        return lines + self.differing_counts(theirs)

    def differing_counts(self, theirs):
        """Return how the counts for a summary differ from those of tables."""
        messages = theirs["messages"]
        took = [
            pc.subtract(messages[name], messages["sent_us"]) for name in ("stable_us", "detected_last_us")
        ]
        right = [len(messages), *(len(one.drop_null()) for one in took)]
        left = [Described(self.folded.durations, what).count for what in (SENT, TO_STABLE, TO_DETECT)]
        right += [sum(one.drop_null().to_pylist()) for one in took]
        left += [total_of(self.folded.durations, what) for what in (TO_STABLE, TO_DETECT)]
        kinds = Counter(theirs["violations"]["kind"].to_pylist())
        told = {kind: count for kind, count in self.folded.violations.items() if count}
        wrong = [] if left == right else [f"counts: folded {left}, whole {right}"]
        return wrong if kinds == told else [*wrong, f"violations: folded {told}, whole {kinds}"]


def total_of(durations, what):
    return sum(durations.filter(pc.equal(durations["what"], what))["total"].to_pylist())


def counted(table):
    return Counter(map(repr, rows_of(table)))


def kept_as_files(state):
    """Return a state that was written to Parquet and read again."""
    tables = {}
    for name, table in state.to_tables().items():
        file = io.BytesIO()
        pq.write_table(table, file)
        tables[name] = pq.read_table(file)
    return State.of_tables(tables)


def parts_of(table, chance, disorder_us):
    """Cut events into parts, in the order of their times and of a delay of each of them."""
    times = [time + chance.randint(0, disorder_us) for time in table["time_us"].to_pylist()]
    order = sorted(range(len(times)), key=lambda place: (times[place], chance.random()))
    table = table.take(pa.array(order, pa.int64()))
    cuts = sorted(chance.randint(0, len(order)) for _ in range(chance.randint(0, 5)))
    bounds = [0, *cuts, len(order)]
    return [table.slice(begin, end - begin) for begin, end in pairwise(bounds)]


def one_after_another(traces, chance):
    """Return traces as one long one, each after the other in time and in its messages' numbers."""
    events, begin_us, first = [], 0, 0
    for trace in traces:
        origin_us = min((e.time_us for e in trace), default=0)
        for e in trace:
            seq = None if e.seq is None else e.seq + first
            events.append(e._replace(group="a", seq=seq, time_us=e.time_us - origin_us + begin_us))
        begin_us += chance.randint(0, 40)
        first += chance.choice([3, 4, 5])
    return events


def of_chance(traces, chance):
    """Return traces as groups of one trace, or one after another in one group."""
    if chance.randrange(2):
        return together(traces)
    return together([one_after_another(traces, chance), traces[0]][: chance.randint(1, 2)])


def checked(traces, seed):
    """Fold traces in parts; return what is wrong after the first part at which anything is."""
    chance = random.Random(seed)
    events = of_chance(traces, chance)
    patience = Patience(chance.choice([0, 1, 2, 5, 20]), chance.choice([0, 2, 10, 1000]))
    disorder_us = chance.choice([0, 0, patience.delay_us, 2 * patience.delay_us + 3])
    stream = Stream(patience, chance.choice([1, 1, "earliest"]))
    for number, part in enumerate(parts_of(coded(as_table(events)), chance, disorder_us)):
        stream.add(part)
        if not chance.randrange(8):
            stream.state = kept_as_files(stream.state)
        lines = stream.differences()
        if lines:
            told = [f"seed {SEED}, trace seed {seed}, part {number} of {patience}", *lines[:20]]
            return stream, "\n".join(told)
    return stream, ""


@pytest.mark.parametrize("traces", [300, pytest.param(5000, marks=pytest.mark.soak)])
def test_every_part_of_small_traces_gives_the_tables_of_all_events_so_far(traces):
    small = drawn(traces, SEED)
    rebuilt, parts, final, unsent, place = 0, 0, 0, 0, 0
    while place < len(small):
        count = 1 + (SEED + place) % 5
        stream, wrong = checked(small[place : place + count], f"{SEED}-{place}")
        assert not wrong, wrong
        rebuilt, parts = rebuilt + stream.rebuilt, parts + len(stream.parts)
        final += sum(len(one["messages"]) for one in stream.final)
        unsent += sum(one["violations"]["kind"].to_pylist().count("missing_send") for one in stream.final)
        place += count
    print(f"seed {SEED}: {parts} parts, {rebuilt} times anew, {final} final messages, {unsent} unsent")
    assert rebuilt < parts / 2
    assert final > len(small) / 4
    assert unsent > len(small) / 40


@pytest.mark.parametrize("first_seq", [1, "earliest"])
def test_parts_of_a_large_trace_give_its_tables(first_seq):
    rates = Rates(after_departure=0.001)
    trace = random_trace(
        SEED, groups=2, members=6, sources=2, messages=6000, releases=0.95, claims=0.9, rates=rates
    )
    table = coded(trace).sort_by("time_us")
    stream = Stream(Patience(60_000, 200_000), first_seq)
    step = len(table) // 8 + 1
    for begin in range(0, len(table), step):
        stream.add(table.slice(begin, step))
        assert not stream.differences(), f"seed {SEED}"
    assert sum(len(one["messages"]) for one in stream.final) > 1000, f"seed {SEED}"


def test_the_course_becomes_coarser_with_more_names_and_stays_that_of_the_whole(monkeypatch):
    monkeypatch.setattr(membership, "OCCUPANCY_ROWS_BITS", 11)
    table = coded(random_trace(SEED, groups=2, members=12, sources=2, messages=2000)).sort_by("time_us")
    alone = pc.equal(table["group"], "group0")
    parts = [
        table.filter(alone).slice(0, 5000),
        table.filter(alone).slice(5000),
        table.filter(pc.invert(alone)),
    ]
    stream, lengths = Stream(Patience(60_000, 200_000), 1), []
    for part in parts:
        stream.add(part)
        assert not stream.differences(), f"seed {SEED}"
        course = stream.tables()["occupancy"].filter(pc.field("group") == "group0")
        lengths.append(max(Counter(course["member"].to_pylist()).values()))
    assert lengths[2] <= 65, f"seed {SEED}: {lengths} rows of a member at most"
    assert lengths[2] < 0.7 * lengths[1], f"seed {SEED}: {lengths} rows of a member at most"


def healthy(first, last, gap_us=1000, members=("a", "b", "c")):
    """Return events of a group in which everybody claims and releases every message soon."""
    rows = [("healthy", "join", member, None, None, 0, None) for member in members] if first == 1 else []
    for seq in range(first, last + 1):
        sent = seq * gap_us
        rows.append(("healthy", "send", "a", "a", seq, sent, 100))
        for k, member in enumerate(members):
            rows.append(("healthy", "receive", member, "a", seq, sent + 100 * k, None))
            rows.append(("healthy", "stable", member, "a", seq, sent + 300 + k, None))
            rows.append(("healthy", "release", member, "a", seq, sent + 400 + k, None))
    return coded(as_table(rows))


def test_the_state_of_a_healthy_stream_does_not_grow():
    state, patience, sizes = State.nothing(), Patience(20_000, 1_000_000), []
    for part in range(60):
        folded = fold(state, healthy(part * 100 + 1, part * 100 + 100), patience)
        state = folded.state
        rest = state.rows - len(state.tables["course"]) - len(state.tables["durations"])
        sizes.append(rest)
    assert max(sizes) < 300
    assert max(sizes[30:]) <= max(sizes[:30])
    assert len(state.tables["course"]) <= 3 * 513
    assert not any(folded.violations.values())


def without_sends(first, last):
    events = healthy(first, last)
    return events.filter(pc.not_equal(events["kind"], SEND))


def test_the_state_does_not_grow_if_what_a_member_sent_was_not_collected():
    stream, sizes = Stream(Patience(20_000, 10_000), 1), []
    for part in range(30):
        stream.add(without_sends(part * 100 + 1, part * 100 + 100))
        assert not stream.differences()
        sizes.append(stream.state.rows - len(stream.state.tables["course"]))
    assert stream.rebuilt == 0
    assert stream.folded.violations["missing_send"] == 3000
    assert max(sizes[15:]) <= max(sizes[:15]) < 400
    assert stream.state.tables["unsent"].num_rows == 1


def test_numbers_that_left_unsent_are_let_go_once_later_ones_were_sent():
    stream = Stream(Patience(20_000, 10_000), 1)
    for part in (without_sends(1, 100), healthy(101, 200)):
        stream.add(part)
        assert not stream.differences()
    assert stream.state.tables["unsent"].num_rows == 0
    assert stream.state.tables["line"]["last_seq"].to_pylist()[0] > 100


UNSENT = [
    ("join", "a", None, None, 0, None),
    ("join", "b", None, None, 0, None),
    ("receive", "b", "a", 7, 1_000, None),
    ("join", "c", None, None, 100_000, None),
]


@pytest.mark.parametrize(
    "late",
    [("send", "a", "a", 7, 100_000, 10), ("release", "b", "a", 7, 100_000, None)],
    ids=["a sending", "a release"],
)
def test_what_happens_to_a_message_that_left_unsent_is_untimely(late):
    rows = coded(as_table([("g", *row) for row in UNSENT]))
    late = coded(as_table([("g", *late)]))
    for linger, waits in ((10_000, False), (1_000_000, True)):
        stream = Stream(Patience(20_000, linger), 1)
        stream.add(rows)
        assert stream.state.carried_rows == waits
        if not waits:
            with pytest.raises(Untimely, match="of messages that have left"):
                fold(stream.state, late, stream.patience)
        stream.add(late)
        assert not stream.differences()


@pytest.mark.parametrize("claim_us", [500, 1_000, 2_000, 100_000])
def test_a_missing_send_is_told_once_by_receipt_and_claim(claim_us):
    """A receipt at b and a claim of a both tell of number 7, and 1 alone was sent; at 1000 a is the first."""
    events = [("g", *row) for row in [*UNSENT, ("send", "a", "a", 1, 0, 10)]]
    claim = ("g", "stable", "a", "a", 7, claim_us, None)
    stream = Stream(Patience(20_000, 10_000), 1)
    early = claim_us < 100_000
    stream.add(coded(as_table([*events, claim] if early else events)))
    assert not stream.differences()
    stream.add(coded(as_table([("g", "receive", "b", "a", 1, 100_000, None) if early else claim])))
    assert not stream.differences()
    assert (stream.rebuilt, stream.folded.violations["missing_send"]) == (0, 1)
    assert stream.state.tables["unsent"].num_rows == (claim_us > 1_000)


def test_counts_for_a_summary_are_of_all_parts():
    state, patience = State.nothing(), Patience(20_000, 1_000_000)
    for part in range(3):
        folded = fold(state, healthy(part * 100 + 1, part * 100 + 100), patience)
        state = folded.state
    counts = [Described(folded.durations, what).count for what in (SENT, TO_STABLE, TO_DETECT)]
    assert counts == [300, 300, 300]
    assert folded.scan.kinds == {"join": 3, "receive": 900, "release": 900, "send": 300, "stable": 900}
    assert 0 < folded.open_messages < 30
    assert state.carried_rows <= 10 * folded.open_messages
    totals = folded.durations.filter(pc.equal(folded.durations["what"], TO_STABLE))
    assert sum(totals["total"].to_pylist()) == 300 * 200


AT_LAST_US = 99_999
LATE = {
    "older than the watermark": ("receive", "b", "a", 99, 10_000, None),
    "of messages that have left": ("receive", "b", "a", 5, AT_LAST_US, None),
    "no longer waited for": ("stable", "d", "a", 99, AT_LAST_US, None),
    "joined group 'open', which messages have left, for the first": (
        "join",
        "e",
        None,
        None,
        AT_LAST_US,
        None,
    ),
    "is a new member of group 'open'": ("receive", "e", "a", 99, AT_LAST_US, None),
    "what members held before": ("send", "a", "a", 200, AT_LAST_US, 100),
}


@pytest.mark.parametrize("told", LATE)
def test_what_makes_the_past_another_one_is_untimely(told):
    """In a group without joins, in which one member does not claim and a message is received unsent."""
    events = healthy(1, 100, members=("a", "b", "c", "d"))
    events = events.filter(pc.greater(events["time_us"], 0))
    silent = pc.and_(pc.equal(events["kind"], STABLE), pc.equal(events["member"], "d"))
    events = events.filter(pc.invert(silent)).set_column(0, "group", pa.array(["open"] * 1200))
    unsent = coded(as_table([("open", "receive", "b", "a", 200, 50_000, None)]))
    state = fold(State.nothing(), pa.concat_tables([events, unsent]), Patience(20_000, 1_000_000)).state
    late = coded(as_table([("open", *LATE[told])]))
    with pytest.raises(Untimely, match=told):
        fold(state, late, Patience(20_000, 1_000_000))


def test_a_state_that_lacks_tables_and_no_patience_are_refused():
    with pytest.raises(InvalidInput, match="lacks changes, claimers"):
        State.of_tables({})
    with pytest.raises(InvalidInput, match="at least 0"):
        Patience(-1)
