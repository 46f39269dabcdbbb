"""The page of an analysis of positions: what is safe to delete, who is in the way, what it cost."""

import json
import re
from decimal import Decimal
from itertools import pairwise

import pytest
from analysis_report_sample import violation, write_positions
from test_analysis_report_page import ODD, PageReader, facts, written

from stablecast.report import analysis_tables
from stablecast.report.analysis_blockers import MOST_NAMES, read_spans
from stablecast.report.analysis_page import read_analysis
from stablecast.report.analysis_sources import read_position_sources
from stablecast.report.analysis_tables import Tables
from stablecast.report.analysis_trace import read_position_trace

pytestmark = pytest.mark.xdist_group("analysis_report_positions")  # two pages, each made once
HOUR = 3_600_000_000
BEGIN = 1_714_557_600_000_000
END = BEGIN + 6 * HOUR
SUMMARY = {
    **{"version": "0.1.0", "events": 60, "kinds": {"head": 20, "position": 40}, "groups": 1, "members": 3},
    **{"sources": 2, "first_us": BEGIN, "last_us": END, "wall_s": 0.5, "first_seq": 0},
}


def source(name: str, last: int | None, stable: int | None, waits: str | None = None, **more) -> dict:
    sent = 0 if last is None else last + 1
    left = sent - (0 if stable is None else stable + 1)
    return {
        **{"group": "g", "source": name, "messages": sent, "first_seq": 0 if sent else None},
        **{"last_seq": last, "stable_seq": stable, "heads_missing": False},
        "stable_us": None if stable is None else BEGIN + 2 * HOUR,
        **{"waiting_for": [waits] if waits else None, "waiting": 1 if waits else 0},
        "oldest_us": BEGIN + 3 * HOUR if left else None,
        **more,
    }


def reader(of: str, member: str, position: int | None, lag: int | None, without: int | None, **more) -> dict:
    return {
        **{"group": "g", "source": of, "member": member, "position": position, "lag": lag},
        "behind_since_us": BEGIN + 4 * HOUR if lag else None,
        **{"alone_us": 0, "alone_numbers_us": Decimal(0), "completed": 0, "without_seq": without},
        **{"blocks": False, "gone": lag is None},
        **more,
    }


def frontier(of: str, hours: float, sent: int, stable: int, blocker: str | None, **more) -> dict:
    time = BEGIN + round(hours * HOUR)
    row = {"group": "g", "source": of, "time_us": time, "sent": sent, "stable": stable, "blocker": blocker}
    return {**row, **more}


def total(group: str = "g", **more) -> dict:
    given = {"group": group, "sources": 2, "sent": 150, "stable": 90, "retained": 60, "blocker": "archive"}
    return {**given, "oldest_us": BEGIN + 3 * HOUR, **more}


def invented() -> dict[str, list]:
    """Two sources: `a` waits for the archive, which is alone behind; `b` is all read."""
    held = {"alone_us": 3 * HOUR, "alone_numbers_us": Decimal(120 * HOUR), "completed": 40, "blocks": True}
    return {
        "sources": [source("a", 99, 39, "archive"), source("b", 49, 49)],
        "frontiers": [
            frontier("a", 1, 30, 19, "search"),
            frontier("a", 1.5, 35, 30, "search"),
            frontier("a", 2, 39, 39, "archive"),
            frontier("b", 1, 49, 49, None),
        ],
        "readers": [
            reader("a", "archive", 39, 60, 89, **held),
            reader("a", "billing", 99, 0, 39),
            reader("a", "search", 89, 10, 39, alone_us=HOUR, alone_numbers_us=Decimal(2 * HOUR)),
            reader("a", "old", 5, None, 39),
            *(reader("b", name, 49, 0, 49) for name in ("archive", "billing", "search")),
        ],
        "laggards": [
            {"group": "g", "member": "archive", "completed_last": 40, "held_us": Decimal(120 * HOUR)},
            {"group": "g", "member": "search", "completed_last": 31, "held_us": Decimal(2 * HOUR)},
        ],
        "totals": [total()],
        "violations": [violation("position_beyond_head", "search", "a", 120, BEGIN + HOUR)],
    }


