"""What a notebook shows: short texts, tables with players, plots on axes."""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import numpy as np
import pytest
import soundfile

from otadtk import FAD, OTAD, Comparison, Evaluation, OTADDiagnostics, UsageError, compare, evaluate
from otadtk.documents.schema import document_schema
from otadtk.loggers.content import content_of
from otadtk.metrics.shown import Score
from otadtk.metrics.verdicts import Judgement
from otadtk.report.notebook import views
from tests.report.conftest import NASTY, NASTY_IMAGE, Scored

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def judged(scored: Scored) -> OTADDiagnostics:
    return scored.diagnostics.judged(fdr=0.5)


@pytest.fixture(scope="module")
def evaluation(scored: Scored) -> Evaluation:
    evidence = scored.diagnostics.evidence
    assert evidence is not None
    metric = OTAD("yamnet", variant="raw")
    return evaluate(metric, evidence.reference, evidence.evaluated, null=19, interval=True, fdr=0.1)


@pytest.fixture(scope="module")
def comparison(scored: Scored) -> Comparison:
    evidence = scored.diagnostics.evidence
    assert evidence is not None
    systems = {"<b>first</b>": evidence.evaluated, "second": evidence.reference}
    return compare(OTAD("yamnet", variant="raw"), evidence.reference, systems, null=19)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    import matplotlib

    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_texts_are_short(
    judged: OTADDiagnostics, evaluation: Evaluation, comparison: Comparison
) -> None:
    assert judged.evidence is not None
    for result in (judged, evaluation, comparison, judged.judgement, judged.evidence.reference):
        assert 20 < len(repr(result)) < 400
    assert f"score={judged.score:.6f}" in repr(judged)
    assert evaluation.headline() in repr(evaluation)
    assert repr(evaluation.metric).startswith("OTAD('yamnet', variant='raw', epsilon=0.1,")


def test_a_score_is_a_number_that_shows_itself(scored: Scored) -> None:
    metric = FAD("yamnet", cache_dir=scored.folder / "cache")
    score = metric.score(scored.folder / "reference", scored.folder / "evaluated")
    assert repr(score) == repr(float(score)) == json.dumps(score)
    assert f"{score + 0:.3f}" == f"{score:.3f}"
    kept = pickle.loads(pickle.dumps(score))
    assert (kept, kept.metric, kept.evaluated_clips) == (score, "FAD", 30)
    shown = score._repr_html_()
    assert f"{score:.6f}" in shown
    assert "28 reference and 30 evaluated clips" in shown
    assert "higher is better" in Score(0.5, higher_is_better=True)._repr_html_()


def test_the_note_on_a_score_that_few_bad_clips_hardly_move(evaluation: Evaluation) -> None:
    floor, diagnostics = evaluation.statistics.floor, evaluation.measurement.diagnostics
    assert floor is not None and diagnostics is not None and diagnostics.judgement is not None
    assert diagnostics.judgement.evaluated is not None

    def notes(fdr: float) -> str:
        q = np.where(np.arange(30) < 3, 0.01, 1.0)
        verdicts = replace(diagnostics.judgement.evaluated, q=q, fdr=fdr)  # type: ignore[union-attr]
        judged = replace(diagnostics, judgement=Judgement(verdicts, None))
        measurement = replace(evaluation.measurement, diagnostics=judged)
        chance = replace(evaluation.statistics, floor=replace(floor, p_value=0.4, replicates=99))
        return " ".join(replace(evaluation, measurement=measurement, statistics=chance).notes())

    assert "A few bad clips hardly move OTAD: two samples of one distribution score" in notes(0.5)
    assert "OTAD cannot tell the sets apart" in notes(0.001)


def test_the_worst_clips_with_players(judged: OTADDiagnostics) -> None:
    shown = judged._repr_html_()
    assert shown.count("<tr>") == 1 + views.SHOWN
    assert shown.count("<audio") == 2 * views.SHOWN
    assert "data:audio/ogg;base64,T2dnUw" in shown  # OggS
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;img src=x" in shown  # the name of the clip that is half noise
    worst = [file.stem for file, _ in judged.top_k(views.SHOWN)]
    cells = re.findall(r'<td class="name">([^<]*)</td>', shown)
    assert [Path(cell).stem for cell in cells if "#" in cell] == [w for w in worst if "#" in w]


def test_players_play_what_is_heard(tmp_path: Path) -> None:
    """Not the whole clips as loud as they are, if something else was chosen."""
    rng = np.random.default_rng(6)
    for name in ("ref", "gen"):
        (tmp_path / name).mkdir()
        for k in range(3):
            samples = 0.05 * rng.uniform(-1, 1, (16_000, 2))
            samples[:, 1] = 0.0
            soundfile.write(tmp_path / name / f"{k}.wav", samples, 16_000)
    sets, chosen = (tmp_path / "ref", tmp_path / "gen"), {"cache_dir": tmp_path, "epsilon": 9.0}
    metric = OTAD("logmel", duration=0.25, normalise="peak", channels="left", **chosen)
    found = evaluate(metric, *sets)
    shown = found._repr_html_()
    sounds = re.findall(r"data:audio/ogg;base64,([^\"]+)", shown)
    played = [soundfile.read(io.BytesIO(base64.b64decode(sound)))[0] for sound in sounds]
    played += [clip.sound.samples for clip in content_of(found).worst]
    assert len(played) == 9
    assert {len(samples) for samples in played} == {4_000}
    assert all(np.abs(samples).max() > 0.5 for samples in played)  # 0.025 as they are


