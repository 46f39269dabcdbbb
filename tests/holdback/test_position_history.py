"""Which rows snapshots add, and what an audit says of them."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from logs import log_of, snapshot_of

from stablecast.holdback.audit import Deletion as Gone
from stablecast.holdback.audit import Event, audit
from stablecast.holdback.collecting.history import Known, Row, add
from stablecast.holdback.model import Amount, Log, Reader
from stablecast.holdback.numbering import Numbering, parse_stream_id
from stablecast.holdback.sources import open_source


class History:
    """What a series of snapshots adds."""

    def __init__(self):
        self.known, self.rows, self.deletions, self.held, self.problems = {}, [], [], [], []
        self.time_us = 0

    def see(self, *logs, time_us=None, **more):
        self.time_us = self.time_us + 1000 if time_us is None else time_us
        return self.take(add(self.known, replace(snapshot_of(*logs, **more), time_us=self.time_us)))

    def take(self, added):
        for key, one in added.known.items():
            if one is None:
                del self.known[key]
            else:
                self.known[key] = Known.of(one.plain())
        self.rows += added.rows
        self.deletions += added.deletions
        self.held += added.held
        self.problems += added.problems
        return added

    def audit(self):
        return audit([Event(*row) for row in self.rows], [Gone(*row) for row in self.deletions])

    def losses(self):
        return [(loss.member, loss.from_seq, loss.to_seq) for loss in self.audit().losses]


def test_readers_of_the_first_snapshot_owe_all_of_it():
    history = History()
    history.see(log_of(100, {"a": 20, "b": None}))
    assert history.rows == [
        Row("g", "join", "a", None, None, 1000),
        Row("g", "join", "b", None, None, 1000),
        Row("g", "head", "s", "s", 100, 1000),
        Row("g", "position", "a", "s", 20, 1000),
        Row("g", "position", "b", "s", 0, 1000),
    ]


def test_only_what_changed_is_written():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 100}))
    assert not history.see(log_of(100, {"a": 20, "b": 100})).rows
    added = history.see(log_of(120, {"a": 30, "b": 100}))
    assert [(row.kind, row.member, row.seq) for row in added.rows] == [
        ("head", "s", 120),
        ("position", "a", 30),
    ]


def test_readers_come_and_go():
    history = History()
    history.see(log_of(100, {"a": 20}))
    added = history.see(log_of(100, {"b": 90}))
    assert [(row.kind, row.member) for row in added.rows] == [
        ("join", "b"),
        ("position", "b"),
        ("leave", "a"),
    ]


def test_nobody_has_left_if_the_snapshot_is_not_whole():
    history = History()
    history.see(log_of(100, {"a": 20}))
    assert not history.see(log_of(100, {}), problems=("no rights",)).rows
    assert not history.see(problems=("no rights",)).rows
    assert [row.kind for row in history.see().rows] == ["leave"]


def test_a_slot_that_is_lost_has_left():
    history = History()
    history.see(log_of(100, {"a": 20}))
    assert [row.kind for row in history.see(log_of(100, {"a": 20}, gone={"a"})).rows] == ["leave"]


def lost(log, *names):
    """Return a log that has deleted what some needed, as PostgreSQL tells it."""
    return replace(log, readers=tuple(
        replace(one, holds=False, details={"wal_status": "lost"}) if one.member in names else one
        for one in log.readers
    ))  # fmt: skip


def test_a_slot_that_postgresql_calls_lost_has_lost_what_it_needed():
    history = History()
    slots = {"a": 20, "b": 50, "c": 100}
    history.see(log_of(100, slots))
    added = history.see(lost(log_of(100, slots, first_seq=41), "a", "c"))
    assert history.losses() == [("a", 21, 40)]
    assert [(row.kind, row.member, row.time_us) for row in added.rows] == [
        ("leave", "a", 2001), ("leave", "c", 2001)
    ]  # fmt: skip
    history.see(lost(log_of(110, slots, first_seq=61), "a", "c"))
    assert history.losses() == [("a", 21, 40), ("b", 51, 60)]


def test_a_slot_is_lost_even_if_its_first_byte_is_still_there():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 20}))
    history.see(lost(log_of(100, {"a": None, "b": 20}), "a"))
    assert (history.losses(), history.audit().undecided) == ([("a", 21, 21)], 1)


def test_a_log_that_begins_anew_is_another_group():
    history = History()
    history.see(log_of(100, {"a": 20}))
    added = history.see(log_of(5, {"a": 5}))
    assert [(row.group, row.kind, row.seq) for row in added.rows] == [
        ("g", "leave", None), ("g#2", "join", None), ("g#2", "head", 5), ("g#2", "position", 5)
    ]  # fmt: skip
    assert {row.group for row in history.see(log_of(1, {})).rows} == {"g#2", "g#3"}
    assert history.losses() == []


def test_a_log_that_was_missing_and_comes_back_smaller_is_another_group():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 100}))
    assert [row.kind for row in history.see().rows] == ["leave", "leave"]
    assert history.see().rows == []
    added = history.see(log_of(5, {"a": 5, "b": 5}))
    assert ("g#2", "head", 5) in [(row.group, row.kind, row.seq) for row in added.rows]
    assert (history.losses(), history.audit().undecided) == ([], 1)
    history.see(log_of(9, {"a": 5, "b": 9}))
    history.see(log_of(9, {"a": 5, "b": 9}, first_seq=8))
    assert history.losses() == [("a", 6, 7)]


def test_what_was_deleted_while_a_log_was_missing_is_judged():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 70, "c": 30}))
    history.see()
    history.see(log_of(100, {"a": 20, "b": 70, "c": 60}, first_seq=51))
    assert (history.losses(), history.audit().undecided) == ([("a", 21, 50)], 1)


def test_no_log_gets_the_name_of_another():
    history = History()
    other = replace(log_of(50, {"b": 30}), group="g#2")
    history.see(log_of(100, {"a": 20}), other)
    assert {row.group for row in history.see(log_of(5, {"a": 5}), other).rows} == {"g", "g#3"}
    late = replace(log_of(50, {"b": 30}), group="g#3", source="t")
    assert {row.group for row in history.see(log_of(5, {"a": 5}), other, late).rows} == {"g#4"}


def test_logs_that_are_gone_are_forgotten_at_last(monkeypatch):
    monkeypatch.setattr("stablecast.holdback.collecting.history.MOST_ABSENT", 2)
    history = History()
    for number in range(6):
        history.see(replace(log_of(5, {"a": 5}), group=f"g{number}"))
    history.see()
    history.see()
    assert len(history.known) == 2


def test_a_name_whose_position_goes_back_stands_for_another_reader():
    history = History()
    history.see(log_of(100, {"a": 70, "b": 90}))
    added = history.see(log_of(100, {"a": 10, "b": 90}, first_seq=11))
    assert [(row.kind, row.member, row.seq, row.time_us) for row in added.rows] == [
        ("leave", "a", None, 2000), ("join", "a", None, 2001), ("position", "a", 10, 2001)
    ]  # fmt: skip
    history.see(log_of(100, {"a": 10, "b": 90}, first_seq=51))
    assert history.losses() == [("a", 11, 50)]


def test_time_never_goes_back():
    history = History()
    history.see(log_of(100, {"a": 20}), time_us=5000)
    history.see(log_of(100, {"a": 30}), time_us=3000)
    assert [row.time_us for row in history.rows if row.kind == "position"] == [5000, 5001]


def test_a_clock_that_goes_back_an_hour_hides_no_loss():
    history, hour_us = History(), 3_600_000_000
    history.see(log_of(100, {"a": 20}), time_us=2 * hour_us)
    history.see(log_of(100, {"a": 20}, first_seq=51), time_us=hour_us)
    history.see(log_of(120, {"a": 50}, first_seq=51), time_us=hour_us + 1)
    history.see(log_of(120, {"a": 50}, first_seq=71), time_us=hour_us + 2)
    assert history.losses() == [("a", 21, 50), ("a", 51, 70)]


def test_numbers_without_a_place_in_files_leave_the_log_out():
    log = Log("g", "s", parse_stream_id("5-999999"), 1, (), numbering=Numbering.STREAM_ID)
    history = History()
    history.see(log)
    assert history.rows == []
    assert "no place in files" in history.problems[0]


def test_what_was_held_is_noted_with_the_blocker():
    history = History()
    history.see(log_of(100, {"a": 20}))
    history.see(log_of(100, {"a": 20}))
    history.see(log_of(100, {"a": 100}))
    assert [(one.blocker, one.held_items, one.held_bytes) for one in history.held] == [
        ("a", 80, 800),
        (None, 0, 0),
    ]


def test_an_early_deletion_is_a_loss_of_who_was_behind():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 70}))
    history.see(log_of(100, {"a": 20, "b": 70}, first_seq=51))
    assert history.losses() == [("a", 21, 50)]


def test_a_deletion_up_to_the_frontier_is_no_loss():
    history = History()
    history.see(log_of(100, {"a": 20, "b": 70}))
    history.see(log_of(110, {"a": 20, "b": 70}, first_seq=21))
    history.see(log_of(110, {"a": 60, "b": 70}, first_seq=61))
    assert (history.losses(), history.audit().deletions) == ([], 2)


def test_a_loss_is_told_once():
    history = History()
    history.see(log_of(100, {"a": 20}))
    history.see(log_of(100, {"a": 20}, first_seq=51))
    history.see(log_of(100, {"a": 20}, first_seq=71))
    assert history.losses() == [("a", 21, 50)]


def test_a_reader_that_moved_on_between_the_same_two_snapshots_is_undecided():
    history = History()
    history.see(log_of(100, {"a": 20}))
    history.see(log_of(100, {"a": 80}, first_seq=51))
    assert (history.losses(), history.audit().undecided) == ([], 1)


def test_a_reader_of_which_it_is_not_known_what_it_needs_is_undecided():
    def inexact(log):
        return replace(log, readers=tuple(replace(one, exact=False) for one in log.readers))

    history = History()
    history.see(inexact(log_of(100, {"a": 20})))
    history.see(inexact(log_of(100, {"a": 20}, first_seq=51)))
    assert (history.losses(), history.audit().undecided) == ([], 1)


def gaps(ids, delivered, head, name="a", sent=None):
    """Return a stream of some numbers, whose reader was delivered everything up to one of them."""
    left = [one for one in ids if one > delivered]
    position = left[0] - 1 if left else head
    reader = Reader(name, position, told=delivered, behind=Amount(len(left)))
    return Log(
        "g", "s", head, ids[0] if ids else head + 1, (reader,),
        Numbering.STREAM_ID, kept=Amount(len(ids)), sent=Amount(sent),
    )  # fmt: skip


def test_a_position_does_not_rise_over_what_was_deleted_before_it_was_read():
    history = History()
    history.see(gaps([10, 20, 30, 40], 10, 40))
    added = history.see(gaps([30, 40], 10, 40))
    assert added.rows == []
    assert history.losses() == [("a", 20, 29)]


def test_a_position_rises_over_gaps_that_nobody_needed():
    history = History()
    history.see(gaps([10, 20], 20, 20, sent=2))
    history.see(gaps([50, 60], 20, 60, sent=4))
    history.see(gaps([60], 20, 60, sent=4))
    assert history.losses() == [("a", 50, 59)]


def test_what_was_sent_and_deleted_between_two_snapshots_is_a_loss_of_who_had_everything_before():
    history = History()
    history.see(gaps([10, 20], 20, 20, sent=2))
    assert [row.kind for row in history.see(gaps([50, 60], 20, 60, sent=6)).rows] == ["head"]
    assert (history.losses(), history.audit().undecided) == ([("a", 21, 49)], 0)
    history.see(gaps([], 20, 90, sent=9))
    assert history.losses() == [("a", 21, 49)]


def test_what_came_into_an_empty_log_and_was_deleted_before_it_was_read_is_a_loss():
    history = History()
    history.see(gaps([], 20, 20, sent=2))
    history.see(gaps([40], 20, 40, sent=3))
    assert history.deletions == []
    history = History()
    history.see(gaps([], 20, 20, sent=2))
    history.see(gaps([40], 20, 40, sent=4))
    assert history.losses() == [("a", 21, 39)]


def test_numbers_without_gaps_need_no_count():
    history = History()
    history.see(log_of(100, {"a": 100}))
    history.see(log_of(200, {"a": 100}, first_seq=151))
    assert history.losses() == [("a", 101, 150)]


def test_where_the_system_does_not_count_it_is_undecided():
    history = History()
    history.see(gaps([10, 20], 20, 20))
    history.see(gaps([50, 60], 20, 60))
    assert (history.losses(), history.audit().undecided) == ([], 1)


def test_a_stream_with_a_limit_that_loses_what_nobody_read_is_found(redis):
    history = History()
    with open_source(redis.url) as source:
        for _ in range(3):
            redis.xadd("capped", {"a": "x"})
        redis.xgroup_create("capped", "slow", "$")
        history.see(*source.take().logs)
        for _ in range(10):
            redis.xadd("capped", {"a": "x"}, maxlen=4, approximate=False)
        history.see(*source.take().logs)
    assert ([name for name, *_ in history.losses()], history.audit().undecided) == (["slow"], 0)


def test_what_was_taken_out_of_the_middle_is_not_judged():
    history = History()
    history.see(gaps([10, 20, 30, 40], 10, 40))
    history.see(gaps([10, 30, 40], 10, 40))
    history.see(gaps([30, 40], 10, 40))
    assert history.losses() == []


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "read", "read", "come", "go", "trim", "look"]), st.integers(0, 5)),
    max_size=60,
)


@settings(max_examples=300)
@given(STEPS, st.integers(1, 9))
def test_no_correct_run_is_accused_and_an_early_deletion_is_found(steps, stride):
    """Numbers have gaps; whoever trims goes to the frontier, and only the last time beyond it."""
    history, kept, head, readers = History(), [], 0, {}

    def look():
        log = Log("g", "s", head, kept[0] if kept else head + 1, tuple(
            gaps(kept, delivered, head, f"r{name}").readers[0] for name, delivered in sorted(readers.items())
        ), Numbering.STREAM_ID, kept=Amount(len(kept)), sent=Amount(head // stride))  # fmt: skip
        history.see(log)

    for what, which in steps:
        if what == "write":
            head += stride
            kept.append(head)
        elif what == "read" and which in readers:
            readers[which] = next((one for one in kept if one > readers[which]), readers[which])
        elif what == "come":
            readers.setdefault(which, kept[0] - 1 if kept else head)
        elif what == "go":
            readers.pop(which, None)
        elif what == "trim" and readers:
            kept = [one for one in kept if one > min(readers.values())]
        elif what == "look":
            look()
    look()
    assert history.losses() == []
    behind = sorted(name for name, delivered in readers.items() if kept and delivered < kept[0])
    kept = kept[1:]
    look()
    assert [member for member, *_ in history.losses()] == [f"r{name}" for name in behind]


def of_scope(history, scope, *logs, asked=()):
    history.time_us += 1000
    snapshot = replace(snapshot_of(*logs), time_us=history.time_us, asked=scope)
    return history.take(add(history.known, snapshot, asked))


def test_two_addresses_of_one_server_leave_each_others_readers_alone():
    history = History()
    for head in (100, 110):
        of_scope(history, "test://here/0", log_of(head, {"a": 20}))
        of_scope(history, "test://here/1", replace(log_of(head, {"b": 30}), group="h"))
    assert [(row.group, row.kind) for row in history.rows] == [
        *[(group, kind) for group in "gh" for kind in ("join", "head", "position")],
        ("g", "head"),
        ("h", "head"),
    ]
    of_scope(history, "test://here/0", log_of(110, {"a": 20}, first_seq=51))
    assert history.losses() == [("a", 21, 50)]


def test_a_narrowed_address_on_an_existing_folder_makes_nobody_leave():
    history = History()
    other = replace(log_of(50, {"b": 30}), group="h")
    of_scope(history, "test://here", log_of(100, {"a": 20}), other)
    assert of_scope(history, "test://here?stream=g", log_of(100, {"a": 20})).rows == []
    assert [row.member for row in of_scope(history, "test://here").rows] == ["a", "b"]


def test_a_log_that_two_addresses_have_is_told_by_one_of_them():
    history, asked = History(), ("test://here/0", "test://here/0?stream=g")
    of_scope(history, asked[0], log_of(100, {"a": 20}), asked=asked)
    assert of_scope(history, asked[1], log_of(90, {"a": 10}), asked=asked).rows == []
    assert len(of_scope(history, asked[1], log_of(110, {"a": 30})).rows) == 2
