"""The page of an analysis in a browser, with names that try to break it."""

from __future__ import annotations

import pytest
from analysis_report_sample import InventedTrace, write_analysis

from stablecast.report.analysis_page import read_analysis, write_report

pytestmark = pytest.mark.xdist_group("page_in_browser")  # one browser at a time

OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
ODD = ("<script>alert(1)</script>", "$x_{^", "new\nline\u202e", "a" * 300, "b" * 300 + "1", "")
FIGURES = "[...document.querySelectorAll('.figure')]"
LAGGARDS = "document.querySelector('#figure-laggards .plot')"


@pytest.fixture(scope="module")
def site(tmp_path_factory, chromium_path):
    folder = tmp_path_factory.mktemp("analysed")
    trace = InventedTrace(names=ODD, messages=80)
    write_analysis(folder, trace.summary(), **trace.tables())
    page = folder / "report" / "index.html"
    return write_report(read_analysis(folder), page, folder=folder, version="0.1.0").page


@pytest.fixture(scope="module")
def browser(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def troubles() -> list[str]:
    """Errors of the page, dialogs, and requests for anything but files."""
    return []


@pytest.fixture(scope="module")
def page(browser, site, troubles):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda one: troubles.append(one.url) if one.url.startswith("http") else None)
    page.goto(site.as_uri())
    page.wait_for_selector("html[data-figures=drawn]", state="attached")
    return page


def test_everything_is_drawn_without_an_error(page, troubles):
    assert page.evaluate(f"{FIGURES}.map(f => f.id)") == [
        *("figure-time-to-stable", "figure-frontiers", "figure-kept", "figure-occupancy", "figure-laggards")
    ]
    drawn = f"{FIGURES}.map(f => f.querySelectorAll('.main-svg :is(.scatterlayer, .barlayer) .trace').length)"
    assert min(page.evaluate(drawn)) > 0
    assert troubles == []


def test_plotly_knows_every_attribute_in_use(page):
    checks = f"""{FIGURES}.map(f => JSON.parse(f.querySelector('.plot-json').textContent))
        .flatMap(s => Plotly.validate(s.data, s.layout) || []).map(c => c.msg)"""
    assert page.evaluate(checks) == []


def test_names_are_shown_as_they_are(page):
    ticks = f"[...{LAGGARDS}.querySelectorAll('.ytick text')].map(t => t.textContent)"
    names = page.evaluate(ticks)
    assert "<script>alert(1…/script>" in names
    assert "$x_{^" in names
    # Only the panel at the left has them.
    assert len(names) == len(set(names))


def test_names_have_room_within_the_picture(page):
    lefts = f"""[...{LAGGARDS}.querySelectorAll('.ytick text')]
        .map(t => t.getBoundingClientRect().left - {LAGGARDS}.getBoundingClientRect().left)"""
    assert min(page.evaluate(lefts)) >= 0


def test_bars_with_names_have_a_scale_for_x_only(page):
    buttons = "[...document.querySelectorAll('#figure-laggards [data-axis]')].map(b => b.dataset.axis)"
    assert page.evaluate(buttons) == ["x"]
    page.locator("#figure-laggards [data-axis=x]").click()
    assert page.evaluate(f"{LAGGARDS}._fullLayout.xaxis.type") == "log"
    page.locator("#figure-laggards [data-reset]").click()
    assert page.evaluate(f"{LAGGARDS}._fullLayout.xaxis.type") == "linear"


def test_the_other_theme_and_a_telephone(page, troubles):
    before = page.evaluate(f"{LAGGARDS}._fullLayout.paper_bgcolor")
    page.locator("#theme").click()
    assert page.evaluate(f"{LAGGARDS}._fullLayout.paper_bgcolor") != before
    page.set_viewport_size({"width": 380, "height": 800})
    page.wait_for_function(f"() => {LAGGARDS}._fullLayout.width < 380")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    assert troubles == []