def test_sounds_have_a_budget(judged: OTADDiagnostics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "SOUND_BUDGET", 1)
    assert judged._repr_html_().count("<audio") == 1
    costs_only = replace(judged, evidence=None, transport=None, judgement=None)
    assert "<audio" not in costs_only._repr_html_()


def test_evaluations_and_comparisons(
    evaluation: Evaluation, comparison: Comparison, tmp_path: Path
) -> None:
    shown = evaluation._repr_html_()
    assert evaluation.statistics.floor is not None
    assert f"{evaluation.statistics.floor.mean:.6f}" in shown
    assert "95 % interval" in shown
    assert "<audio" in shown
    ranking = comparison._repr_html_()
    assert "&lt;b&gt;first" in ranking
    assert ranking.index("second") < ranking.index("first&lt;/b&gt;")
    for result, kind in ((evaluation, "score"), (comparison, "comparison")):
        document = json.loads(result.to_json(tmp_path / "new" / f"{kind}.json").read_text())
        jsonschema.validate(document, document_schema())
        assert document["kind"] == kind
        assert f"{document['results'][0]['reference_clips' if kind == 'comparison' else 'score']}"
        assert "[jeong2026otad]" in result.methods()
        assert r"\cite{jeong2026otad}" in result.methods(latex=True)
        assert "@article{jeong2026otad" in result.bibtex()


def test_compare_takes_folders(scored: Scored) -> None:
    metric = FAD("yamnet", cache_dir=scored.folder / "cache")
    folders = {side: scored.folder / side for side in ("evaluated", "reference")}
    found = compare(metric, scored.folder / "reference", folders)
    assert [system.name for system in found.systems] == ["reference", "evaluated"]
    assert "<audio" not in found._repr_html_()  # FAD has no costs of clips


def test_plots(judged: OTADDiagnostics) -> None:
    bad = [NASTY, NASTY_IMAGE]
    plot = judged.plot
    histogram = plot.histogram()
    assert sum(bar.get_height() for bar in histogram.patches) == len(judged.files)
    assert plot.histogram(bad, axes=histogram) is histogram
    reference, evaluated = plot.map().collections[:2]
    assert len(reference.get_offsets()) == len(judged.reference_files)
    assert len(evaluated.get_offsets()) == len(judged.files)
    assert plot.roc(bad).get_legend_handles_labels()[1] == [f"AUROC {judged.auroc(bad):.3f}"]


def test_the_strip_shows_where_a_clip_is_bad(judged: OTADDiagnostics) -> None:
    (stairs,) = judged.plot.strip(NASTY_IMAGE).patches  # rain, then noise
    costs, edges = stairs.get_data()[:2]
    assert edges[-1] == pytest.approx(2.0, abs=0.5)
    assert costs[1:].min() > 1.5 * costs[0]  # only the first frame ends before the noise begins
    by_place = judged.plot.strip(judged.index_of(NASTY_IMAGE)).patches[0]
    assert np.allclose(by_place.get_data()[0], costs)


def test_bad_clips_by_name(judged: OTADDiagnostics) -> None:
    paths = [judged.files[judged.index_of(name)] for name in (NASTY, NASTY_IMAGE)]
    mask = np.array([file in paths for file in judged.files])
    faults = {str(file): "fault" if file in paths else "" for file in judged.files}
    found = judged.auroc(mask)
    for bad in (paths, {NASTY, NASTY_IMAGE}, faults, mask.tolist()):
        assert judged.auroc(bad) == found
        assert judged.separation_ratio(bad) == judged.separation_ratio(mask)


def test_what_cannot_be_drawn(judged: OTADDiagnostics) -> None:
    with pytest.raises(UsageError, match=r"no evaluated clip 'rain/rain #0.wav'. Did you mean"):
        judged.plot.strip(Path("rain/rain #0.wav"))
    with pytest.raises(UsageError, match="names of the bad clips"):
        judged.plot.roc([True])
    with pytest.raises(UsageError, match="clips of both kinds"):
        judged.plot.roc(np.zeros(len(judged.files), bool))
    assert judged.transport is not None
    without_plan = replace(judged, transport=replace(judged.transport, shares=None))  # type: ignore[type-var]
    with pytest.raises(UsageError, match="no cost along time"):
        without_plan.plot.strip(0)
    with pytest.raises(UsageError, match="hold no embeddings"):
        replace(judged, evidence=None).plot.map()


def test_a_click_sorts(judged: OTADDiagnostics, browser: Browser, tmp_path: Path) -> None:
    page_path = tmp_path / "view.html"
    page_path.write_text(f"<meta charset=utf-8>{judged._repr_html_()}", encoding="utf-8")
    page = browser.new_page()
    page.goto(page_path.as_uri())

    def column(k: int) -> list[str]:
        rows = "[...document.querySelectorAll('tbody tr')]"
        values: list[str] = page.evaluate(
            f"{rows}.map((row) => row.cells[{k}].dataset.value ?? row.cells[{k}].textContent)"
        )
        return values

    page.get_by_role("button", name="Clip").click()
    names = column(1)
    assert names == sorted(names, reverse=True)
    assert column(0) != [str(k + 1) for k in range(views.SHOWN)]
    page.get_by_role("button", name="Cost").click()
    page.get_by_role("button", name="Cost").click()
    costs = [float(cost) for cost in column(3)]
    assert costs == sorted(costs)
    assert page.evaluate("window.hacked") is None
    page.close()
