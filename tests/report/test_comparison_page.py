"""The page of several systems: ranking, groups and clips."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from otadtk.audio.synthesis import synthesise
from otadtk.cli.compare import main
from tests.report.test_browser import PATIENCE, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RATE = 16_000
WORST = "bell/<b>3.wav"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reference and two systems with clips of the same names; one clip of the second is silent."""
    folder = tmp_path_factory.mktemp("compared")
    for number, side in enumerate(("reference", "first", "second")):
        for kind in ("bell", "rain"):
            for k in range(6):
                name = "<b>3" if (kind, k) == ("bell", 3) else str(k)
                path = folder / side / kind / f"{name}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                clip = synthesise(kind, 10 * number + k, 1.2, RATE)
                if side == "second" and name == "<b>3":
                    clip = np.zeros_like(clip)
                soundfile.write(path, clip, RATE, subtype="PCM_16")
    return folder


def compare(folder: Path, *extra: str) -> int:
    paths = [str(folder / side) for side in ("reference", "first", "second")]
    return main(["logmel", *paths, *extra])


def numbers(path: Path) -> dict:
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    assert found is not None
    return json.loads(found[1])


def test_clips_that_differ_most_come_first(
    compared: Path, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    report = compared / "report.html"
    assert compare(compared, "--report", str(report)) == 0
    assert "the report is in" in capsys.readouterr().err
    found = numbers(report)
    differences = [max(clip["costs"]) - min(clip["costs"]) for clip in found["clips"]]
    assert len(differences) == 12
    assert differences == sorted(differences, reverse=True)
    assert found["clips"][0]["name"] == WORST

    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(report.as_uri())
    names = page.locator("#different .which .clip-name").all_inner_texts()
    assert names == [clip["name"] for clip in found["clips"]]
    assert page.locator("#ranking tbody tr").count() == 2
    assert page.locator("#groups tbody tr").count() == 2
    page.locator("#different .play").first.click()
    until(page, "document.getElementById('audio').currentTime > 0")
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe().run(page, options={"resultTypes": ["violations"]})
    assert axe.violations_count == 0, axe.generate_report()
    assert problems == []
    page.close()


def test_groups_of_a_table_and_audio_that_is_linked(compared: Path, tmp_path: Path) -> None:
    rows = [f"{kind}/{k}.wav,{k % 2}" for kind in ("bell", "rain") for k in range(6)]
    rows = [row for row in rows if not row.startswith("bell/3.wav")] + [f"{WORST},odd one"]
    (tmp_path / "groups.csv").write_text("\n".join(["file,parity", *rows]) + "\n")
    extra = ["--groups", str(tmp_path / "groups.csv"), "--report-audio", "link"]
    assert compare(compared, "--report", str(tmp_path / "r.html"), *extra) == 0
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "odd one" in text
    assert "sound-0" not in text


def test_what_has_no_report_is_refused(
    compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(compared, "--fad", "--report", str(tmp_path / "r.html")) == 2
    assert "--report belongs to OTAD" in capsys.readouterr().err
    assert compare(compared, "--report-audio", "none") == 2
    assert "--report-audio belongs to --report" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_four_systems_fit_a_screen_and_a_phone(
    compared: Path, tmp_path: Path, browser: Browser
) -> None:
    """No table is wider than the page, with every column, and the rows say what orders them."""
    systems = [compared / "first", compared / "second"]
    for k in (3, 4):
        (tmp_path / f"a_system_of_number_{k}").symlink_to(compared / ("first", "reference")[k - 3])
        systems.append(tmp_path / f"a_system_of_number_{k}")
    report = tmp_path / "four.html"
    paths = [str(path) for path in (compared / "reference", *systems)]
    assert main(["logmel", *paths, "--report", str(report), "--no-null", "-q"]) == 0
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(PATIENCE)
    page.goto(report.as_uri())
    for width in (1300, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(
            "[...document.querySelectorAll('.wide, .versus')].every(e => e.scrollWidth <= e.clientWidth)"
        )
    assert page.locator("#different li").first.locator(".side").count() == 4
    assert page.locator("#different .amount").first.inner_text().startswith("difference ")
    text = page.locator("#ranking").inner_text()
    assert "No floor was computed" in text
    assert "What the audit found" in text and "is silent" in text
    page.close()
