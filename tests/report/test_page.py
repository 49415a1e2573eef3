"""The page as a file: its numbers and names, what it refuses, and that it is written in one step."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote_to_bytes

import numpy as np
import pytest

from otadtk import OTAD, UsageError
from otadtk.cli.score import main
from otadtk.report import page
from otadtk.report.clips import details
from otadtk.report.content import ReportOptions, gather_content
from otadtk.report.page import write_content
from otadtk.statistics.jackknife import Side, Without
from otadtk.statistics.resampling import Floor, Interval, Limit
from tests.report.conftest import NASTY, NASTY_IMAGE, NASTY_KIND, Scored


def numbers(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found[1])


def test_the_numbers_are_those_of_the_diagnostics(report: Path, scored: Scored) -> None:
    found, diagnostics = numbers(report), scored.diagnostics
    assert found["evaluated"]["cj"] == pytest.approx(diagnostics.cj, rel=1e-6)
    assert found["evaluated"]["relative"] == pytest.approx(diagnostics.relative_cost, rel=1e-4)
    j = found["worst"][3]
    names = [found["reference"]["names"][i] for i, _ in found["evaluated"]["partners"][j]]
    nearest = diagnostics.nearest(j, 3)
    assert [str(n.file).endswith(name) for n, name in zip(nearest, names, strict=True)] == [
        True
    ] * 3
    assert found["summary"]["scores"].keys() == {"FAD", "KAD"}
    assert found["unreached"][0] == int(np.argmax(diagnostics.reference_costs))


def test_labels_and_cost_along_time(report: Path) -> None:
    found = numbers(report)
    key = {name: f"e{j}" for j, name in enumerate(found["evaluated"]["names"])}
    assert found["details"][key[NASTY]]["labels"][0][0] == "Silence"
    strip = found["details"][key[NASTY_IMAGE]]["strip"]  # rain, and noise from the first second on
    assert len(strip) >= 3
    assert strip[-1] > strip[0]


def test_no_name_leaves_its_place(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    for name in (NASTY, NASTY_IMAGE, NASTY_KIND):
        assert name not in text
    assert text.count("<script") == text.count("</script>")
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text


def test_groups_have_costs_and_scores(report: Path) -> None:
    (table,) = numbers(report)["groups"]
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["rain"]["clips"] == 14
    assert rows["rain"]["score_low"] < rows["rain"]["score"] < rows["rain"]["score_high"]
    assert rows["bell"]["cost_low"] < rows["bell"]["cost"] < rows["bell"]["cost_high"]
    costs = [row["cost"] for row in table["rows"]]
    assert costs == sorted(costs, reverse=True)


def test_statistics_stand_in_the_summary(scored: Scored, tmp_path: Path) -> None:
    score, without = scored.diagnostics.score, Without(Side((), ()), Side((), ()), ())
    options = ReportOptions(
        audio="none",
        floor=Floor(score / 2, score / 3, score / 1.5, 0.1 * score, 0.005, 199, 0, ()),
        interval=Interval(score, 0.9 * score, 1.1 * score, 0.05 * score, 38, 20, 0, without),
        limit=Limit(0.01, 1.0, 0.9, (10, 20, 30), (0.3, 0.2, 0.1), 0),
        command="otadtk yamnet <a> b",
    )
    content = gather_content(scored.diagnostics, options)
    text = write_content(content, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "p\u00a0=\u00a00.005): the sets differ" in text
    assert f"{0.9 * score:.3f} – {1.1 * score:.3f}" in text
    assert "otadtk yamnet &lt;a&gt; b" in text
    chance = dataclasses.replace(options.floor, p_value=0.4)  # type: ignore[type-var]
    doubtful = gather_content(scored.diagnostics, dataclasses.replace(options, floor=chance))
    assert "cannot tell the sets apart" in doubtful.summary.verdict


def test_few_bad_clips_that_the_score_does_not_show(scored: Scored) -> None:
    judged = scored.diagnostics.judged(fdr=0.5)
    assert judged.judgement is not None and judged.judgement.evaluated is not None
    none_bad = judged.judgement.evaluated
    verdicts = dataclasses.replace(none_bad, q=np.where(np.arange(30) < 3, 0.01, 1.0))
    assert verdicts.found and not none_bad.found
    some = dataclasses.replace(none_bad, spoilt=dataclasses.replace(none_bad.spoilt, p_value=0.01))
    floor = Floor(judged.score, 0.0, 1.0, 0.1, 0.4, 199, 0, ())
    for each, words in ((verdicts, "3 of 30 clips are worse"), (some, "None of 30 clips is worse")):
        judgement = dataclasses.replace(judged.judgement, evaluated=each)
        found = dataclasses.replace(judged, judgement=judgement)
        headline = gather_content(found, ReportOptions(audio="none", floor=floor)).summary.verdict
        assert headline.startswith(words), headline
        assert "The score does not show this" in headline and "cannot tell" not in headline
        assert "score as much at this size (p\u00a0=\u00a00.4)" in headline
        assert ("but some of them are spoilt (p\u00a0=\u00a00.01)" in headline) == (each is some)


def test_audio_beyond_the_budget_is_linked(
    scored: Scored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "AUDIO_BUDGET", 40_000)
    text = scored.diagnostics.to_html(tmp_path / "small.html").read_text(encoding="utf-8")
    sounds = re.findall(r'<script type="text/plain" id="sound-(\w+)">', text)
    assert 0 < len(sounds) < 10
    assert sounds[0] == f"e{numbers(tmp_path / 'small.html')['worst'][0]}"


def test_embeddings_whose_audio_has_gone_still_have_a_page(scored: Scored, tmp_path: Path) -> None:
    evidence = scored.diagnostics.evidence
    assert evidence is not None
    without = {
        side: dataclasses.replace(embedded, audits=tuple(None for _ in embedded.files))
        for side, embedded in (("reference", evidence.reference), ("evaluated", evidence.evaluated))
    }
    bare = dataclasses.replace(
        scored.diagnostics, evidence=dataclasses.replace(evidence, **without)
    )
    found = numbers(bare.to_html(tmp_path / "bare.html"))
    assert found["details"] == {}
    assert len(found["evaluated"]["names"]) == 30
    assert found["audio"]["evaluated"] is None  # nothing to play


def test_odd_names_are_shown_and_still_found(scored: Scored, tmp_path: Path) -> None:
    source = scored.folder / "reference" / "bell" / "bell #00.wav"
    odd = ["new\nline.wav", "turned \u202egnp.wav", os.fsdecode(b"byte \xff.wav"), '🎧 "é".wav']
    for name in odd:
        shutil.copy(source, tmp_path / name)
    metric = OTAD("logmel", cache_dir=tmp_path / ".cache")
    diagnostics = metric.diagnose(scored.folder / "reference" / "bell", tmp_path)
    found = numbers(diagnostics.to_html(tmp_path / "page.html"))["evaluated"]
    shown = ["new\\nline.wav", "turned \\u202egnp.wav", "byte \\udcff.wav", odd[3]]
    assert sorted(found["names"]) == sorted(shown)
    for j, name in enumerate(found["names"]):
        path = unquote_to_bytes(found["links"].get(str(j), name))
        assert (tmp_path / os.fsdecode(path)).is_file()


def test_twins_everywhere_cost_nothing(scored: Scored, tmp_path: Path) -> None:
    folder = scored.folder / "reference" / "bell"
    metric = OTAD("logmel", coupling="exact", cache_dir=tmp_path / "cache")
    written = metric.diagnose(folder, folder).to_html(tmp_path / "twins.html", audio="none")
    assert set(numbers(written)["evaluated"]["relative"]) == {0.0}


def test_a_page_comes_whole_or_not_at_all(
    scored: Scored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("before")

    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(page, "render_template", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scored.diagnostics.to_html(tmp_path / "page.html", audio="none")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "before"


def test_bad_options_are_refused(scored: Scored, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Unknown report audio 'loud'"):
        scored.diagnostics.to_html(tmp_path / "page.html", audio="loud")
    bare = dataclasses.replace(scored.diagnostics, evidence=None)
    with pytest.raises(UsageError, match="nothing to show"):
        bare.to_html(tmp_path / "page.html")


def test_the_command_writes_page_and_figures(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["logmel", *map(str, folders), "--report", str(tmp_path / "out" / "r.html")]
    assert main([*arguments, "--figures", str(tmp_path / "figures")]) == 0
    assert "the report is in" in capsys.readouterr().err
    found = numbers(tmp_path / "out" / "r.html")
    assert found["command"].startswith("otadtk logmel ")
    assert found["audio"]["evaluated"] == "../eval/"
    assert len(list((tmp_path / "figures").iterdir())) == 6


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        (["--labels", "x.csv"], "There is no file x.csv"),
        (["--report-audio", "none"], "--report-audio belongs to --report"),
        (["--report", "r.html", "--labels", "missing.csv"], "There is no file missing.csv"),
        (["--report", "."], "is a folder; name a file"),
        (["--fad", "--report", "r.html"], "--report belongs to OTAD"),
    ],
)
def test_the_command_refuses_before_it_works(
    folders: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    extra: list[str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["logmel", *map(str, folders), *extra]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.out == ""
    assert not list(tmp_path.glob("*.html"))
