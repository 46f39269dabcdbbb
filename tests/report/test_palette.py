import itertools
import string

import pytest
from contrast import contrast
from report_sample import bars, two_panels

from stablecast.report.palette import COLOURS, KNOWN, MARKERS, assign, looks

DARK, WHITE = "#1a2026", "#ffffff"


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_is_seen_on_white_and_on_dark(colour):
    assert contrast(colour, WHITE) > 2.1
    assert contrast(colour, DARK) > 3


def test_known_protocols_keep_their_looks_whatever_else_is_drawn():
    alone = assign(["coordp"])["coordp"]
    assert assign(["b=3", "another", "coordp"])["coordp"] == alone == KNOWN["coordp"]


def test_known_looks_differ_in_print_without_colour():
    for a, b in itertools.combinations(KNOWN.values(), 2):
        assert (a.colour, a.marker) != (b.colour, b.marker)


def test_another_name_has_the_same_look_in_every_figure_where_its_colour_is_free():
    assert assign(["b=3"])["b=3"] == assign(["b=3", "coordp"])["b=3"] == assign(["b=3", "zeta"])["b=3"]


def test_other_names_have_different_colours_while_there_are_any():
    given = assign(string.ascii_lowercase[: len(COLOURS)])
    assert len({look.colour for look in given.values()}) == len(COLOURS)


def test_looks_differ_until_all_combinations_are_used():
    names = [f"series {k}" for k in range(len(COLOURS) * len(MARKERS))]
    given = assign(names)
    assert len({(look.colour, look.marker) for look in given.values()}) == len(names)


def test_a_companion_takes_the_colour_of_its_line_and_is_paler():
    given = looks(two_panels())
    line, companion = given["coordp"], given["coordp, random trees"]
    assert companion.colour == line.colour
    assert companion.opacity < line.opacity == 1


def test_bars_of_different_colours_have_different_hatches():
    assert len({look.hatch for look in looks(bars()).values()}) == 2
