"""The page in Chromium, as a reader uses it: sort, find, brush, play, keys, themes, a phone."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from otadtk import OTAD
from tests.report.conftest import NASTY, NASTY_IMAGE, NASTY_KIND, Scored

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
AUDIO = "document.getElementById('audio')"
PATIENCE = 120_000
"""Milliseconds that a loaded machine may take for anything."""

RECORD_SEEKS = f"""(() => {{
  window.seeks = [];
  const time = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, "currentTime");
  Object.defineProperty({AUDIO}, "currentTime", {{
    get() {{ return time.get.call(this); }},
    set(value) {{ window.seeks.push(value); time.set.call(this, value); }},
  }});
}})()"""
"""Keeps the times to which the page moves: the time itself has gone on when a test reads it."""


@pytest.fixture
def open_page(browser: Browser, report: Path) -> Iterator[Open]:
    """Opens the report; at the end checks for no console messages and no network requests."""
    problems: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_page(
        path: Path = report, *, width: int = 1400, scheme: str = "light", **options: Any
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert page.evaluate("Number(document.documentElement.dataset.ready) > 0")
        page.evaluate(f"{AUDIO}.loop = true")  # on a slow machine a clip would end too soon
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def until(page: Page, condition: str) -> None:
    """Wait for a condition; Playwright's wait evaluates text, which the page's policy forbids."""
    for _ in range(PATIENCE // 50):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"still not: {condition}")


def names(page: Page) -> list[str]:
    return page.locator("#table tbody .c-name .clip-name").all_text_contents()


def costs(page: Page) -> list[float]:
    texts = page.locator("#table .c-cost b").all_text_contents()
    return [float(text.removesuffix("×")) for text in texts]


def playing(page: Page) -> str | None:
    """The clip that is playing, once its time has advanced."""
    until(page, f"!{AUDIO}.paused && {AUDIO}.currentTime > 0.05")
    key: str = page.locator(".play[aria-pressed=true]").first.get_attribute("aria-label")
    return key.removeprefix("Pause ")


def test_rows_are_sorted_by_cost_and_by_name(open_page: Open) -> None:
    page = open_page()
    assert names(page)[0] == NASTY  # the silent clip
    assert costs(page) == sorted(costs(page), reverse=True)
    page.get_by_role("button", name="Cost").click()
    assert costs(page) == sorted(costs(page))
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("Cost")
    page.get_by_role("button", name="Clip", exact=True).click()
    page.get_by_role("button", name="Clip", exact=True).click()
    assert page.locator("th[aria-sort=descending]").count() == 1
    assert names(page)[0] == "rain/rain #13.wav"


def test_silent_clips_are_listed_by_the_audit_whatever_they_cost(
    open_page: Open, scored: Scored
) -> None:
    costs_of = scored.diagnostics.cj.copy()
    quiet = [str(file).endswith(NASTY) for file in scored.diagnostics.files].index(True)
    costs_of[quiet] = costs_of.min() / 2
    cheap = dataclasses.replace(scored.diagnostics, cj=costs_of)
    page = open_page(cheap.to_html(scored.folder / "cheap.html"))
    assert costs(page) == sorted(costs(page), reverse=True)
    assert NASTY not in names(page)  # the table is by cost alone
    (card,) = page.locator("#silent li").all()
    assert card.locator(".clip-name").first.inner_text() == NASTY
    assert "rank 30" in card.inner_text()
    assert card.locator("canvas").count() == 1
    assert page.locator(f"#sound-e{quiet}").count() == 1
    page.locator("#audit").get_by_role("button", name="List 1 silent").click()
    assert names(page) == [NASTY]
    assert page.locator("#table .badge.verdict").inner_text() == "silent"


def test_a_click_on_a_bar_lists_its_clips(open_page: Open) -> None:
    page = open_page()
    bars = page.locator("#histogram .plot > svg")
    box = bars.bounding_box()
    assert box is not None
    place = {"x": box["width"] - 3, "y": box["height"] / 2}  # the bar of largest cost
    bars.click(position=place)
    assert names(page) == [NASTY]
    bars.click(position=place)
    assert len(names(page)) > 1


def test_pages(open_page: Open) -> None:
    page = open_page()
    first = names(page)
    page.get_by_role("button", name="Next").click()
    assert len(first) == 20
    assert len(names(page)) == 10
    assert not set(first) & set(names(page))
    assert page.get_by_role("button", name="Next").is_disabled()


def test_find_narrows_the_table_and_is_undone(open_page: Open) -> None:
    page = open_page()
    page.get_by_label("Find").fill("bell #1")
    until(page, "document.getElementById('count').textContent === '4 of 30 clips'")
    assert sorted(names(page)) == [f"bell/bell #1{n}.wav" for n in range(4)]
    page.get_by_label("Find").fill("no such clip")
    page.wait_for_selector("#empty:not([hidden])")
    page.get_by_role("button", name="Show all").click()
    assert page.locator("#count").inner_text() == "30 clips"


def test_flags_of_the_audit_choose_rows(open_page: Open) -> None:
    page = open_page()
    page.locator("#flags").get_by_role("button", name="silent 1", exact=True).click()
    assert names(page) == [NASTY]
    page.locator("#flags").get_by_role("button", name="silent 1", exact=True).click()
    assert page.locator("#count").inner_text() == "30 clips"


def test_brushing_the_histogram_filters_the_table(open_page: Open) -> None:
    page = open_page()
    page.locator("#histogram .plot > svg").scroll_into_view_if_needed()
    box = page.locator("#histogram .plot > svg").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.6 * box["width"], middle)
    until(page, "document.getElementById('tip').innerText.includes('clip')")
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], middle)
    page.mouse.move(box["x"] + box["width"], middle)
    page.mouse.up()
    least = float(page.get_by_label("Cost from").input_value())
    assert 0 < len(names(page)) < 30
    assert min(costs(page)) >= least - 0.005
    page.get_by_label("Cost from").fill("")
    until(page, "document.getElementById('count').textContent === '30 clips'")


def test_sounds_play_and_pause(open_page: Open) -> None:
    page = open_page()
    page.locator("tbody .c-play .play").nth(1).click()
    assert playing(page) == names(page)[1]
    page.locator("tbody .c-play .play").nth(1).click()
    assert page.evaluate(f"{AUDIO}.paused")
    page.locator("tbody .near .play").first.click()
    assert "#" in (playing(page) or "")


def test_keyboard_moves_plays_and_compares(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    second = names(page)[1]
    assert page.locator("tr[aria-current] .clip-name").first.inner_text() == second
    assert page.locator("#inspector h3").inner_text() == second
    page.keyboard.press("Space")
    assert playing(page) == second
    page.keyboard.press("b")
    page.wait_for_selector("[data-ab^=r][aria-pressed=true]")
    loud = page.evaluate(f"{AUDIO}.volume")
    page.keyboard.press("a")
    page.wait_for_selector("[data-ab^=e][aria-pressed=true]")
    both = loud, page.evaluate(f"{AUDIO}.volume")
    assert max(both) == 1.0
    assert min(both) < 1.0  # the louder of the two is turned down


def test_clicking_the_spectrogram_plays_from_there(open_page: Open) -> None:
    page = open_page()
    page.evaluate(RECORD_SEEKS)
    page.locator("tbody tr", has_text="onerror").click()
    box = page.locator("#inspector .sound canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 80)
    until(page, "document.getElementById('tip').innerText.includes('Click to play from here.')")
    assert playing(page) == NASTY_IMAGE
    assert page.evaluate("window.seeks") == [pytest.approx(1.5, abs=0.02)]  # of 2 s


def test_arrow_keys_move_by_half_a_second(open_page: Open) -> None:
    page = open_page()
    page.evaluate(RECORD_SEEKS)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert playing(page)
    page.evaluate(f"{AUDIO}.pause(), {AUDIO}.currentTime = 1.25")  # so that no time passes
    page.evaluate("window.seeks.length = 0")
    for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("window.seeks") == pytest.approx([0.75, 0.25, 0.0, 0.5], abs=0.001)


def test_names_are_text(open_page: Open) -> None:
    page = open_page()
    assert NASTY in names(page)
    assert NASTY_IMAGE in names(page)
    assert page.locator("#detection").get_by_role("button", name=NASTY_KIND).count() == 1
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, b:has-text('loud')").count() == 0


def test_the_policy_stops_foreign_script(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked = 1'}))"
    )
    assert page.evaluate("window.hacked") is None
    page.close()


def test_groups_and_kinds_choose_rows(open_page: Open) -> None:
    page = open_page()
    page.locator("#groups").get_by_role("button", name="rain", exact=True).click()
    assert page.locator("#count").inner_text() == "14 of 30 clips"
    page.locator("#detection").get_by_role("button", name="silence").click()
    assert names(page) == [NASTY]


def test_the_map_names_and_plays_clips(open_page: Open) -> None:
    page = open_page()
    canvas = page.locator("#scatter canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    found = False
    for k in range(400):  # a walk over the canvas meets some clip
        x, y = box["width"] * ((k * 37) % 100) / 100, box["height"] * ((k * 61) % 89) / 89
        page.mouse.move(box["x"] + x, box["y"] + y)
        if page.locator("#tip").is_visible():
            found = True
            break
    assert found
    shown = page.locator("#tip").inner_text().splitlines()[0]
    page.mouse.down()
    page.mouse.up()
    until(page, f"!{AUDIO}.paused")
    assert shown.endswith(".wav")


def test_themes(open_page: Open) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = open_page(), open_page(scheme="dark")
    assert light.evaluate(background) != dark.evaluate(background)
    assert light.locator("#theme").inner_text() == "Colours: auto"
    light.get_by_role("button", name="Colour theme").click()
    light.get_by_role("button", name="Colour theme").click()
    assert light.evaluate(background) == dark.evaluate(background)


def test_a_phone_shows_the_clip_under_its_row(open_page: Open) -> None:
    page = open_page(width=390, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("tbody tr").nth(1).click()
    assert page.locator("tr.open #inspector h3").inner_text() == names(page)[1]
    assert page.locator("tr[aria-current] .c-name").evaluate("cell => cell.offsetWidth") > 150
    page.locator("tr.open .play").first.click()
    assert playing(page) == names(page)[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_all_numbers_can_be_downloaded(open_page: Open) -> None:
    page = open_page()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all numbers").click()
    numbers = json.loads(Path(download.value.path()).read_text())
    assert numbers["evaluated"]["names"][numbers["worst"][0]] == NASTY
    assert numbers["detection"]["bad"] == 2


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (1400, "dark"), (390, "light")])
def test_accessible(open_page: Open, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(width=width, scheme=scheme)
    page.locator("tbody tr").first.click()
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()


def test_linked_and_missing_audio(open_page: Open, scored: Any) -> None:
    linked = scored.diagnostics.to_html(scored.folder / "linked.html", audio="link")
    page = open_page(linked)
    page.locator("tbody .c-play .play").nth(2).click()
    assert playing(page) == names(page)[2]
    silent = scored.diagnostics.to_html(scored.folder / "silent.html", audio="none")
    page = open_page(silent)
    assert page.locator(".play").count() == 0
    page.keyboard.press("Space")
    assert page.locator("#inspector h3").inner_text() == NASTY


def test_audio_deleted_before_the_page_is_written(
    open_page: Open, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    reference, evaluated = folders
    diagnostics = OTAD("logmel", cache_dir=tmp_path / "cache").diagnose(reference, evaluated)
    shutil.rmtree(evaluated)
    page = open_page(diagnostics.to_html(tmp_path / "gone.html"))
    assert page.locator("#table tbody tr").count() == len(diagnostics.files)
    assert "could not be read" in page.locator("#inspector").inner_text()
    page.locator("tbody .near .play").first.click()
    assert playing(page)  # the references are still there
