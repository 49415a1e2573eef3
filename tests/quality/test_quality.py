"""Predicted speech quality: equal to the published packages, and shown beside the costs of clips."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from otadtk import quality
from otadtk.audio.synthesis import synthesise
from otadtk.cli import score
from otadtk.documents.schema import document_schema
from otadtk.errors import UsageError
from otadtk.quality import distillmos, dnsmos, measures
from otadtk.weights import digest_of
from tests.encoders.references import seeded

REFERENCE = json.loads((Path(__file__).parent / "distillmos.json").read_text())
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def rate(tmp_path_factory: pytest.TempPathFactory) -> measures.Rater:
    """DistillMOS with seeded weights in the published format."""
    folder = tmp_path_factory.mktemp("distillmos")
    state = seeded.state({key: tuple(shape) for key, shape in REFERENCE["shapes"].items()})
    path = folder / distillmos.WEIGHTS.name
    torch.save({"model": {key: torch.from_numpy(value) for key, value in state.items()}}, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTADTK_CACHE", str(folder))
        file = dataclasses.replace(distillmos.WEIGHTS, digest=digest_of(path))
        patch.setattr(distillmos, "WEIGHTS", file)
        return distillmos.load(CPU, path)


@pytest.mark.parametrize("case", REFERENCE["scores"])
def test_distillmos_equals_the_package(case: str, rate: measures.Rater) -> None:
    kind, samples = case.split()
    (found,) = rate(seeded.clip(kind, int(samples), 16_000))
    assert found == pytest.approx(REFERENCE["scores"][case], rel=1e-4)


def test_windows_of_long_clips() -> None:
    """At most 1 s apart, the first at the start and the last at the end; each at full scale."""
    samples = np.linspace(0.1, 0.5, 150_000, dtype=np.float32)
    windows = distillmos._windows(samples)
    assert len(windows) == 3
    peak = float(samples[distillmos.WINDOW_SAMPLES - 1])
    assert float(windows[0][0]) == pytest.approx(0.1 / peak, rel=1e-5)
    assert float(windows[-1][-1]) == pytest.approx(1.0, rel=1e-5)
    assert len(distillmos._windows(samples[:100])) == 1


@pytest.mark.parametrize(
    ("seconds", "count"), [(0.5, 7), (5.0, 1), (9.01, 1), (10.5, 1), (16.0, 7), (18.7, 9)]
)
def test_windows_of_dnsmos(seconds: float, count: int) -> None:
    windows = dnsmos._windows(np.arange(int(seconds * 16_000), dtype=np.float32) * 1e-6)
    assert [len(window) for window in windows] == [dnsmos.WINDOW_SAMPLES] * count


def test_dnsmos_without_its_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(UsageError, match=r"pip install \"otadtk-audio\[quality\]\""):
        dnsmos.load(CPU)


def test_names() -> None:
    assert quality.parse_measures("distillmos, dnsmos,distillmos") == ("distillmos", "dnsmos")
    with pytest.raises(UsageError, match="Unknown quality 'pesq'; choose from dnsmos, distillmos"):
        quality.parse_measures("dnsmos,pesq")


class TestCommand:
    @pytest.fixture
    def sets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Two folders of clips; the toy measure rates a clip by its level."""

        def load(device: torch.device) -> measures.Rater:
            def rate(waveform: np.ndarray) -> Sequence[float]:
                return (1.0 + float(np.abs(waveform).max()),)

            return rate

        monkeypatch.setattr(distillmos, "load", load)
        for name, gain in (("ref", 0.5), ("eval", 0.25)):
            (tmp_path / name).mkdir()
            for i in range(4):
                sound = synthesise("bell", i, 1.0, 16_000)
                sound = gain * sound / np.abs(sound).max()
                soundfile.write(tmp_path / name / f"{i}.wav", sound, 16_000, subtype="FLOAT")
        return ["logmel", str(tmp_path / "ref"), str(tmp_path / "eval"), "--no-null"]

    def test_columns_json_and_page(
        self, sets: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        import jsonschema

        table, document, page = (tmp_path / n for n in ("cj.csv", "run.json", "page.html"))
        plain = score.main(sets)
        assert plain == 0
        before = capsys.readouterr().out.splitlines()
        more = ["--quality", "distillmos", "--diag-out", str(table), "--json", str(document)]
        assert score.main([*sets, *more, "--report", str(page), "--report-audio", "none"]) == 0
        after = capsys.readouterr().out.splitlines()
        assert "DistillMOS: 1.25 evaluated, 1.50 reference (means, 1 to 5)" in after
        assert [line for line in after if "DistillMOS" not in line] == before
        rows = [line.split(",") for line in table.read_text().splitlines()]
        assert rows[0][-1] == "distillmos"
        assert [float(row[-1]) for row in rows[1:]] == pytest.approx([1.25] * 4, abs=1e-3)
        content = json.loads(document.read_text())
        jsonschema.validate(content, document_schema())
        clips = content["results"][0]["clips"]
        assert [clip["quality"]["distillmos"] for clip in clips] == pytest.approx([1.25] * 4)
        assert '"quality":{"distillmos":[1.25' in page.read_text().replace(" ", "")

    def test_what_is_heard(self, sets: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert score.main([*sets, "--quality", "distillmos", "--normalise", "peak"]) == 0
        assert "DistillMOS: 2.00 evaluated, 2.00 reference" in capsys.readouterr().out

    def test_refused(self, sets: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert score.main([*sets, "--quality", "pesq"]) == 2
        assert "Unknown quality 'pesq'" in capsys.readouterr().err
        assert score.main([*sets, "--metrics", "fad", "--quality", "distillmos"]) == 2
        assert "--quality belongs to OTAD" in capsys.readouterr().err
