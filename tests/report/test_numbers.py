import pytest

from stablecast.report.numbers import is_number, show, split_label


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1365, "1,365"),
        (1234567.0, "1,234,567"),
        (0.1 + 0.2, "0.3"),
        (1234.5678, "1,234.57"),
        (-2.5, "-2.5"),
        (2e20, "2e+20"),
        (float("nan"), "–"),
        (None, "–"),
        (True, "yes"),
        ("s_coordp", "s_coordp"),
    ],
)
def test_cells_as_people_read_them(value, text):
    assert show(value) == text


def test_truth_is_not_a_number_and_a_missing_value_may_stand_among_numbers():
    assert not is_number(True)
    assert is_number(None)


@pytest.mark.parametrize(
    ("label", "parts"),
    [("round-trip time [ms]", ("round-trip time", "ms")), ("members n", ("members n", ""))],
)
def test_labels_have_a_unit_in_brackets_or_none(label, parts):
    assert split_label(label) == parts
