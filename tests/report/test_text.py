from report_sample import verdict

from stablecast.papers.claims_text import WIDTH, claims_table
from stablecast.report.text import render

LONG = "The longest queue is 1.6 times the paper's, and it does not say whether the one being sent counts. "


def test_numbers_are_aligned_to_the_right_and_text_to_the_left():
    lines = render("Sizes", ("name", "n"), [("a", 1365), ("bcdef", 4)]).splitlines()
    assert lines == ["Sizes", "name       n", "-----  -----", "a      1,365", "bcdef      4"]


def test_a_column_with_a_missing_value_is_still_one_of_numbers():
    assert render("", ("n",), [(10000,), (None,)]).splitlines()[-1] == "     –"


def test_claims_show_their_verdicts():
    lines = claims_table([verdict("H1"), verdict("H9", holds=False, kind="factor")]).splitlines()
    assert lines[0].split() == ["claim", "verdict", "kind", "paper", "measured", "why"]
    assert lines[2].split()[:5] == ["H1", "holds", "exact", "1,365", "1,365"]
    assert lines[3].split()[:5] == ["H9", "MISSED", "factor", "1,365", "1,300"]


def test_a_long_reason_is_wrapped_under_its_column_and_nothing_is_lost():
    lines = claims_table([verdict("H1", why=LONG * 3)]).splitlines()
    start = lines[0].index("why")
    assert max(map(len, lines)) <= WIDTH
    assert " ".join(line[start:].strip() for line in lines[2:]) == (LONG * 3).strip()
    assert all(not line[:start].strip() for line in lines[3:])


def test_no_claims_give_headings_alone():
    assert len(claims_table([]).splitlines()) == 2
