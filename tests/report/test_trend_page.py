"""The page of a training: on a phone, too, everything is within its width."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from otadtk.audio.synthesis import synthesise
from otadtk.engine import LocalEngine
from otadtk.report.trend_figure import write_trend_figure
from otadtk.report.trend_page import write_trend_page
from otadtk.statistics.resampling import jackknife_interval
from otadtk.tracking.record import ClipRecord, FloorRecord, Record, ShareRecord
from otadtk.tracking.trend import Trend, in_order
from tests.report.test_browser import PATIENCE, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLIPS = 12
NAMES = [f"<b>{k}.wav" for k in range(CLIPS)]


def record(step: int, worse_by: float, folder: Path, *, floor: bool = True) -> Record:
    """The record of clips whose costs are noise, plus a share of ``worse_by`` for later clips."""
    rng = np.random.default_rng(step)
    costs = 3.0 + 0.1 * rng.normal(size=CLIPS) + worse_by * np.arange(CLIPS) / CLIPS
    pool = np.concatenate([np.zeros(CLIPS), costs])
    interval = jackknife_interval(
        lambda i, j: float(pool[j].mean() - pool[i].mean()), CLIPS, CLIPS, engine=LocalEngine(1)
    )
    return Record(
        metric="OTAD",
        path=str(folder),
        reference="",
        evaluated="",
        clips=CLIPS,
        choices={},
        higher_is_better=False,
        score=interval.score,
        interval=interval,
        floor=FloorRecord(2.5, 2.4, 2.6, 0.01) if floor else None,
        share=ShareRecord(0.25, 0.1, 0.4, 3) if floor else None,
        by_clip={
            name: ClipRecord(str(folder / name), float(cost), cost > 4.0)
            for name, cost in zip(NAMES, costs, strict=True)
        },
        version="0",
    )


def trend_of(folder: Path) -> Trend:
    for k, name in enumerate(NAMES):
        soundfile.write(folder / name, synthesise("bell", k, 0.5, 16_000), 16_000)
    steps = {"step_10": 4.0, "step_20": 0.0, "step_30": 0.0, "step_40": 5.0}
    return in_order({name: record(k, by, folder) for k, (name, by) in enumerate(steps.items())})


def test_the_page_of_a_training(tmp_path: Path, browser: Browser) -> None:
    trend = trend_of(tmp_path)
    assert [change.word for change in trend.changes] == ["better", "within noise", "worse"]
    assert "for the best of 3." in trend.sentences()[1], "p counts the earlier steps"
    path = write_trend_page(trend, tmp_path / "trend.html", command="otadtk-trend <x>")
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)
    assert found is not None
    clips = json.loads(found[1])["clips"]
    rises = [clip["difference"] for clip in clips]
    assert len(rises) >= CLIPS - 2 and rises == sorted(rises, reverse=True) and rises[-1] > 0
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    assert page.locator("#steps tbody tr").count() == 4
    assert page.locator("#different .play").count() == 2 * len(clips)
    assert page.locator("#different .badge").count() > 0
    assert page.locator(".trend > svg.slim .worse").count() == 1
    assert page.locator(".trend > svg.slim").is_visible()
    for width in (390, 1300):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(
            "[...document.querySelectorAll('.wide')].every(e => e.scrollWidth <= e.clientWidth)"
        )
    assert page.locator(".trend > svg.broad").is_visible()
    page.locator("#different .play").first.click()
    until(page, "document.getElementById('audio').currentTime > 0")
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe().run(page, options={"resultTypes": ["violations"]})
    assert axe.violations_count == 0, axe.generate_report()
    assert problems == []
    page.close()


def test_one_step_without_a_floor_or_audio(tmp_path: Path) -> None:
    trend = in_order({"only": record(0, 0.0, tmp_path / "gone", floor=False)})
    text = write_trend_page(trend, tmp_path / "trend.html").read_text(encoding="utf-8")
    assert "no two steps with clip names in common" in text
    picture = write_trend_figure(trend, tmp_path / "trend.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