def words(report, key: str) -> str:
    [section] = [one for one in report.sections if one.key == key]
    return " ".join(section.words)


def cells(report, key: str) -> list[list[str]]:
    [table] = [table for section in report.sections for table in section.tables if table.key == key]
    return [[getattr(cell, "text", str(cell)) for cell in row] for row in table.rows]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return written(write_positions(tmp_path_factory.mktemp("positions"), SUMMARY, **invented()))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Names that try to break the page, in two groups, as sources and as readers."""
    bad = "</script><b>"
    tables: dict[str, list] = {name: [] for name in invented()}
    for group in (bad, "g"):
        tables["totals"].append(total(group, blocker=ODD[0]))
        for k, name in enumerate(ODD):
            tables["sources"].append(source(name, 99 + k, 39, name, group=group))
            tables["frontiers"].append(frontier(name, 1 + k / 10, 50, 39, name, group=group))
            tables["readers"].append(reader(name, name, 39, 60 + k, 89, blocks=True, group=group))
            held = {"completed_last": k, "held_us": Decimal(k * HOUR)}
            tables["laggards"].append({"group": group, "member": name, **held})
            tables["violations"].append(violation("position_beyond_head", name, name, 500, BEGIN, group))
    summary = {**SUMMARY, "inputs": ["<img src=x>"]}
    return written(write_positions(tmp_path_factory.mktemp("hostile"), summary, **tables))


def test_the_facts_are_at_the_top(sample):
    report, _, text = sample
    assert facts(report) == {
        "Safe to delete": "90 of 150",
        "Retained": "60 numbers",
        "In the way": "archive",
        "Held back most by": "archive",
        "Violations": "1",
    }
    for value in facts(report).values():
        assert value in PageReader(text).text
    assert "Analysis of positions" in text
    assert "the only source that retains anything waits for it, behind for 2 h" in text
    assert "without it 50 numbers more may be deleted" in text
    assert "120 number·h kept for this reader alone" in text


def test_the_first_section_says_it_in_words(sample):
    told = words(sample[0], "safe-to-delete")
    assert "Of 150 numbers that 2 sources sent, 90 numbers (60 %) are safe to delete, and 60 numbers" in told
    assert "was sent 3 h before the end of the log (2024-05-01 13:00:00 UTC)" in told
    assert "The one source that retains anything waits for archive." in told
    assert "Sends are missing" not in told


def test_readers_are_sorted_by_what_they_hold_back(sample):
    report, _, _ = sample
    assert (
        "Without archive, the frontier of a is at 89; with it, it is at 39: 50 numbers wait for this reader"
        " alone. It has been behind since 2024-05-01 14:00:00 UTC, for 2 h." in words(report, "readers")
    )
    rows = cells(report, "readers-of-sources")
    assert rows[0] == ["archive", "a", "50", "89", "39", "60", "2 h", "3 h", "39"]
    assert rows[1] == ["search", "a", "0", "39", "39", "10", "2 h", "60 min", "89"]
    assert [row[5] for row in rows if row[0] == "old"] == ["gone"]
    assert [row[0] for row in cells(report, "readers")] == ["archive", "search", "billing", "old"]


def test_heads_and_frontiers_are_drawn(sample):
    [section] = [one for one in sample[0].sections if one.key == "frontiers"]
    [figure] = section.figures
    head, stable = figure.panels[0].series
    assert figure.panels[0].title == "a"
    # Where it moved, where the first number was sent that is retained, and the end.
    assert (head.x, head.y) == ((1.0, 1.5, 2.0, 3.0, 6.0), (30.0, 35.0, 39.0, 39.0, 99.0))
    assert (stable.x, stable.y) == ((1.0, 1.0, 1.5, 2.0, 6.0), (-1.0, 19.0, 30.0, 39.0, 39.0))
    assert cells(sample[0], "sources")[0] == ["a", "99", "39", "4 h", "60", "3 h", "archive"]


def test_whom_a_frontier_waited_for_is_a_line_of_spans(sample):
    _, files, text = sample
    tables = Tables(files.page.parent.parent)
    found = read_spans(tables, read_position_trace(tables), read_position_sources(tables).held_back)
    spans = [(one.reader, (one.begin_us - BEGIN) / HOUR, (one.end_us - BEGIN) / HOUR) for one in found]
    assert spans == [("search", 0, 1.5), ("archive", 1.5, 2), ("archive", 3, 6)]
    plots = map(json.loads, re.findall(r'class="plot-json">(.*?)</script>', text, re.DOTALL))
    [plot] = [one for one in plots if one["layout"].get("barmode") == "overlay"]
    archive = next(trace for trace in plot["data"] if trace["name"] == "archive")
    assert (archive["base"], archive["x"]) == ([1.5, 3.0], [0.5, 3.0])
    assert archive["hovertext"][1].split("<br>")[1:] == ["from 3 to 6 h", "source: a", "waited for 3 h"]


def test_what_it_cost_is_in_units_that_suit_the_log(sample):
    report = sample[0]
    assert cells(report, "laggards") == [
        ["archive", "120 number·h", "40", "44.4 %"],
        ["search", "2 number·h", "31", "34.4 %"],
    ]
    assert "archive cost 120 number·h." in words(report, "laggards")


def test_violations_are_told_with_the_head(sample):
    [row] = cells(sample[0], "violations-position_beyond_head")
    assert row[1:] == ["search", "a", "120", "told 120; at the end the head is at 99"]
    assert "--next-offset" in words(sample[0], "violations")


def test_batches_change_nothing(sample, monkeypatch):
    report, files, _ = sample
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", 2)
    again = read_analysis(files.page.parent.parent)
    assert (again.facts, again.sections) == (report.facts, report.sections)


@pytest.mark.parametrize("which", ["sample", "hostile"])
def test_the_page_is_whole(which, request):
    _, files, text = request.getfixturevalue(which)
    reader = PageReader(text)
    ids = [a["id"] for _, a in reader.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in reader.all("a", "href") if link.startswith("#")} <= set(ids)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert all(b - a <= 1 for a, b in pairwise(levels[levels.index(1) :]))
    linked = [link for link in reader.all("a", "href") if link.startswith("figures/")]
    assert sorted(files.page.parent / link for link in linked) == sorted(files.figures)
    assert {path.stem for path in files.figures} == {"blockers", "frontiers", "laggards"}


def test_names_cannot_break_the_page(hostile):
    report, _, text = hostile
    # Its own script, the early one and plotly, and one block of data for each of three figures.
    assert text.count("</script") == 3 + 3
    assert "<b>" not in text[text.index("<body>") : text.index("plot-json")]
    assert "img" not in {tag for tag, a in PageReader(text).tags if a.get("src") == "x"}
    assert "new�line�" in PageReader(text).text
    plots = map(json.loads, re.findall(r'class="plot-json">(.*?)</script>', text, re.DOTALL))
    shown = [
        text
        for plot in plots
        for text in (
            *(trace["name"] for trace in plot["data"]),
            *(label for trace in plot["data"] for label in trace["hovertext"]),
            *plot["layout"]["yaxis"].get("ticktext", ()),
        )
    ]
    assert any("&lt;script" in one for one in shown)
    assert [one for one in shown if re.search("<(?!/?b>|br>)", one)] == []
    for section in report.sections:
        for table in section.tables:
            assert "group" in table.columns or table.key in ("readers", "violation-kinds")


def test_several_groups_have_a_sentence_each_and_a_table(tmp_path):
    groups = [total(f"g{k}", retained=60 + k, sent=150 + k) for k in range(60)]
    sources = [source("a", 99, 39, "archive", group=f"g{k}") for k in range(60)]
    report = read_analysis(write_positions(tmp_path, SUMMARY, totals=groups, sources=sources))
    told = words(report, "safe-to-delete")
    assert "In all 60 groups together 10,770 numbers were sent, 5,400 numbers (50.1 %) are safe" in told
    assert "Of 209 numbers that 2 sources of g59 sent, 90 numbers (43.1 %) are safe to delete" in told
    assert "57 more groups retain as much or less." in told
    [table] = report.sections[0].tables
    assert len(table.rows) == 50
    assert table.note.endswith("10 groups that retain as much or less left out.")


def test_sources_that_are_groups_of_their_own_are_named_once(tmp_path):
    named = {name: f"{name}-group" for name in ("a", "b")}
    for k, group_of in enumerate(({name: name for name in named}, named)):
        tables = {
            name: [{**row, "group": group_of.get(row.get("source", ""), "a")} for row in rows]
            for name, rows in invented().items()
        }
        tables["totals"] = [total(group) for group in group_of.values()]
        report = read_analysis(write_positions(tmp_path / str(k), SUMMARY, **tables))
        titles = {
            title
            for section in report.sections[1:3]
            for figure in section.figures
            for panel in figure.panels
            for title in panel.y.names or [panel.title]
        }
        assert titles == ({"a", "b"} if k == 0 else {"a-group / a", "b-group / b"})
        assert f"the frontier of a{'' if k == 0 else ' of a-group'} is at 89" in words(report, "readers")


def test_of_many_sources_the_worst_are_shown_and_the_others_counted(tmp_path):
    many = 10_000
    report, files, _ = written(
        write_positions(
            tmp_path,
            {**SUMMARY, "sources": many},
            sources=[source(f"s{k:05}", 99 + k, 39, f"r{k % 30}") for k in range(many)],
            readers=[reader(f"s{k:05}", f"r{k % 30}", 39, 60 + k, 40 + k, blocks=True) for k in range(many)],
            frontiers=[frontier(f"s{k:05}", 2, 60, 39, f"r{k % 7}") for k in range(many)],
            totals=[total(sources=many)],
        )
    )
    notes = {table.key: table.note for section in report.sections for table in section.tables}
    assert notes["sources"].endswith("9,800 sources that retain as much or less left out.")
    assert notes["readers-of-sources"].endswith("9,985 rows of readers that hold back less left out.")
    assert notes["readers"].endswith("15 readers that hold back less left out.")
    captions = {figure.key: figure.caption for section in report.sections for figure in section.figures}
    assert captions["frontiers"].endswith("held back most; 9,988 others left out.")
    assert captions["blockers"].endswith("retain most; 9,988 others left out.")
    assert cells(report, "readers-of-sources")[0][:3] == ["r9", "s09999", "10,000"]
    [figure] = report.sections[1].figures
    assert [one.name for one in figure.panels[0].series][MOST_NAMES:] == ["6 other readers"]
    assert files.page.stat().st_size < 8_000_000


def test_missing_heads_are_told(tmp_path):
    tables = {**invented(), "violations": []}
    tables["sources"] = [source("a", 99, 39, "archive", heads_missing=True), source("b", 49, 49)]
    report = read_analysis(write_positions(tmp_path, SUMMARY, **tables))
    assert facts(report)["Sends are missing"] == "1 of 2 sources"
    told = words(report, "safe-to-delete")
    assert "Sends are missing: the log has no head of 1 of 2 sources." in told
    assert "this is the frontier among readers only" in told
    assert cells(report, "sources")[0][1] == "(99)"
    assert "no reader's position is beyond" in words(report, "violations")


def test_numbers_that_are_bytes_are_told_as_such(tmp_path):
    tables = invented()
    tables["sources"] = [
        source("a", 99_999_999, 39, "archive", retained_bytes=99_999_960),
        source("b", 49, 49, retained_bytes=0),
    ]
    tables["totals"] = [total(sent=100_000_050, stable=90, retained=99_999_960)]
    tables["laggards"][0]["held_bytes_us"] = Decimal(10**9 * HOUR)
    report = read_analysis(write_positions(tmp_path, SUMMARY, **tables))
    assert facts(report)["Retained"] == "100 MB"
    assert cells(report, "sources")[0][4] == "100 MB"
    assert "archive cost 1 GB·h" in words(report, "laggards")
    assert cells(report, "laggards")[0] == ["archive", "1 GB·h", "40", "44.4 %"]


def test_no_reader_stands_in_the_way_alone(tmp_path):
    tables = invented()
    tables["readers"] = [reader("a", name, 39, 60, 39, blocks=True) for name in ("archive", "search")]
    report = read_analysis(write_positions(tmp_path, SUMMARY, **tables))
    assert "no single one stands in the way alone" in words(report, "readers")


def test_everything_is_safe_to_delete(tmp_path):
    tables = {
        "sources": [source("b", 49, 49)],
        "frontiers": [frontier("b", 1, 49, 49, None)],
        "readers": [reader("b", "archive", 49, 0, 49)],
        "totals": [total(sources=1, sent=50, stable=50, retained=0, blocker=None, oldest_us=None)],
    }
    report, files, text = written(write_positions(tmp_path, SUMMARY, **tables))
    assert facts(report) == {
        **{"Safe to delete": "50 of 50", "Retained": "nothing", "In the way": "nobody"},
        **{"Held back most by": "nobody", "Violations": "none"},
    }
    for told in (
        "All of 50 numbers that the source sent may be deleted.",
        "Nobody: every reader has all that was sent.",
        "No source retains anything",
        "Nobody was waited for alone",
    ):
        assert told in text
    assert {path.stem for path in files.figures} == {"frontiers"}


def test_nothing_was_sent_and_nobody_reads(tmp_path):
    tables = {
        "sources": [source("a", None, None)],
        "totals": [total(sources=1, sent=0, stable=0, retained=0, blocker=None, oldest_us=None)],
    }
    report, files, text = written(write_positions(tmp_path, SUMMARY, **tables))
    assert facts(report)["Safe to delete"] == "nothing"
    assert "Nothing was sent by the source." in text
    assert "The log names no reader" in text
    assert files.figures == []


def test_nothing_is_safe_to_delete(tmp_path):
    tables = {
        "sources": [source("a", 99, None, "new")],
        "readers": [reader("a", "new", None, 100, 99, blocks=True)],
        "totals": [total(sources=1, sent=100, stable=0, retained=100, blocker="new")],
    }
    report, files, text = written(write_positions(tmp_path, SUMMARY, **tables))
    assert "nothing is safe to delete, and 100 numbers are retained." in words(report, "safe-to-delete")
    assert "with it, nothing may be deleted: 100 numbers wait" in text
    assert cells(report, "readers-of-sources") == [
        ["new", "a", "100", "99", "nothing", "100", "2 h", "–", "nothing"]
    ]
    assert {path.stem for path in files.figures} == {"blockers", "frontiers"}


def test_empty_tables_without_a_summary(tmp_path):
    report, files, text = written(write_positions(tmp_path))
    assert "The log names no source." in text
    assert files.figures == []
    assert report.trace.groups == 0


def test_without_a_summary_times_are_taken_from_the_tables(tmp_path):
    report = read_analysis(write_positions(tmp_path, **invented()))
    assert (report.trace.first_us, report.trace.last_us) == (BEGIN + HOUR, BEGIN + 3 * HOUR)
    assert report.trace.members is None
