"""The dashboard in a browser: what it shows, clicks, both colour schemes, a narrow screen, and hostile names.

After each test, the page must have reported no error and asked for nothing but from the dashboard.
"""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from observed_groups import FakePlace, failed, group, holding, note, write_wire_traces

from stablecast.live.access import Access
from stablecast.observe.dashboard import Dashboard
from stablecast.observe.follow import Follower
from stablecast.observe.lens import Lens
from stablecast.observe.place import NoAnswer

pytestmark = pytest.mark.xdist_group("dashboard_in_browser")  # one browser

OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
SCRIPT = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
NAMES = ["a", "b", SCRIPT]


class Served:
    """A dashboard on an event loop in a thread of its own; tests change what its place tells."""

    def __init__(self, folder):
        self._lens = Lens(folder)
        self.place = FakePlace(group())
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._is_up, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    async def _run(self):
        follower = Follower(self.place, every_s=0.05)
        await follower.first()
        dashboard = Dashboard(follower, Access(is_local=True), self._lens)
        runner, port = await dashboard.serve("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{port}/"
        following = asyncio.create_task(dashboard.hub.run())
        self._is_up.set()
        await self._over.wait()
        following.cancel()
        dashboard.hub.end()
        await runner.cleanup()

    def __enter__(self):
        self._thread.start()
        assert self._is_up.wait(20)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def browser(chromium_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def served(tmp_path):
    with Served(tmp_path) as served:
        yield served


@pytest.fixture
def page(browser, served):
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")

    def guard(route):
        if route.request.url.startswith((served.url, "data:")):
            return route.continue_()
        troubles.append(f"request for {route.request.url}")
        return route.abort()

    context.set_default_timeout(60_000)  # milliseconds, for machines that have other work
    context.route("**/*", guard)
    page = context.new_page()
    context.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
    context.on("weberror", lambda error: troubles.append(str(error.error)))
    page.goto(served.url)
    page.wait_for_selector("html[data-looks]")
    yield page
    context.close()
    assert troubles == []


def test_members_holders_events_and_pictures_follow_the_group(page, served):
    assert page.title().startswith("orders · s_coord · 3 members")
    assert page.locator("#members tbody tr").count() == 3
    served.place.happened.append(note(1, "joined: d"))
    served.place.told = group(at_s=101, states={"c": "silent"}, holding=[holding()], gone=[failed("x")])
    page.wait_for_selector('tr.trouble[data-name="c"]')
    rows = page.locator("#members tbody tr")
    assert rows.nth(0).inner_text().split()[:2] == ["x", "failed"]
    assert rows.nth(1).inner_text().split()[:2] == ["c", "silent"]
    assert "c lacks a/10 and 4 more (500 B), for 2.0 s" in page.locator("#holding").inner_text()
    page.wait_for_selector("#events li")
    assert page.locator("#events li").first.inner_text().endswith("joined: d")
    assert page.locator("#frontiers path").count() == 6
    assert page.locator("#lags .bar").inner_text().startswith("c")


def test_a_click_sorts_and_a_click_looks_into_a_member_and_a_message(page, served):
    served.place.told = group(at_s=101, holding=[holding()])
    page.wait_for_selector(".message")
    page.click("th button:text-is('Member')")
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Member")
    page.click("th button:text-is('Member')")
    assert page.locator("#members tbody tr").first.inner_text().startswith("c")
    page.click("tr[data-name=b] .name")
    page.wait_for_selector("dialog[open]")
    assert "b, at 127.0.0.1:7001" in page.locator("#inside-body").inner_text()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    page.click(".message")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#inside-head").inner_text() == "a/10"
    text = page.locator("#inside-body").inner_text()
    assert "This message is waiting.\n<b>c</b> has up to 9; lacks it for 2.0 s" in text
    page.keyboard.press("Escape")
    page.fill("#message", "ann/17")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.locator("#inside-head").inner_text() == "ann/17"


def test_names_of_members_are_text_and_never_run(page, served):
    served.place.happened.append(note(1, f"joined: {SCRIPT}"))
    served.place.told = group(NAMES, at_s=101, holding=[holding(SCRIPT, SCRIPT)], gone=[failed(SCRIPT + "2")])
    page.wait_for_selector(".message")
    page.wait_for_selector("#events li")
    page.locator("#members .name").nth(3).click()
    page.wait_for_selector("dialog[open]")
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.title().startswith("orders")
    assert SCRIPT in page.locator("#holding").inner_text()
    assert SCRIPT in page.locator("#frontiers").inner_text()


def test_lost_contact_is_said_and_ends(page, served):
    served.place.told = NoAnswer("cannot ask 127.0.0.1:9100: nobody listens there")
    page.wait_for_selector("#lost:not([hidden])")
    assert "trying again: cannot ask 127.0.0.1:9100" in page.locator("#lost").inner_text()
    served.place.told = group(at_s=103)
    page.wait_for_selector("#lost", state="hidden")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen_nothing_but_the_table_goes_sideways_and_text_can_be_read(page, served, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    many = [f"a-member-with-a-long-name-{k}" for k in range(40)]
    served.place.told = group(
        many, at_s=101, states={many[7]: "suspected"}, holding=[holding(many[7], many[3])]
    )
    page.wait_for_selector("tr.trouble")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    back = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    red = int(back.removeprefix("rgb(").split(",")[0])
    assert red < 64 if scheme == "dark" else red > 192


def test_a_message_leads_to_its_lens_which_opens_without_a_complaint(page, tmp_path):
    with ThreadPoolExecutor(1) as other:  # this thread has the event loop of the browser
        message = other.submit(write_wire_traces, tmp_path).result()
    page.fill("#message", message)
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] a")
    with page.context.expect_page() as opened:
        page.click("dialog a")
    lens = opened.value
    lens.wait_for_selector("canvas")
    lens.wait_for_load_state()
    assert message in lens.locator("body").inner_text()
