"""The page of a run in a browser, opened as a file: drawn, found in, zoomed, filtered.

After each test, the page must have reported no error and asked for nothing from a network.
"""

from __future__ import annotations

import re

import pytest

from stablecast.causes import critical_path, life, read
from stablecast.report.lens.content import Asked, content_of
from stablecast.report.lens.page import render
from tests.report.lens_traces import Group, deliveries_only, write_lines

pytestmark = pytest.mark.xdist_group("page_in_browser")  # one browser at a time

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
HOSTILE = "</script><script>document.title='run'</script>"
WINDOW = "[page.view.from, page.view.to]"
DRAWN = "page.seen.count"
PICTURE = "document.getElementById('diagram').toDataURL()"


@pytest.fixture(scope="module")
def browser(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of pages by name: a small run, a large one, deliveries alone, and names that are markup."""
    folder = tmp_path_factory.mktemp("lens")
    names = ["ann", "bob", "cat", "dan", "eve", "m2", "m10"]
    small = Group(names, seed=3, loss=0.1).run(30).rows
    made = {
        "small": small,
        "large": Group([f"m{k}" for k in range(16)], seed=4).run(300, every_us=1_000).rows,
        "plain": deliveries_only(small),
        "hostile": Group([HOSTILE, "a/b"], loss=0).run(4).rows,
    }
    for name, rows in made.items():
        run = read([write_lines(rows, folder / f"{name}.jsonl")])
        asked = Asked(("ann", 2)) if name == "small" else Asked()
        page = render(content_of(run, f"{run.group}: {name}", asked), version="1")
        (folder / f"{name}.html").write_bytes(page)
    return folder


@pytest.fixture(scope="module")
def run(site):
    return read([site / "small.jsonl"])


@pytest.fixture
def open_page(browser, site):
    troubles, contexts = [], []

    def guard(route):
        if route.request.url.startswith("file:"):
            return route.continue_()
        troubles.append(f"request for {route.request.url}")
        return route.abort()

    def open_it(name="small", *, width=1280, at="", **options):
        options = {"reduced_motion": "reduce", **options}
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto((site / f"{name}.html").as_uri() + at)
        page.wait_for_selector("html[data-lens=ready]", state="attached")
        until(page, "page.seen !== null")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert troubles == []


def find(page, message):
    page.locator("#search").fill(message)
    page.locator("#search").press("Enter")


def until(page, condition):
    """Wait for a condition; the page's policy does not let playwright's own way evaluate text."""
    page.evaluate(f"(async () => {{ while (!({condition})) await new Promise(requestAnimationFrame); }})()")


def frame(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def number(text):
    return round(1000 * float(text.replace(",", "")))


def test_it_opens_at_the_message_that_was_asked_for(open_page, run):
    page = open_page()
    path = critical_path(run, "ann", 2)
    assert page.locator("#message h2 span").text_content() == "ann/2"
    begin, end = page.evaluate(WINDOW)
    start = int(run.rows.time_us.min())
    assert begin < path.sent_us - start < path.detected_us - start < end
    assert end - begin < 1.3 * path.length_us
    assert f"{path.length_us / 1000:,.3f} ms" in page.locator(".answer").text_content()


def test_a_message_that_is_searched_shows_pieces_that_sum_to_its_time(open_page, run):
    page = open_page()
    find(page, "bob/3")
    path = critical_path(run, "bob", 3)
    pieces = page.locator("#segments tbody tr")
    texts = [row.locator("button").text_content() for row in pieces.all()]
    assert texts == [one.text for one in path.segments]
    shown = [number(row.locator("td").nth(1).text_content()) for row in pieces.all()]
    assert sum(shown) == path.length_us == number(page.locator("#segments tfoot td").first.text_content())
    phases = [number(one.text_content().split()[0]) for one in page.locator(".phases b").all()]
    assert sum(phases) == path.length_us


def test_the_life_of_a_message_is_what_the_trace_says(open_page, run):
    page = open_page()
    told = life(run, "ann", 2)
    rows = {row.locator("th").text_content(): row for row in page.locator("#life tbody tr").all()}
    assert set(rows) == {one.member for one in told.members}
    for one in told.members:
        cells = [cell.text_content() for cell in rows[one.member].locator("td").all()]
        wanted = [one.received_us, one.known_us, one.released_us]
        shown = [None if text == "–" else number(text) for text in (cells[0], cells[2], cells[3])]
        assert shown == [None if time is None else time - told.sent_us for time in wanted]
        came = f"REPAIR from {one.origin}" if one.how == "repaired" else f"from {one.origin}"
        assert cells[1] == ("sent it" if one.member == "ann" else came)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("ann/99", "no message ann/99 in this run (ann sent 1 to 5)"),
        ("zoe/1", "“zoe/1” is not a message"),
        ("ann", "“ann” is not a message"),
    ],
)
def test_a_message_that_is_not_there_is_told_in_one_line(open_page, asked, line):
    page = open_page()
    find(page, asked)
    assert line in page.locator("#missing").text_content()
    assert page.locator("#message h2 span").text_content() == "ann/2"


def test_the_address_opens_a_message(open_page):
    assert open_page(at="#cat%2F1").locator("#message h2 span").text_content() == "cat/1"


def test_the_slowest_messages_are_listed_and_open(open_page):
    page = open_page("large")
    listed = page.locator("#slowest button")
    lengths = [number(one.text_content().split()[0]) for one in page.locator("#slowest .number").all()]
    assert len(lengths) == 30
    assert lengths == sorted(lengths, reverse=True)
    listed.nth(2).click()
    assert page.locator("#message h2 span").text_content() == listed.nth(2).get_attribute("data-message")
    assert listed.nth(2).get_attribute("aria-current") == "true"
    page.locator("#more").click()
    assert page.locator("#slowest button").count() > 30


def test_a_click_on_a_piece_goes_there(open_page, run):
    page = open_page()
    last = critical_path(run, "ann", 2).segments[-1]
    page.locator("#segments tbody button").last.click()
    frame(page)
    begin, end = page.evaluate(WINDOW)
    start = int(run.rows.time_us.min())
    assert begin <= last.begin_us - start <= last.end_us - start <= end
    assert end - begin < 2 * last.length_us + 10


def test_the_wheel_zooms_about_the_pointer_and_dragging_moves(open_page):
    page = open_page()
    box = page.locator("#diagram").bounding_box()
    x, y = box["width"] * 0.5, box["y"] + 200
    under = f"timeOf(page.view, page.seen.frame, {x})"
    before, width = page.evaluate(under), page.evaluate("page.view.to - page.view.from")
    page.mouse.move(box["x"] + x, y)
    page.mouse.wheel(0, -240)
    until(page, f"page.view.to - page.view.from < {width} * 0.9")
    assert page.evaluate(under) == pytest.approx(before, abs=2)
    page.mouse.down()
    page.mouse.move(box["x"] + x + 100, y, steps=4)
    page.mouse.up()
    assert page.evaluate(f"timeOf(page.view, page.seen.frame, {x} + 100)") == pytest.approx(before, abs=2)


def test_keys_zoom_move_and_leave(open_page):
    page = open_page()
    page.locator("#diagram").focus()
    begin, end = page.evaluate(WINDOW)
    page.keyboard.press("+")
    assert page.evaluate("page.view.to - page.view.from") < end - begin
    at = page.evaluate("page.view.from")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("page.view.from") > at
    page.keyboard.press("n")
    assert page.evaluate("page.looked.segment === page.looked.path.segments[0]")
    page.keyboard.press("0")
    frame(page)
    assert page.evaluate(WINDOW) == [0, page.evaluate("page.run.span")]
    page.keyboard.press("Escape")
    assert page.locator("#message").is_hidden()


def test_filters_by_kind_member_and_time(open_page):
    page = open_page()
    page.locator("#whole").click()
    frame(page)
    everything = page.evaluate(DRAWN)
    page.locator("[data-kind=DATA]").click()
    frame(page)
    data = int(page.locator("[data-kind=DATA] .number").text_content())
    assert page.evaluate(DRAWN) == everything - data
    page.locator("[data-kind=DATA]").click()
    page.locator("#members").fill("ann bob")
    frame(page)
    assert page.evaluate("page.view.rows.map((k) => page.run.members[k])") == ["ann", "bob"]
    assert 0 < page.evaluate(DRAWN) < everything
    page.locator("#members").fill("nobody")
    assert page.locator("#nobody").text_content()
    page.locator("#everyone").click()
    page.locator("#from").fill("20")
    page.locator("#to").fill("30.5")
    page.locator("#to").press("Enter")
    frame(page)
    assert page.evaluate(WINDOW) == [20_000, 30_500]
    page.locator("#to").fill("10")
    page.locator("#to").press("Enter")
    assert "before" in page.locator("#wrong").text_content()


def test_members_stand_in_the_order_of_their_numbers(open_page):
    names = open_page().evaluate("page.view.rows.map((k) => page.run.members[k])")
    assert names == ["ann", "bob", "cat", "dan", "eve", "m2", "m10"]


def test_only_members_on_the_path(open_page, run):
    page = open_page()
    page.get_by_role("button", name="Only members on the path").click()
    path = critical_path(run, "ann", 2)
    ends = {name for one in (*path.segments, *path.way) for name in (one.origin, one.member)}
    assert set(page.evaluate("page.view.rows.map((k) => page.run.members[k])")) == ends


def test_pointing_tells_about_a_piece_a_dot_and_an_arrow(open_page):
    page = open_page()
    box = page.locator("#diagram").bounding_box()
    piece = "lineOf(page.view, page.seen.frame, page.looked.path.segments.at(-1))"
    x0, y0, x1, y1 = page.evaluate(piece)
    page.mouse.move(box["x"] + (x0 + x1) / 2, box["y"] + (y0 + y1) / 2)
    assert "critical path" in page.locator("#tip").text_content()
    page.locator("#diagram").press("Escape")
    frame(page)
    x, y = page.evaluate("""() => {
        const k = page.seen.points.find((k) => page.run.point_kind[k] === SEND);
        const { run, view, seen } = page;
        return [xOf(view, seen.frame, run.point_time[k]), yOf(view, seen.frame, run.point_member[k])];
    }""")
    page.mouse.move(box["x"] + x, box["y"] + y)
    assert "sends" in page.locator("#tip").text_content()
    line = page.evaluate("tellArrow(page.run, page.seen.arrows[0])")
    assert re.search(r"→", line[1])


def test_many_events_are_shown_as_density_and_one_by_one_when_near(open_page):
    page = open_page("large")
    assert page.evaluate("page.seen.dense")
    assert "darker is more" in page.locator("#window").text_content()
    page.evaluate("setWindow(50000, 54000)")
    frame(page)
    assert not page.evaluate("page.seen.dense")
    assert 0 < page.evaluate("page.seen.arrows.length") == page.evaluate(DRAWN)


def test_what_is_seen_is_what_a_look_at_all_rows_finds(open_page):
    page = open_page("large")
    for begin, end in ((0, 3_000), (50_000, 51_000), (200_000, 210_000)):
        page.evaluate(f"setWindow({begin}, {end})")
        frame(page)
        wanted = f"""[...page.run.arrow_sent.keys()].filter((k) => page.run.arrow_sent[k] <= {end}
            && page.run.arrow_end[k] >= {begin}).length"""
        assert page.evaluate(DRAWN) == page.evaluate(wanted)


def test_dark_follows_the_system_and_redraws(open_page):
    page = open_page()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor"), page.evaluate(PICTURE)
    page.emulate_media(color_scheme="dark")
    until(page, "page.theme.dark")
    frame(page)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor"), page.evaluate(PICTURE)
    assert all(a != b for a, b in zip(light, dark, strict=True))


@pytest.mark.parametrize("name", ["small", "large"])
def test_a_telephone_needs_no_sideways_scrolling(open_page, name):
    page = open_page(name, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#diagram").bounding_box()
    assert box["width"] > 340
    assert box["height"] > 300


def test_motion_takes_a_moment_unless_it_is_not_wanted(open_page):
    page = open_page(reduced_motion="no-preference")
    page.locator("#whole").click()
    until(page, "page.view.from === 0 && page.view.to === page.run.span")
    still = open_page()
    still.evaluate("goTo(0, page.run.span)")
    assert still.evaluate(WINDOW) == [0, still.evaluate("page.run.span")]


def test_names_are_never_markup(open_page):
    page = open_page("hostile")
    assert page.title() == "g: hostile"
    find(page, f"{HOSTILE}/1")
    assert page.locator("#message h2 span").text_content() == f"{HOSTILE}/1"
    find(page, "a/b/1")
    assert page.locator("#message h2 span").text_content() == "a/b/1"
    assert page.locator("script").count() == 2


def test_deliveries_alone_are_drawn_and_the_page_says_how_far_paths_go(open_page):
    page = open_page("plain")
    assert page.evaluate(DRAWN) > 0
    assert "--wire" in page.locator("#paths").text_content()
    page.locator("#slowest button").first.click()
    assert page.locator("#segments tbody tr").count() >= 1
