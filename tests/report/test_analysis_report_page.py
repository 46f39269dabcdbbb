"""The page of an analysis: what stands in it, whatever the trace is like."""

import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from analysis_report_sample import InventedTrace, message, write_analysis, write_sample

from stablecast.report import analysis_tables
from stablecast.report.analysis_page import read_analysis, write_report

pytestmark = pytest.mark.xdist_group("analysis_report_page")  # two pages, each made once
ODD = (
    "<script>alert(1)</script>",
    "$x_{^",
    "_under",
    "new\nline\u202e",
    "a" * 300,
    "x" * 39 + "1",
    "日本",
    "",
)


class PageReader(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text += data

    def all(self, name: str, attribute: str) -> list[str]:
        return [a[attribute] for tag, a in self.tags if tag == name and a.get(attribute)]


def written(folder):
    report = read_analysis(folder)
    files = write_report(report, folder / "report" / "index.html", folder=folder, version="0.1.0")
    return report, files, files.page.read_text(encoding="utf-8")


def facts(report) -> dict[str, str]:
    return {fact.name: fact.value for fact in report.facts}


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return written(write_sample(tmp_path_factory.mktemp("sample")))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Names that try to break the page, in two groups."""
    one, two = InventedTrace(names=ODD, messages=80), InventedTrace(group="</script><b>", messages=80, seed=2)
    tables = {name: rows + two.tables()[name] for name, rows in one.tables().items()}
    summary = {**one.summary(), "groups": 2, "inputs": ["<img src=x>"] * 9}
    return written(write_analysis(tmp_path_factory.mktemp("hostile"), summary, **tables))


def test_the_facts_are_at_the_top(sample):
    report, _, text = sample
    assert facts(report) == {
        "Stable": "1,900 of 2,000",
        "Time to stable": "30.2 ms",
        "Safe to delete": "1,900 of 2,000",
        "Violations": "69",
        "Held back most by": "member-7",
        "Largest buffer": "301 kB",
    }
    top = PageReader(text).text.split("Time to stable", 3)[-2]
    for value in facts(report).values():
        assert value in top
    assert "the next of member-0 waits for member-1" in text
    assert "member-7 held 121 kB·s" in text
    assert "3 rows of the trace could not be used" in text
    assert "2023-11-14 22:13:20 UTC" in text


def test_the_summary_rules_where_it_tells(tmp_path):
    trace = InventedTrace(messages=80)
    times = {"count": 1, "mean": 1, "p50": 1234.0, "p90": 5678.0, "p99": 91011.0, "max": 1}
    told = {**trace.summary(), "time_to_stable_us": times}
    report = read_analysis(write_analysis(tmp_path, told, **trace.tables()))
    assert facts(report)["Time to stable"] == "1.23 ms"


def test_of_a_stream_it_says_how_far_that_is(sample, tmp_path):
    trace = InventedTrace(messages=80)
    told = {"parts": 12, "arrived": 3400, "open": 5, "carried_rows": 1700, "rebuilt": 1, "wall_s": 2.5}
    streamed = read_analysis(write_analysis(tmp_path, {**trace.summary(), **told}, **trace.tables())).details
    assert {name: streamed[name] for name in streamed.keys() - sample[0].details.keys()} == {
        "Parts so far": "12",
        "Time of the last part": "2.5 s",
        "Events of the last part": "3,400",
        "Messages still open": "5",
        "Rows of state": "1,700",
        "Computed anew": "1 time",
    }


def test_times_to_stable_are_near_the_true_ones(sample):
    trace = InventedTrace()
    stable = [row["stable_us"] - row["sent_us"] for row in trace.messages() if row["stable_us"] is not None]
    [row, _] = sample[0].sections[0].tables[0].rows
    assert row[1] == len(stable)
    assert int(row[2].title.removesuffix(" µs").replace(",", "")) == round(sum(stable) / len(stable))
    assert int(row[-1].title.removesuffix(" µs").replace(",", "")) == max(stable)
    p90 = sorted(stable)[int(0.9 * len(stable)) - 1]
    assert float(row[4].title.removesuffix(" µs").replace(",", "")) == pytest.approx(p90, rel=0.012)


def test_figures_are_where_the_page_looks_for_them(sample):
    _, files, text = sample
    linked = [link for link in PageReader(text).all("a", "href") if link.startswith("figures/")]
    assert sorted(files.page.parent / link for link in linked) == sorted(files.figures)
    assert {path.stem for path in files.figures} == {
        *("time-to-stable", "frontiers", "kept", "occupancy", "laggards")
    }


def test_batches_change_nothing(sample, monkeypatch):
    report, files, _ = sample
    monkeypatch.setattr(analysis_tables, "BATCH_ROWS", 97)
    again = read_analysis(files.page.parent.parent)
    assert again.facts == report.facts
    assert [one.key for one, other in zip(again.sections, report.sections, strict=True) if one != other] == []


@pytest.mark.parametrize("which", ["sample", "hostile"])
def test_the_page_is_whole(which, request):
    _, _, text = request.getfixturevalue(which)
    reader = PageReader(text)
    ids = [a["id"] for _, a in reader.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in reader.all("a", "href") if link.startswith("#")} <= set(ids)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    body = levels[levels.index(1) :]
    assert all(b - a <= 1 for a, b in pairwise(body))
    sources = [a[key] for _, a in reader.tags for key in ("src", "href") if a.get(key)]
    assert not [source for source in sources if re.match(r"(?!data:)[a-z]+:|//", source)]


def test_names_cannot_break_the_page(hostile):
    _, _, text = hostile
    # Its own script, the early one and plotly, and one block of data for each of five figures.
    assert text.count("</script") == 3 + 5
    reader = PageReader(text)
    assert "img" not in {tag for tag, a in reader.tags if a.get("src") == "x"}
    assert "<b>" not in text[text.index("<body>") : text.index("plot-json")]
    assert "a" * 300 in reader.all("td", "title")
    assert "new�line�" in reader.text
    plots = re.findall(r'class="plot-json">(.*?)</script>', text, re.DOTALL)
    shown = [
        text
        for plot in map(json.loads, plots)
        for text in (
            *(trace["name"] for trace in plot["data"]),
            *(label for trace in plot["data"] for label in trace["hovertext"]),
            *(title["text"] for title in plot["layout"]["annotations"]),
            *plot["layout"]["yaxis"].get("ticktext", ()),
        )
    ]
    assert any("&lt;script" in one for one in shown)
    assert [one for one in shown if re.search("<(?!/?b>|br>)", one)][:3] == []


def test_several_groups_are_told_apart(hostile):
    report, _, _ = hostile
    assert report.trace.groups == 2
    for section in report.sections:
        for table in section.tables:
            assert "group" in table.columns or table.key in ("times", "violation-kinds")


def test_nothing_but_five_tables(tmp_path):
    report = read_analysis(write_sample(tmp_path, optional=False, sized=False, first_us=0, messages=80))
    assert facts(report)["Held back most by"] == "member-7"
    words = " ".join(word for section in report.sections for word in section.words)
    assert re.search(r"member-7 held [\d.]+ message·s", words)
    assert "the sizes of the messages are not known" in words
    assert "no table of occupancy" in words
    assert "no table of sources" in words
    assert "UTC" not in report.remarks[0]


def held(member: str, **more) -> dict:
    return {"group": "g", "member": member, **more}


def test_a_trace_without_messages(tmp_path):
    report, files, text = written(write_analysis(tmp_path))
    assert files.figures == []
    assert facts(report)["Messages"] == "none"
    for words in (
        "No message was sent.",
        "No member held a message.",
        "nobody was the last",
        "None: nothing",
    ):
        assert words in text


def test_nothing_became_stable(tmp_path):
    report, files, text = written(
        write_analysis(tmp_path, messages=[message("a", seq, seq, None) for seq in (1, 2)])
    )
    assert "No message became stable in this trace." in text
    assert facts(report)["Safe to delete"] == "nothing"
    assert {path.stem for path in files.figures} == {"frontiers", "kept"}


def test_one_member_and_one_message(tmp_path):
    folder = write_analysis(
        tmp_path,
        messages=[message("a", 1, 7, 7, last_member="a", required=1, received=1)],
        frontiers=[{"group": "g", "source": "a", "time_us": 7, "sent": 1, "stable": 1}],
        buffers=[held("a", messages_max=1, bytes_max=0, message_us=0)],
        occupancy=[held("a", time_us=7, messages=1, bytes=0)],
        laggards=[held("a", completed_last=1, held_us=0, held_bytes_us=Decimal(0))],
    )
    report, _, text = written(folder)
    assert facts(report)["Time to stable"] == "none"
    assert facts(report)["Held back most by"] == "nobody"
    assert facts(report)["Safe to delete"] == "up to 1"
    assert "nobody but its sender had to receive it" in text
    assert "Here nobody came after anyone else." in text
    assert "Nobody releases a message" in text


def test_clocks_that_differ_do_not_break_the_figure(tmp_path):
    rows = [message("a", seq, 1000 * seq, 1000 * seq + late) for seq, late in ((1, -500), (2, 0), (3, 40))]
    _, files, text = written(write_analysis(tmp_path, messages=rows))
    assert "2 messages took no time or less" in text
    assert "time-to-stable" in {path.stem for path in files.figures}


def test_a_page_of_another_name_has_its_figures_under_that_name(tmp_path):
    folder = write_analysis(tmp_path / "a", messages=[message("a", 1, 1, None)])
    page = tmp_path / "my trace #1.html"
    files = write_report(read_analysis(folder), page, folder=folder, version="0")
    assert {path.parent.name for path in files.figures} == {"my trace #1-figures"}
    assert 'href="my%20trace%20%231-figures/kept.svg"' in page.read_text()
