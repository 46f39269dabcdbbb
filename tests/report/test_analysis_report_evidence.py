"""Each violation is shown with what the messages say of it."""

import pytest
from analysis_report_sample import message, violation, write_analysis

from stablecast.report import analysis_tables
from stablecast.report.analysis_messages import read_messages
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import read_trace
from stablecast.report.analysis_violations import (
    MEANING,
    read_violations,
    violations_fact,
    violations_section,
)

MESSAGES = [
    *(message("alice", seq, 1000 * seq, 1000 * seq + 500) for seq in (1, 2, 3, 4, 8, 9)),
    message("alice", 10, 8900, None, received=2),
    message("alice", 11, 11_000, 14_100),
    message("bob", 1, 500, None, received=1, group="other"),
]


def evidence(folder, *violations) -> list[str]:
    """What is said of violations, in the order of their kinds."""
    tables = Tables(write_analysis(folder / "analysed", messages=MESSAGES, violations=list(violations)))
    trace = read_trace(tables, read_messages(tables))
    section = violations_section(tables, trace, read_violations(tables))
    return [row[-1] for table in section.tables[1:] for row in table.rows]


@pytest.mark.parametrize(
    ("kind", "seq", "time_us", "said"),
    [
        ("early_release", 11, 11_000, "released 3.1 ms before bob had it"),
        ("early_release", 10, 99_000, "released although it never became stable: 2 of 4 members had it"),
        ("early_release", 99, 99_000, "released before it was stable"),
        ("early_stable", 3, 2400, "called everything up to 3 stable 100 µs before bob had 2"),
        ("early_stable", 11, 99_000, "up to 11 stable although 10 never was: 2 of 4 members had it"),
        ("duplicate", 2, 2750, "received again, 750 µs after its sending"),
        ("duplicate", 77, 2750, "received again; nobody sent this number"),
        ("receive_after_departure", 1, 6000, "received after it had left or failed, 5 ms after its sending"),
        ("receive_before_send", 4, 3960, "received 40 µs before alice sent it"),
        ("sent_again", 4, 9000, "sent again 5 ms after the first time"),
        ("missing_send", 6, 9000, "never sent; the nearest that alice sent: 4 and 8"),
        ("missing_send", 12, 9000, "never sent; the nearest that alice sent: 11"),
        ("gap", 5, 8000, "5 to 7 were never sent; the next is 8"),
        ("gap", 7, 8000, "7 was never sent; the next is 8"),
        ("send_out_of_order", 10, 8900, "sent 100 µs before 9"),
        ("something_new", 10, 8950, "50 µs after its sending"),
    ],
)
@pytest.mark.parametrize("batch", [1, 1000])
def test_each_kind_is_told_with_the_truth(tmp_path, monkeypatch, kind, seq, time_us, said, batch):
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", batch)
    [found] = evidence(tmp_path, violation(kind, "carol", "alice", seq, time_us))
    assert said in found


def test_messages_of_another_group_are_no_evidence(tmp_path):
    [found] = evidence(tmp_path, violation("early_release", "carol", "bob", 1, 600))
    assert found == "released before it was stable"


def test_every_kind_has_a_meaning_and_the_gravest_comes_first(tmp_path):
    rows = [violation(kind, "carol", "alice", 1, 5) for kind in [*reversed(MEANING), "something_new"]]
    tables = Tables(write_analysis(tmp_path, messages=MESSAGES, violations=rows))
    found = read_violations(tables)
    assert list(found.counts) == [*MEANING, "something_new"]
    section = violations_section(tables, read_trace(tables, read_messages(tables)), found)
    assert section.words[0].startswith("2 times a message was called stable or released")


@pytest.mark.parametrize("batch", [7, 1000])
def test_the_first_fifty_of_each_kind_are_shown_and_all_are_counted(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", batch)
    rows = [violation("duplicate", "carol", "alice", 1, time_us) for time_us in range(200, 0, -1)]
    rows += [violation("gap", "carol", "alice", 1, 7)]
    found = read_violations(Tables(write_analysis(tmp_path, violations=rows)))
    assert found.counts == {"duplicate": 200, "gap": 1}
    assert [one.time_us for one in found.first["duplicate"]] == list(range(1, 51))
    assert violations_fact(found).note == "200 duplicate and 1 gap"
