"""Measures how a report of ten thousand clips scrolls, sorts and filters in Chromium.

    python benchmarks/report_scale.py OUT.html [--clips N] [--browser CHROMIUM]

The clips are points without audio: 10,000 evaluated and as many reference clips. A frame is the
time between two calls of requestAnimationFrame. For each action the worst frame and the CPU time of
the page's main thread are printed; on an idle machine no frame takes longer than that CPU time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from otadtk.distances.transport.couplings import TransportSettings, transport
from otadtk.embed import EmbeddingSet, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics

DIM = 16
WORDS = ("bell", "rain", "speech", "engine", "chirps", "wind", "alarm", "impacts")
FRAMES = """() => {
  window.longest = 0;
  let last = performance.now();
  const step = (now) => {
    window.longest = Math.max(window.longest, now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    started = time.perf_counter()
    synthetic(options.clips).to_html(options.out, audio="none")
    size = options.out.stat().st_size / 1e6
    print(
        f"{options.clips} clips: {time.perf_counter() - started:.1f} s, {size:.1f} MB", flush=True
    )
    measure(options.out, options.browser)


def synthetic(clips: int) -> OTADDiagnostics:
    """Diagnostics of two clouds of points, named like clips that do not exist."""
    rng = np.random.default_rng(0)
    settings = TransportSettings(coupling="sliced")

    def cloud(side: str, shift: float) -> EmbeddingSet:
        names = [f"{WORDS[i % len(WORDS)]}/{side}_{i:05d}.wav" for i in range(clips)]
        return EmbeddingSet(
            vectors=(rng.normal(size=(clips, DIM)) + shift).astype(np.float32),
            files=tuple(Path(side) / name for name in names),
            audits=(None,) * clips,
            digests=tuple(f"{side}{i}" for i in range(clips)),
            bad=(),
            encoded=0,
        )

    reference, evaluated = cloud("reference", 0.0), cloud("evaluated", 0.2)
    result = transport(reference.vectors, evaluated.vectors, settings)
    return OTADDiagnostics(
        score=result.value,
        cj=result.cj,
        files=list(evaluated.files),
        model_name="synthetic",
        variant="raw",
        epsilon=settings.epsilon,
        flags=[("silent",) if i % 97 == 0 else () for i in range(clips)],
        transport=result,
        reference_files=list(reference.files),
        evidence=Evidence(
            reference, evaluated, LazyEncoder(get_spec("logmel")), EmbeddingStore(), settings
        ),
    )


def measure(report: Path, browser: str) -> None:
    """The worst frame of each action."""
    from playwright.sync_api import Page, sync_playwright

    def worst(page: Page, name: str, action: object) -> None:
        page.evaluate("() => { window.longest = 0; }")
        assert callable(action)
        before = main_thread()
        action()
        page.wait_for_timeout(600)
        spent = 1000 * (main_thread() - before)
        longest = page.evaluate("window.longest")
        print(f"{name:24} worst frame {longest:6.0f} ms, CPU {spent:6.0f} ms", flush=True)

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1400, "height": 900})
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def main_thread() -> float:
            found = session.send("Performance.getMetrics")["metrics"]
            return float(next(m["value"] for m in found if m["name"] == "TaskDuration"))

        page.goto(report.resolve().as_uri())
        ready = page.evaluate("Number(document.documentElement.dataset.ready)")
        print(f"interactive after {ready / 1000:.2f} s")
        page.evaluate(FRAMES)
        page.wait_for_timeout(500)

        def scroll() -> None:
            for _ in range(20):
                page.mouse.wheel(0, 300)
                page.wait_for_timeout(30)

        def brush() -> None:
            page.locator("#histogram").scroll_into_view_if_needed()
            box = page.locator("#histogram .plot > svg").bounding_box()
            assert box is not None
            middle = box["y"] + box["height"] / 2
            page.mouse.move(box["x"] + 0.4 * box["width"], middle)
            page.mouse.down()
            for k in range(20):
                page.mouse.move(box["x"] + (0.4 + 0.02 * k) * box["width"], middle)
            page.mouse.up()
            shown = page.locator("#count").inner_text()
            assert " of " in shown, f"the brush chose nothing: {shown}"

        worst(page, "nothing", lambda: None)
        worst(page, "scroll", scroll)
        worst(page, "sort by name", lambda: page.click("[data-sort=name]"))
        worst(page, "sort by cost", lambda: page.click("[data-sort=cost]"))
        worst(page, "find", lambda: page.type("#find", "rain 99", delay=60))
        worst(page, "show all", lambda: page.click("#clear"))
        worst(page, "last page", lambda: page.click("#last"))
        worst(page, "brush the histogram", brush)
        worst(page, "change the theme", lambda: page.click("#theme"))
        chromium.close()


if __name__ == "__main__":
    main()
