import itertools
import string
from dataclasses import replace

import pytest
from contrast import contrast
from report_sample import bars, exchange, two_panels

from stablecast.report.palette import (
    COLOURS,
    KNOWN,
    MARKERS,
    MESSAGES,
    TRANSMISSIONS,
    assign,
    kind_looks,
    looks,
)

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


def test_kinds_of_messages_look_the_same_in_every_diagram_and_others_get_another_colour():
    first, *rest = reversed(exchange().messages)
    given = kind_looks(replace(exchange(), messages=(replace(first, kind="repair"), *rest)))
    assert list(given) == ["data", "NULL", "acknowledgement", "repair"]
    assert all(given[kind] == MESSAGES[kind] for kind in ("data", "NULL", "acknowledgement"))
    assert len({look.colour for look in given.values()}) == 4


def test_known_kinds_of_messages_differ_in_print_without_colour():
    assert len({look.dash for look in MESSAGES.values()}) == len(MESSAGES)


def test_kinds_of_transmissions_that_come_together_look_different():
    kinds = ("DATA", "REPAIR", "NAK", "START", "ACK", "INFO", "SENT", "ALIVE", "critical path")
    assert len({(TRANSMISSIONS[kind].colour, TRANSMISSIONS[kind].dash) for kind in kinds}) == len(kinds)
