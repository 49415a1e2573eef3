"""Evaluations in the logs of a training, read back from what each library wrote."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from otadtk import FAD, OTAD, evaluate
from otadtk.audio.synthesis import synthesise
from otadtk.errors import UsageError
from otadtk.evaluation.evaluate import Evaluation
from otadtk.loggers import MlflowLog, TensorBoardLog, WandbLog
from otadtk.loggers.content import content_of

RATE = 16_000


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Twelve bells against twelve others; the fourth is noise."""
    folder = tmp_path_factory.mktemp("logged")
    for first, side in enumerate(("real", "made")):
        (folder / side).mkdir()
        for k in range(12):
            clip = synthesise("bell", 100 * first + k, 0.5, RATE)
            if (side, k) == ("made", 3):
                clip = np.random.default_rng(0).normal(size=clip.shape).clip(-1, 1)
            soundfile.write(folder / side / f"{k}.wav", clip, RATE)
    metric = OTAD("logmel", cache_dir=folder / "cache")
    return evaluate(metric, folder / "real", folder / "made", null=9, fdr=0.1)


def missing(package: str) -> bool:
    return importlib.util.find_spec(package) is None


def test_what_is_logged(evaluation: Evaluation, tmp_path: Path) -> None:
    content = content_of(evaluation, worst=2)
    floor = evaluation.statistics.floor
    assert floor is not None
    assert content.numbers["otad/score"] == evaluation.score
    assert content.numbers["otad/floor"] == floor.mean
    assert content.numbers["otad/p_value"] == floor.p_value
    assert {"otad/bad_clips", "otad/bad_share"} < set(content.numbers)
    assert content.costs is not None and content.costs.shape == (12,)
    assert content.worst[0].name == "3.wav"
    assert [clip.rank for clip in content.worst] == [1, 2]
    assert len(content.worst[0].sound.samples) == RATE // 2
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(9, 3)))
    by_arrays = evaluate(FAD("given"), tmp_path / "x.npy", tmp_path / "x.npy")
    assert content_of(by_arrays).numbers == {"fad/score": by_arrays.score}
    costs_only = evaluate(OTAD("given"), tmp_path / "x.npy", tmp_path / "x.npy")
    assert content_of(costs_only).worst == ()  # no audio


@pytest.mark.skipif(missing("tensorboard"), reason="needs tensorboard")
def test_event_files_of_tensorboard(evaluation: Evaluation, tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, worst=2)
    for step in (100, 200):
        log(evaluation, step)
    log.writer.close()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path))
    events.Reload()
    scores = events.Scalars("otad/score")
    assert [event.step for event in scores] == [100, 200]
    assert scores[0].value == pytest.approx(evaluation.score, rel=1e-5)
    floor = evaluation.statistics.floor
    assert floor is not None
    assert events.Scalars("otad/floor")[0].value == pytest.approx(floor.mean, rel=1e-5)
    (costs,) = events.Histograms("otad/costs")  # the accumulator keeps the last
    assert costs.histogram_value.num == 12
    (sound, *_) = events.Audio("otad/worst_1")
    assert sound.sample_rate == RATE and sound.length_frames == RATE // 2
    assert "otad/worst_2" in events.Tags()["audio"] and len(events.Tags()["audio"]) == 2


@pytest.mark.skipif(missing("wandb"), reason="needs wandb")
def test_weights_and_biases_offline(evaluation: Evaluation, tmp_path: Path) -> None:
    import wandb

    run = wandb.init(mode="offline", dir=tmp_path, project="otadtk")
    WandbLog(run, worst=2)(evaluation, 100)
    assert run.summary["otad/score"] == pytest.approx(evaluation.score)
    assert run.summary["otad/step"] == 100
    run.finish()
    assert len(list(tmp_path.rglob("run-*.wandb"))) == 1
    assert len(list(tmp_path.rglob("media/audio/**/*.wav"))) == 2


@pytest.mark.skipif(missing("mlflow"), reason="needs mlflow")
def test_file_store_of_mlflow(
    evaluation: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    with mlflow.start_run() as run:
        MlflowLog(worst=2)(evaluation, 100)
    client = mlflow.MlflowClient()
    (score,) = client.get_metric_history(run.info.run_id, "otad/score")
    assert (score.step, score.value) == (100, pytest.approx(evaluation.score))
    listed = client.list_artifacts(run.info.run_id, "otad/step_00000100")
    names = {Path(each.path).name for each in listed}
    assert {"costs.csv", "costs.png", "worst_1_3.wav"} < names and len(names) == 4


@pytest.mark.skipif(missing("lightning"), reason="needs lightning")
@pytest.mark.filterwarnings("ignore")  # Lightning warns of torch, of few workers and so on
def test_the_callback_of_lightning(evaluation: Evaluation, tmp_path: Path) -> None:
    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.loggers import TensorBoardLogger
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from otadtk.loggers.lightning import ScoreCallback

    class Generator(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.gain = torch.nn.Parameter(torch.ones(1))

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return (self.gain * batch[0]).mean()

        validation_step = training_step

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    real = Path(evaluation.evaluated.files[0]).parent.parent / "real"
    loads: list[object] = []
    metric = OTAD("logmel", cache_dir=tmp_path / "cache")
    embed = metric.embed
    metric.embed = lambda place, **options: loads.append(place) or embed(place, **options)  # type: ignore[method-assign, misc, func-returns-value]

    def generate(module: Generator) -> torch.Tensor:
        clips = [synthesise("bell", 300 + k, 0.5, RATE) for k in range(10)]
        return module.gain.detach() * torch.from_numpy(np.stack(clips))

    callback = ScoreCallback(metric, real, generate, sample_rate=RATE, every=2)
    trainer = pl.Trainer(
        max_epochs=4,
        default_root_dir=tmp_path,
        logger=TensorBoardLogger(tmp_path, "log"),
        callbacks=[callback],
        enable_progress_bar=False,
        enable_model_summary=False,
        accelerator="cpu",
        log_every_n_steps=1,
    )
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 1)))
    trainer.fit(Generator(), data, data)
    steps = sorted(path.name for path in (tmp_path / "otadtk").iterdir())
    assert steps == ["step_00000008", "step_00000016"]  # every second of four validations
    assert [Path(str(place)).name for place in loads] == ["real", *steps]  # the reference once
    assert float(trainer.callback_metrics["otad/score"]) == pytest.approx(callback.last.score)
    events = EventAccumulator(str(next(tmp_path.glob("log/version_0"))))
    events.Reload()
    assert [event.step for event in events.Scalars("otad/score")] == [8, 16]
    assert events.Tags()["audio"] and events.Tags()["histograms"] == ["otad/costs"]


@pytest.mark.parametrize(
    ("log", "package"),
    [(TensorBoardLog, "tensorboard"), (WandbLog, "wandb"), (MlflowLog, "mlflow")],
)
def test_what_is_missing_is_said(log: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otadtk.loggers.content.find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=rf'needs {package}: pip install "otadtk-audio\[{package}\]"'
    ):
        log("somewhere")
