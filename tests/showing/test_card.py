import re
from html.parser import HTMLParser

import numpy as np
import pytest

from stablecast.showing import Card, Table
from stablecast.showing.card import MOST_ROWS, shown

NASTY = "</td><script>alert(1)</script>&\"'"


class Texts(HTMLParser):
    """Reads a card as a browser does: which tags there are, whether they nest, and what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.tags, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


def read(card):
    found = Texts()
    found.feed(card.html())
    assert not found.open
    return found


def test_a_card_says_everything_in_order():
    table = Table(title="hops", columns=("type", "count"), rows=[("START", 12), ("ACK", None)])
    card = Card(title="a run", lead="of 3", facts={"done": True}, tables=[table], pasted=("stablecast x",))
    texts = [text for text in read(card).texts if text.strip()]
    assert texts == [
        *("a run", "of 3", "done", "yes", "hops", "type", "count", "START", "12", "ACK", "–", "stablecast x")
    ]


def test_names_that_are_html_are_shown_as_they_are():
    table = Table(title=NASTY, columns=(NASTY,), rows=[(NASTY,)])
    card = Card(title=NASTY, lead=NASTY, facts={NASTY: NASTY}, tables=[table], pasted=(NASTY,))
    found = read(card)
    assert "script" not in found.tags
    assert "".join(found.texts).count(NASTY) == 8


def test_control_characters_are_written_out_and_long_texts_cut():
    found = read(Card(title="a\x1b[31m\u202eb", lead="x" * 1000))
    assert "a\\x1b[31m\\u202eb" in found.texts
    assert max(map(len, found.texts)) <= 201


def test_a_long_table_shows_its_first_rows_and_how_many_there_are():
    rows = [(number,) for number in range(100)]
    found = read(Card(title="", tables=[Table(columns=("n",), rows=rows)]))
    assert found.tags.count("tr") == MOST_ROWS + 1
    assert "80 more rows" in found.texts
    given = read(Card(title="", tables=[Table(columns=("n",), rows=rows[:3], total=5000)]))
    assert "4,997 more rows" in given.texts


def test_a_card_sets_no_colour_of_its_own():
    colours = set(re.findall(r"[\s;{]color: ([^;]+);", Card(title="x").html()))
    assert colours == {"inherit"}
    assert not re.search(r"#[0-9a-f]{3,6}\b", Card(title="x").html())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (1234567, "1,234,567"),
        (np.int64(12000), "12,000"),
        (0.123456, "0.1235"),
        (np.float64(12345.6), "12,346"),
        (float("nan"), "–"),
        (float("inf"), "inf"),
        (["ann", "bob"], "ann, bob"),
        ([], "–"),
    ],
)
def test_values_are_told_as_people_read_them(value, text):
    assert shown(value) == text
