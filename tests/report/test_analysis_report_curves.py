"""What is drawn over time: frontiers of sources, and what members held."""

import numpy as np
import pytest
from analysis_report_sample import InventedTrace, message, write_analysis, write_sample

from stablecast.report import analysis_tables
from stablecast.report.analysis_buffers import buffers_section, read_buffers
from stablecast.report.analysis_curves import CELLS, read_curves
from stablecast.report.analysis_frontiers import deletable_fact, frontiers_section
from stablecast.report.analysis_messages import read_messages
from stablecast.report.analysis_occupancy import BLOCK, read_occupancy
from stablecast.report.analysis_sources import read_sources
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import read_trace


def opened(folder):
    tables = Tables(folder)
    messages = read_messages(tables)
    return tables, messages, read_trace(tables, messages)


@pytest.fixture(scope="module")
def invented() -> InventedTrace:
    return InventedTrace()


@pytest.fixture(scope="module", params=[True, False], ids=["all tables", "five tables"])
def sample(request, tmp_path_factory, invented):
    optional = request.param
    folder = tmp_path_factory.mktemp("sample")
    summary = invented.summary() if optional else None
    return write_analysis(folder, summary, **invented.tables(optional=optional))


def test_the_source_that_is_held_back_comes_first(sample, invented):
    tables, messages, _ = opened(sample)
    sources = read_sources(tables, messages)
    first = sources.held_back[0]
    assert (first.name, first.stable_seq, first.left) == ("member-0", 300, 100)
    assert [one.left for one in sources.held_back[1:]] == [0] * 4
    assert (sources.count, sources.deletable) == (5, 1900)
    if tables.has("sources"):
        assert first.waiting.names == ("member-1",)
    else:
        assert first.waiting is None


def test_curves_go_through_what_was_sent_and_stable(sample, invented):
    tables, messages, trace = opened(sample)
    [first, *_] = read_curves(tables, trace, read_sources(tables, messages).held_back)
    assert len(first.sent.times) <= 2 * CELLS + 1
    assert (np.diff(first.sent.numbers) >= 0).all()
    ends = np.array([trace.first_us + k * trace.span_us // CELLS for k in range(1, CELLS)])
    sent = np.searchsorted(invented.sent[0], ends, side="right")
    # A cell may end between two points, of which only the first and the last of a cell are kept.
    assert np.abs(first.sent.at(ends) - sent).max() <= 1
    reached = np.maximum.accumulate(invented.stable[0, :300])
    assert np.abs(first.stable.at(ends) - np.searchsorted(reached, ends, side="right")).max() <= 1
    assert first.kept(np.array([trace.last_us, trace.first_us - 1])).tolist() == [100, 0]
    assert (first.stable.numbers[0], first.stable.numbers[-1]) == (0, 300)


def test_numbers_need_not_begin_with_one(tmp_path):
    rows = [message("log", 10**12 + k, 1000 * k, 1000 * k + 100) for k in range(5)]
    frontiers = [
        {"group": "g", "source": "log", "time_us": 1000 * k + 100, "sent": 10**12 + k, "stable": 10**12 + k}
        for k in range(3)
    ]
    folder = write_analysis(tmp_path, {"first_seq": "earliest"}, messages=rows, frontiers=frontiers)
    tables, messages, trace = opened(folder)
    sources = read_sources(tables, messages)
    assert (sources.deletable, sources.held_back[0].left) == (3, 2)
    assert deletable_fact(trace, sources, 5).value == "up to 1,000,000,000,002"
    [curves] = read_curves(tables, trace, sources.held_back)
    assert curves.stable.numbers[0] == 10**12 - 1


def test_sources_beyond_the_most_held_back_are_left_out_with_a_sentence(tmp_path):
    rows = [message(f"s{k:03d}", 1, 10 * k, 10 * k + 5) for k in range(250)]
    tables, messages, trace = opened(write_analysis(tmp_path, messages=rows))
    section = frontiers_section(tables, trace, read_sources(tables, messages))
    assert len(section.figures[0].panels) == 12
    assert "238 others left out" in section.figures[0].caption
    assert len(section.tables[0].rows) == 200
    assert section.tables[0].note.startswith("50 sources")


@pytest.mark.parametrize(
    ("waiting", "stable_seq", "said"),
    [
        ({"waiting_for": ["a", "b"], "waiting": 2}, 1, "a and b"),
        ({"waiting_for": list("abcdefghij"), "waiting": 12}, 1, "a, b, c, d and 8 others"),
        ({"waiting_for": None, "waiting": None}, 1, "number 2, which was never sent"),
        ({"waiting_for": None, "waiting": 0}, None, "the first number, which was never sent"),
    ],
)
def test_whom_the_rest_waits_for_is_told(tmp_path, waiting, stable_seq, said):
    rows = [message("s", seq, 10, None) for seq in (1, 3)]
    source = {"messages": 2, "first_seq": 1, "last_seq": 3, "stable_seq": stable_seq, "stable_us": stable_seq}
    folder = write_analysis(
        tmp_path, messages=rows, sources=[{"group": "g", "source": "s", **source, **waiting}]
    )
    tables, messages, trace = opened(folder)
    section = frontiers_section(tables, trace, read_sources(tables, messages))
    assert section.tables[0].rows[0][-1].text == said


@pytest.mark.parametrize("batch", [13, 1000])
@pytest.mark.parametrize("block", [3, BLOCK])
def test_what_members_held_is_what_the_table_says(tmp_path, invented, monkeypatch, batch, block):
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", batch)
    monkeypatch.setattr("stablecast.report.analysis_occupancy.BLOCK", block)
    rows = invented.occupancy(cells=40)
    np.random.default_rng(1).shuffle(rows)
    tables = Tables(
        write_analysis(tmp_path, invented.summary(), occupancy=rows, messages=invented.messages())
    )
    trace = read_trace(tables, read_messages(tables))
    everybody = [("orders", name) for name in invented.members]
    found = read_occupancy(tables, trace, everybody[:2], everybody)
    held = np.array([_held(invented, k, found.times_us, cells=40) for k in range(len(everybody))])
    for k, pair in enumerate(everybody[:2]):
        assert (found.members[pair].messages == held[k, :, 0]).all()
        assert (found.members[pair].bytes == held[k, :, 1]).all()
    assert (found.total.messages == held[:, :, 0].sum(axis=0)).all()
    assert read_occupancy(tables, trace, everybody[:2], []).total is None


def _held(invented, member, times, *, cells):
    """What a member held by the last end of a cell of the table at or before some times."""
    span = invented.last_us - invented.first_us
    ends = [invented.first_us + k * span // cells for k in range(cells + 1)]
    begin, end, sizes = invented.held(member)
    answers = []
    for time in times:
        at = ends[np.searchsorted(ends, time, side="right") - 1]
        there = (begin <= at) & (at < end) if at > ends[0] else np.zeros(len(begin), dtype=bool)
        answers.append((there.sum(), sizes[there].sum()))
    return answers


def test_without_occupancy_only_the_peaks_are_shown(tmp_path):
    tables, _, trace = opened(write_sample(tmp_path, optional=False))
    section = buffers_section(tables, trace, read_buffers(tables), released=True)
    assert section.figures == ()
    assert "no table of occupancy" in " ".join(section.words)
    assert len(section.tables[0].rows) == 8


def test_a_trace_without_releases_says_so(sample):
    tables, _, trace = opened(sample)
    section = buffers_section(tables, trace, read_buffers(tables), released=False)
    assert "Nobody releases a message" in " ".join(section.words)
