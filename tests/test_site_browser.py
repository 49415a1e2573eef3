"""The built site in a real browser, from disk and from a static server: accessible, searchable, offline."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import INSIST

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SITE = Path(__file__).parent.parent / "build" / "site"
PAGES = (
    ("index.html", 1300, "light"),
    ("start/first-score.html", 390, "light"),
    ("understand/method.html", 1300, "dark"),
    ("reference/commands/otadtk.html", 390, "dark"),
    ("reference/python.html", 1300, "light"),
)
pytestmark = pytest.mark.xdist_group("site")


@pytest.fixture
def visit(browser: Browser) -> Iterator[object]:
    """Opens a page of the site; fails if a request leaves the machine, or the console has an error."""
    if not (SITE / "index.html").exists():
        if os.environ.get(INSIST):
            pytest.fail("no site in build/site: make docs")
        pytest.skip("no site in build/site; make docs builds it")
    contexts = []
    trouble: list[str] = []

    def open_page(page: str, width: int = 1300, scheme: str = "light", root: str = "") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        opened = context.new_page()
        opened.on(
            "request", lambda asked: trouble.append(asked.url) if network(asked.url) else None
        )
        opened.on("pageerror", lambda error: trouble.append(str(error)))
        opened.on(
            "console", lambda said: trouble.append(said.text) if said.type == "error" else None
        )
        opened.goto(f"{root}/{page}" if root else (SITE / page).as_uri())
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def network(address: str) -> bool:
    return not address.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))


class Quiet(SimpleHTTPRequestHandler):
    """What `python -m http.server` runs, without its lines."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """The address of the site on a static server."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()
    thread.join()


@pytest.mark.parametrize(("page", "width", "scheme"), PAGES)
def test_accessible_and_fits(
    visit: object, server: str, page: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = visit(page, width, scheme, server)  # axe reads styles by requests that file:// forbids
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    rules = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    found = Axe().run(opened, options={"resultTypes": ["violations"], "runOnly": rules})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("served", [False, True], ids=["from disk", "from a server"])
def test_search_works(visit: object, server: str, served: bool) -> None:
    opened = visit("index.html", root=server if served else "")
    opened.get_by_placeholder("Search").press_sequentially(
        "epsilon-scale"
    )  # the site listens to keys
    first = opened.locator(".md-search-result__item").first
    first.wait_for(timeout=20_000)
    assert "--epsilon-scale" in first.inner_text()


def test_the_gallery_plays(visit: object) -> None:
    opened = visit("start/gallery.html")
    report = opened.frame_locator("iframe").first
    report.locator("tbody .c-play .play").first.click()
    report.locator("audio").first.wait_for(state="attached")
    assert report.locator("tbody tr").count() >= 10
