import re
from pathlib import Path

import pytest
from contrast import contrast

import stablecast.report

STYLE = (Path(stablecast.report.__file__).parent / "style.css").read_text()


def colours(selector: str) -> dict[str, str]:
    rules = re.search(re.escape(selector) + r" \{(.*?)\}", STYLE, re.DOTALL)[1]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", rules))


@pytest.mark.parametrize("selector", [":root", ':root[data-theme="dark"]'])
@pytest.mark.parametrize(
    ("front", "back"),
    [
        *(
            (front, back)
            for front in ("text", "muted", "link", "holds", "missed")
            for back in ("back", "card")
        ),
        ("holds", "holds-back"),
        ("missed", "missed-back"),
    ],
)
def test_text_can_be_read_in_both_themes(selector, front, back):
    given = colours(selector)
    assert contrast(given[front], given[back]) >= 4.5


def test_both_themes_set_the_same_colours():
    assert colours(":root").keys() == colours(':root[data-theme="dark"]').keys()
