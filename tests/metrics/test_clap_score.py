"""The CLAP score: its captions, its numbers, and what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.evaluate import evaluate
from otadtk.metrics.reported.clap_score import ClapScore


class Directions:
    """Stands for the text half of CLAP: the caption is the number of a direction."""

    def encode(self, captions: Sequence[str], *, cut: bool) -> torch.Tensor:
        assert not cut
        return torch.eye(512)[[int(caption) for caption in captions]]


def embedded(vectors: np.ndarray, folder: str) -> EmbeddingSet:
    files = tuple(Path(folder) / f"{k}.wav" for k in range(len(vectors)))
    return EmbeddingSet(
        vectors.astype(np.float32), files, (None,) * len(files), tuple(map(str, files)), (), 0
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "captions.csv"
    path.write_text("file,caption\n" + "".join(f"{k}.wav,{k}\n" for k in range(6)))
    return path


@pytest.fixture
def metric(table: Path) -> ClapScore:
    made = ClapScore(captions=table)
    made.__dict__["text"] = Directions()
    return made


def test_mean_of_the_cosines(metric: ClapScore) -> None:
    clips = np.eye(6, 512)
    clips[5] = (clips[5] + clips[4]) / np.sqrt(2.0)
    reference, evaluated = embedded(np.eye(6, 512), "ref"), embedded(clips, "eval")
    found = evaluate(metric, reference, evaluated, interval=True)
    assert found.score == pytest.approx((5 + np.sqrt(0.5)) / 6)
    rows = found.measurement.facts["captioned"]
    assert rows[5] == {
        "file": "eval/5.wav",
        "caption": "5",
        "cosine": pytest.approx(np.sqrt(0.5)),
    }
    assert found.statistics.interval is not None
    assert found.statistics.interval.high <= 1.0


def test_captions_that_do_not_fit(metric: ClapScore, table: Path) -> None:
    sides = embedded(np.eye(2, 512), "ref"), embedded(np.eye(7, 512), "eval")
    with pytest.raises(UsageError, match=r"has no caption for eval/6.wav"):
        metric.measure(*sides)
    table.write_text(table.read_text() + "6.wav, \n")
    with pytest.raises(UsageError, match="line 8: the caption is empty"):
        metric.measure(*sides)
    table.write_text("file,caption\n1.wav,1\n1.wav,2\n")
    with pytest.raises(UsageError, match="comes twice"):
        metric.measure(*sides)
    table.write_text("name,text\n")
    with pytest.raises(UsageError, match="no column 'file'"):
        metric.measure(*sides)
    with pytest.raises(UsageError, match="needs captions"):
        ClapScore().measure(*sides)


def test_other_encoders_know_no_captions() -> None:
    with pytest.raises(UsageError, match="needs the encoder 'clap'"):
        ClapScore("yamnet")
    with pytest.raises(UsageError, match="--captions CSV"):
        ClapScore.check_options({})


def test_torchmetrics(monkeypatch: pytest.MonkeyPatch) -> None:
    import otadtk.torchmetrics as module

    class Encoder:
        def encode_batch(self, waveforms: torch.Tensor, rate: int) -> np.ndarray:
            return np.stack([np.eye(512, dtype=np.float32)[int(wave[0])] for wave in waveforms])

    monkeypatch.setattr("otadtk.embed.lazy.LazyEncoder.get", lambda _: Encoder())
    monkeypatch.setattr(ClapScore, "text", Directions())
    counter = module.CLAPScore("clap", sample_rate=16_000)
    counter.update(["1", "2"], real=True)
    counter.update(torch.tensor([[1.0, 0.0], [7.0, 0.0]]), real=False)
    assert float(counter.compute()) == pytest.approx(0.5)
    with pytest.raises(UsageError, match="list of texts"):
        counter.update(torch.zeros(1, 4), real=True)
