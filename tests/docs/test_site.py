"""The site is built from the pages and from the code; a link that leads nowhere ends its build."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from website import build
from website.gather import LEFT_OUT, OTHERS, ROOT
from website.sections import SECTIONS

pytestmark = pytest.mark.filterwarnings("ignore:.*MystReferenceResolver")


def test_every_page_has_one_place():
    listed = [page for section in SECTIONS for page in section.pages]
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    pages |= {page.removesuffix(".md") for page in OTHERS}
    pages -= {page.removesuffix(".md") for page in LEFT_OUT}
    pages = {page for page in pages if not page.startswith("docs/decisions/")}
    made = {page for page in listed if page.startswith("reference/")} | {"docs/decisions/index"}
    assert len(listed) == len(set(listed))
    assert set(listed) == pages | made


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert build.main(["--out", str(folder)]) == 0, "the warnings above say why"
    return folder / "html"


class Links(HTMLParser):
    """Collects where a page leads, and what can be led to in it."""

    def __init__(self):
        super().__init__()
        self.to, self.places = [], set()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if "id" in given:
            self.places.add(given["id"])
        for name in ("href", "src"):
            if tag in ("a", "img", "script", "link") and given.get(name):
                self.to.append(given[name])


def links_of(page: Path) -> Links:
    links = Links()
    links.feed(page.read_text())
    return links


def test_every_link_of_the_site_leads_to_a_page_of_it(site):
    pages = {page: links_of(page) for page in site.rglob("*.html")}
    assert len(pages) > 60
    broken = []
    for page, links in pages.items():
        for link in links.to:
            path, _, place = link.partition("#")
            if "://" in path or path.startswith(("mailto:", "data:")):
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken


def test_the_site_needs_nothing_from_elsewhere(site):
    fetched = [
        f"{page.relative_to(site)}: {link}"
        for page in site.rglob("*.html")
        for link in links_of(page).to
        if "://" in link and link.endswith((".js", ".css", ".woff2", ".png"))
    ]
    assert not fetched


def test_reference_pages_come_from_the_code(site):
    commands = (site / "reference/commands.html").read_text()
    assert "stablecast simulate" in commands
    assert "--propagation-us" in commands
    assert "--rate-per-s" in commands
    protocols = (site / "reference/protocols.html").read_text()
    assert "gsgc-local" in protocols
    assert "tree_degree" in protocols
    python = (site / "reference/python.html").read_text()
    assert "stablecast.join" in python
    assert (site / "searchindex.js").stat().st_size > 100_000
