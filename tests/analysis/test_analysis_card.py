"""An analysis as a card."""

import json

import pytest

from stablecast.notebook import analyze
from stablecast.pipeline.analysis.stability import Tables


def written(tmp_path, rows):
    names = ("group", "kind", "member", "source", "seq", "time_us")
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    return file


@pytest.fixture
def messages(tmp_path):
    nasty = "<b>bob</b>"
    return written(
        tmp_path,
        [
            ("g", "send", "ann", "ann", 1, 1000),
            ("g", "receive", nasty, "ann", 1, 3500),
            ("g", "send", "ann", "ann", 2, 2000),
            ("g", "receive", nasty, "ann", 1, 9000),
        ],
    )


def test_it_tells_what_is_stable_who_is_waited_for_and_what_is_wrong(messages):
    html = analyze(messages)._repr_html_()
    assert "1 of 2 messages stable, 1 violation" in html
    assert "violations: duplicate" in html
    assert "<td>&lt;b&gt;bob&lt;/b&gt;</td>" in html
    assert "<b>" not in html
    assert "time to stable, p50 (ms)" in html


def test_a_column_that_says_nothing_is_left_out(messages, tmp_path):
    html = analyze(messages)._repr_html_()
    assert "waiting_for" in html
    assert '<th scope="col">group</th>' not in html
    whole = written(tmp_path, [("g", "send", "ann", "ann", 1, 1), ("g", "receive", "bob", "ann", 1, 2)])
    assert "waiting_for" not in analyze(whole)._repr_html_()


def test_positions_are_numbers_and_those_who_block_come_first(tmp_path):
    file = written(
        tmp_path,
        [
            ("g", "head", None, "p0", 1000, 10),
            ("g", "position", "fast", "p0", 900, 20),
            ("g", "position", "slow", "p0", 250, 30),
        ],
    )
    html = analyze(file)._repr_html_()
    assert "250 of 1,000 numbers stable, no violation" in html
    assert html.index("<td>slow</td>") < html.index("<td>fast</td>")


def test_an_analysis_on_spark_shows_what_is_at_the_driver_and_starts_no_job(messages):
    found = analyze(messages)
    small = {"sources": found.tables["sources"]}
    html = Tables(None, {"messages": None}, small, found.summary)._repr_html_()
    assert "1 of 2 messages stable" in html
    assert "tables: sources (1), messages" in html
