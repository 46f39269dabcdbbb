import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from report_sample import bars, evaluation, tables, two_panels, with_readings

from stablecast.papers import page
from stablecast.papers.page import write_figures, write_page
from stablecast.papers.page_view import view
from stablecast.report.template import script_json


class Reader(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def all(self, name: str, attribute: str) -> list[str]:
        return [a[attribute] for tag, a in self.tags if tag == name and a.get(attribute)]


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("page")
    papers = [evaluation(), evaluation("timestamp", missed=False)]
    path = write_page(papers, folder, version="0.1.0", details={"Spark": "4.3 <local>"})
    assert [one.name for one in folder.iterdir()] == ["index.html"]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reader(text) -> Reader:
    return Reader(text)


def test_the_summary_counts_the_claims_that_hold(text):
    assert "5 of 6 claims hold" in text
    assert "2 of 3 hold" in text
    assert "Quick runs" in text


def test_verdicts_are_words_and_symbols(text):
    assert text.count("</span> holds</span>") == 5
    assert text.count("</span> missed</span>") == 1


def test_every_claim_figure_and_table_has_an_anchor_and_every_link_a_target(reader):
    ids = [a["id"] for _, a in reader.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    assert {"hierarchical-H7", "hierarchical-figure9", "hierarchical-sizes", "timestamp-H7"} <= set(ids)
    links = {link[1:] for link in reader.all("a", "href") if link.startswith("#")}
    assert links <= set(ids)


def test_nothing_comes_from_elsewhere(reader):
    sources = [a[key] for _, a in reader.tags for key in ("src", "href") if a.get(key)]
    assert not [source for source in sources if re.match(r"(?!data:)[a-z]+:|//", source)]
    assert not reader.all("script", "src")


def test_figures_are_where_the_page_looks_for_them(reader, tmp_path):
    drawn = write_figures([evaluation()], tmp_path)
    linked = [link for link in reader.all("a", "href") if link.startswith("hierarchical/")]
    assert sorted(tmp_path / link for link in linked) == sorted(drawn)
    assert all(path.is_file() for path in drawn)


def test_headings_go_down_one_level_at_a_time(reader):
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    body = levels[levels.index(1) :]
    assert all(b - a <= 1 for a, b in pairwise(body))
    assert levels.count(1) == 1


def test_a_page_without_scripts_shows_the_files(text):
    assert '<noscript><img class="still" src="hierarchical/figures/figure9.svg"' in text


def test_values_cannot_break_the_page(text):
    assert "4/5 &lt;/script&gt;" in text
    assert "4.3 &lt;local&gt;" in text
    assert "2 &lt; 3" in text
    # Its own script, the early one and plotly, and one block of data for each figure.
    assert text.count("</script") == 3 + 6


def test_a_diagram_has_no_buttons_for_the_scale_of_its_axes(reader):
    classes = [a["class"] for tag, a in reader.tags if tag == "figure"]
    assert classes == ["figure", "figure", "figure diagram"] * 2
    assert len(reader.all("button", "data-axis")) == 2 * 2 * 2


def test_json_inside_a_script_is_the_same_value_without_a_tag():
    value = {"name": "</script><!-- & \u2028"}
    assert "<" not in script_json(value)
    assert json.loads(script_json(value)) == value


def test_only_long_tables_are_folded(text):
    assert text.count("<details>") == 2
    assert "<summary>20 rows</summary>" in text
    assert '<td class="number">1,365</td>' in text


def test_a_table_called_like_a_figure_gets_an_anchor_of_its_own():
    [first, _] = tables()
    paper = replace(evaluation(), tables=[replace(first, key="figure9")])
    assert view(paper).tables[0].anchor == "hierarchical-figure9-table"


def test_two_figures_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two parts are called 'figure9'"):
        view(replace(evaluation(), figures=[two_panels(), replace(bars(), key="figure9")]))


def test_extents_of_runs_are_told():
    quick, full = view(evaluation()), view(evaluation(full=True))
    assert page._extent([full]).startswith("Full runs")
    assert page._extent([quick, full]).startswith("Some papers with full runs")


def test_a_page_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_page([evaluation()], tmp_path, version="0", details={})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_matrix_shows_every_trend_under_every_reading(tmp_path):
    text = write_page([with_readings()], tmp_path, version="0", details={}).read_text(encoding="utf-8")
    shown = view(with_readings())
    assert [(row.claim.id, [cell.outcome for cell in row.cells]) for row in shown.matrix] == [
        ("H5", ["holds", "missed"]),
        ("H6", ["missed", "holds"]),
        ("H9x", ["holds", "holds"]),
    ]
    assert "<b>H5</b> and <b>H6</b>: hosts cannot do both" in text
    assert text.count("<b>H6</b>") == 1  # H8 was not run where H6 holds, so that nothing is known of both
    assert "More seeds could turn it: gain: 1.1" in text
    assert "Section 4 speaks of loaded nodes." in text


def test_what_is_ours_is_not_in_the_count(tmp_path):
    text = write_page([with_readings()], tmp_path, version="0", details={}).read_text(encoding="utf-8")
    assert "3 of 4 claims hold" in text
    assert "1 of 1 of our own findings hold" in text
