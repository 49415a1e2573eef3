"""Takes the picture of the demo's report that README.md shows: a part of `make readme`.

python -m website.shot build/gallery/report.html docs/images/report.png
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

WIDTH, HEIGHT = 1280, 900
MARGIN, SHOWN_HEIGHT = 12, 520
"""Around the table, and of the picture: low enough for the first screen of the README."""
SHOWN_CLIP = 3
"""The first two clips of the demo are silent: there is nothing to see."""


def main(arguments: list[str] | None = None) -> None:
    """Take the picture of the table of clips, with one clip opened."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args(arguments)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
        )
        page.goto(options.report.resolve().as_uri())
        page.get_by_role("link", name="Clips", exact=True).click()
        page.locator("tbody tr").nth(SHOWN_CLIP - 1).locator("td").nth(3).click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(1_000)  # the page draws waveforms when it has time
        table = page.locator("table").first.bounding_box()
        assert table is not None
        size = {"width": WIDTH - 2 * MARGIN, "height": SHOWN_HEIGHT}
        page.screenshot(path=options.picture, clip={"x": MARGIN, "y": table["y"] - MARGIN, **size})
        browser.close()
    print(options.picture)


def chromium() -> str:
    """Where Chromium is: ``OTADTK_BROWSER``, or on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("OTADTK_BROWSER") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        sys.exit("no Chromium found; install one, or name it in OTADTK_BROWSER")
    return found


if __name__ == "__main__":
    main()
