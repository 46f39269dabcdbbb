"""The page in a browser, opened as a file: drawn, usable and printable.

After each test, the page must have reported no error and asked for nothing from a network.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from report_sample import bars, evaluation, exchange, two_panels

from stablecast.papers.page import write_figures, write_page
from stablecast.report.diagram_interactive import plot_diagram

pytestmark = pytest.mark.xdist_group("page_in_browser")  # one browser, and one page

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
FIGURE9, QUEUES, EXCHANGE = "#hierarchical-figure9", "#hierarchical-queues", "#hierarchical-exchange"
PLOTS = "[...document.querySelectorAll('.figure')]"


@pytest.fixture(scope="module")
def site(tmp_path_factory, chromium_path) -> Path:
    folder = tmp_path_factory.mktemp("site")
    papers = [evaluation()]
    write_figures(papers, folder)
    return write_page(papers, folder, version="0.1.0", details={"Spark": "4.3"})


@pytest.fixture(scope="module")
def browser(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def troubles() -> list[str]:
    """Errors of the page, and requests for anything but files; every page of this module reports here."""
    return []


@pytest.fixture(autouse=True)
def nothing_goes_wrong(troubles):
    yield
    found = troubles.copy()
    troubles.clear()
    assert found == []


@pytest.fixture(scope="module")
def open_page(browser, site, troubles):
    contexts = []

    def guard(route):
        if route.request.url.startswith(("file:", "data:", "blob:")):
            return route.continue_()
        troubles.append(f"request for {route.request.url}")
        return route.abort()

    def open_it(*, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(site.as_uri())
        page.wait_for_selector("html[data-figures=drawn]", state="attached")
        return page

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared(open_page):
    return open_page()


@pytest.fixture
def page(shared):
    """The page as it was when opened."""
    yield shared
    for button in shared.locator("[data-reset]").all():
        button.click()
    shared.mouse.move(0, 0)


def axis_type(page, figure, axis):
    return page.evaluate(f"document.querySelector('{figure} .plot')._fullLayout.{axis}.type")


def background(page, selector):
    return page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")


def test_every_figure_is_drawn_with_all_its_series(page):
    traces = ".main-svg :is(.scatterlayer, .barlayer) .trace"
    counts = f"{PLOTS}.map(f => f.querySelectorAll('{traces}').length)"
    series = [sum(len(panel.series) for panel in figure.panels) for figure in (two_panels(), bars())]
    assert page.evaluate(counts) == [*series, len(plot_diagram(exchange())["data"])]


def test_plotly_knows_every_attribute_in_use(page):
    checks = f"""{PLOTS}.map(f => JSON.parse(f.querySelector('.plot-json').textContent))
        .flatMap(s => Plotly.validate(s.data, s.layout) || []).map(c => c.msg)"""
    assert page.evaluate(checks) == []


def test_figures_offer_to_zoom_and_pan_but_not_to_upload(page):
    titles = "[...document.querySelector('.modebar').querySelectorAll('button')].map(b => b.dataset.title)"
    assert page.evaluate(titles) == ["Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]


def test_every_link_leads_somewhere(page, site):
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    for link in links:
        if link.startswith("#"):
            assert page.evaluate("id => document.getElementById(id) !== null", link[1:]), link
        else:
            assert (site.parent / link).is_file()


def test_pointing_at_a_point_shows_its_label(page):
    point = page.locator(f"{FIGURE9} .scatterlayer .trace .point").first
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    label = page.locator(f"{FIGURE9} .hoverlayer .hovertext")
    label.first.wait_for()
    assert "round-trip time" in label.first.text_content()
    assert "ms" in label.first.text_content()


def test_pointing_along_a_message_shows_where_it_goes_and_when(page):
    plot = page.locator(f"{EXCHANGE} .plot")
    plot.scroll_into_view_if_needed()
    # A quarter of the way of the first message, which goes from time 1 to 3 and two processes down.
    x, y = page.evaluate(f"""(() => {{
        const layout = document.querySelector('{EXCHANGE} .plot')._fullLayout;
        const [top, , bottom] = layout.yaxis.tickvals;
        const [x, y] = [layout.xaxis.l2p(1.5), layout.yaxis.l2p((3 * top + bottom) / 4)];
        return [x + layout._size.l, y + layout._size.t];
    }})()""")
    box = plot.bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    label = page.locator(f"{EXCHANGE} .hoverlayer .hovertext")
    label.first.wait_for()
    assert "data m & n" in label.first.text_content()
    assert "s1 → r1" in label.first.text_content()
    assert "received: 3 units, 2 later" in label.first.text_content()


def test_a_click_on_the_legend_hides_all_messages_of_a_kind_with_their_labels(page):
    texts = f"[...document.querySelectorAll('{EXCHANGE} .textpoint')].map(t => t.textContent)"
    before = page.evaluate(texts)
    page.locator(f"{EXCHANGE} .legendtoggle").nth(2).click()
    page.wait_for_function(f"() => {texts}.length < {len(before)}")
    assert set(before) - set(page.evaluate(texts)) == {"ack 1", "ack 2"}


def test_only_the_time_of_a_diagram_can_be_zoomed_and_reset_goes_back(page):
    axes = f"document.querySelector('{EXCHANGE} .plot')._fullLayout"
    ranges = f"[{axes}.xaxis.range, {axes}.yaxis.range]"
    before = page.evaluate(ranges)
    page.locator(f"{EXCHANGE} [data-title='Zoom in']").click()
    page.wait_for_function(f"() => {axes}.xaxis.range[0] > {before[0][0]}")
    assert page.evaluate(ranges)[1] == before[1]
    page.locator(f"{EXCHANGE} [data-reset]").click()
    assert page.evaluate(ranges) == before


def test_texts_of_a_diagram_have_a_rim_in_the_colour_of_the_card(page):
    text = f"{EXCHANGE} .textpoint text"
    rim = page.evaluate(f"getComputedStyle(document.querySelector('{text}')).stroke")
    assert rim == background(page, EXCHANGE)


def test_a_click_on_the_legend_hides_a_series_in_all_panels(page):
    hidden = f"""() => document.querySelector('{FIGURE9} .plot')._fullData
        .filter(t => t.visible === 'legendonly').map(t => t.name)"""
    page.locator(f"{FIGURE9} .legendtoggle").first.click()
    page.wait_for_function(f"() => ({hidden})().length > 0")
    assert page.evaluate(hidden) == ["coordp", "coordp"]


def test_a_double_click_on_the_legend_leaves_one_series(page):
    shown = f"""() => document.querySelector('{FIGURE9} .plot')._fullData
        .filter(t => t.visible === true).map(t => t.name)"""
    page.locator(f"{FIGURE9} .legendtoggle").first.dblclick()
    page.wait_for_function(f"() => ({shown})().length == 2")
    assert page.evaluate(shown) == ["coordp", "coordp"]


@pytest.mark.parametrize("letter", ["x", "y"])
def test_buttons_switch_between_linear_and_log(page, letter):
    button = page.locator(f"{FIGURE9} [data-axis={letter}]")
    assert axis_type(page, FIGURE9, f"{letter}axis2") == "log"
    button.click()
    assert axis_type(page, FIGURE9, f"{letter}axis2") == "linear"
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert axis_type(page, FIGURE9, f"{letter}axis") == "log"


def test_the_other_theme_reaches_page_and_plots(page):
    plot = f"document.querySelector('{QUEUES} .plot')._fullLayout"
    light = (
        background(page, "body"),
        page.evaluate(f"{plot}.paper_bgcolor"),
        page.evaluate(f"{plot}.font.color"),
    )
    page.locator("#theme").click()
    dark = (
        background(page, "body"),
        page.evaluate(f"{plot}.paper_bgcolor"),
        page.evaluate(f"{plot}.font.color"),
    )
    assert all(a != b for a, b in zip(light, dark, strict=True))
    page.locator("#theme").click()
    assert background(page, "body") == light[0]


def test_a_dark_system_gets_a_dark_page(open_page, shared):
    dark = open_page(color_scheme="dark")
    assert background(dark, "body") != background(shared, "body")


def test_commands_can_be_copied(page):
    from playwright.sync_api import expect

    button = page.locator(f"{QUEUES} [data-copy]")
    button.click()
    expect(button).to_have_text("Copied")


def test_printing_is_light_unfolded_and_fits_the_sheet(page):
    page.locator("#theme").click()
    page.evaluate("""addEventListener('beforeprint', () => { window.printed = {
        theme: document.documentElement.dataset.theme,
        folded: document.querySelectorAll('details:not([open])').length,
        widths: [...document.querySelectorAll('.plot')].map(p => p._fullLayout.width)
        }; }, { once: true })""")
    assert page.pdf(format="A4").startswith(b"%PDF")
    printed = page.evaluate("window.printed")
    assert printed == {"theme": "light", "folded": 0, "widths": [640] * 3}
    page.wait_for_selector("html[data-theme=dark]", state="attached")
    page.locator("#theme").click()


def test_a_telephone_needs_no_sideways_scrolling(open_page):
    narrow = open_page(width=380)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 380
    # Only a diagram is wider, within its frame.
    wide = f"document.querySelector('{EXCHANGE} .plot').scrollWidth"
    assert narrow.evaluate(wide) == 640


def test_without_scripts_the_files_are_shown(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.as_uri())
    box = page.locator(f"{FIGURE9} img").bounding_box()
    context.close()
    assert box["width"] > 300
