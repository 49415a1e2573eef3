"""The torchmetrics classes: equal to the functions, in one process and in two."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk import compute_fad, compute_kad, compute_otad, get_encoder
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.errors import AudioError, UsageError
from otadtk.torchmetrics import (
    FrechetAudioDistance,
    KernelAudioDistance,
    OptimalTransportAudioDistance,
)

RATE = 16_000


def waveforms(count: int, first_seed: int) -> torch.Tensor:
    kinds = list(KINDS)
    clips = [synthesise(kinds[s % len(kinds)], first_seed + s, 0.5, RATE) for s in range(count)]
    return torch.from_numpy(np.stack(clips))


def vectors(clips: torch.Tensor) -> np.ndarray:
    encoder = get_encoder("logmel", "cpu")
    return np.stack([encoder.encode(clip, RATE) for clip in clips])


@pytest.mark.parametrize(
    ("metric_class", "function"),
    [
        (OptimalTransportAudioDistance, compute_otad),
        (FrechetAudioDistance, compute_fad),
        (KernelAudioDistance, compute_kad),
    ],
)
def test_equals_the_functions(metric_class: type, function: object) -> None:
    assert callable(function)
    real, generated = waveforms(6, 0), waveforms(5, 50)
    metric = metric_class("logmel", sample_rate=RATE)
    metric.update(real[:4], real=True)
    metric.update(real[4:, None, :], real=True)
    for clip in generated:
        metric.update(clip, real=False)
    expected = function(vectors(real), vectors(generated))
    assert float(metric.compute()) == pytest.approx(expected, rel=1e-6)


def test_reset() -> None:
    metric = FrechetAudioDistance("logmel", sample_rate=RATE)
    keeping = FrechetAudioDistance("logmel", sample_rate=RATE, reset_real=False)
    for distance in (metric, keeping):
        distance.update(waveforms(3, 0), real=True)
        distance.update(waveforms(3, 9), real=False)
        first = float(distance.compute())
        distance.reset()
        distance.update(waveforms(3, 9), real=False)
    with pytest.raises(UsageError, match="No real waveforms"):
        metric.compute()
    assert float(keeping.compute()) == first


def test_options_and_bad_input() -> None:
    metric = OptimalTransportAudioDistance(
        get_encoder("logmel", "cpu"), sample_rate=RATE, metric_options={"epsilon": 50.0}
    )
    real, generated = waveforms(4, 0), waveforms(4, 9)
    metric.update(real, real=True)
    metric.update(generated, real=False)
    expected = compute_otad(vectors(real), vectors(generated), epsilon=50.0)
    assert float(metric.compute()) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(AudioError, match="NaN"):
        metric.update(torch.full((1, 99), torch.nan), real=True)
    for shape in ((2, 0), (1, 1, 1, 9)):
        with pytest.raises(UsageError, match="must be"):
            metric.update(torch.zeros(shape), real=True)
    with pytest.raises(UsageError, match="sample_rate"):
        FrechetAudioDistance("logmel", sample_rate=0)


def test_a_variant_with_extra_features() -> None:
    metric = FrechetAudioDistance(
        "yamnet", sample_rate=RATE, metric_options={"variant": "artifact"}
    )
    metric.update(waveforms(3, 0), real=True)
    metric.update(waveforms(3, 9), real=False)
    assert metric.real[0].shape == (1, 1024 + 32)
    assert float(metric.compute()) > 0.0


def test_resamples() -> None:
    metric = FrechetAudioDistance("logmel", sample_rate=2 * RATE)
    metric.update(waveforms(2, 0), real=True)
    half = get_encoder("logmel", "cpu").encode(waveforms(1, 0)[0], 2 * RATE)
    assert np.allclose(metric.real[0].numpy()[0], half)


def _process(rank: int, rendezvous: str, results: str) -> None:
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2
    )
    metric = OptimalTransportAudioDistance("logmel", sample_rate=RATE)
    # unequal shares, and one process alone has the last real clip
    shares = (slice(0, 4), slice(4, 7))
    metric.update(waveforms(7, 0)[shares[rank]], real=True)
    with pytest.raises(UsageError, match="No generated waveforms"):
        metric.compute()  # and goes on from where it was
    metric.update(waveforms(5, 50)[rank::2], real=False)
    value = float(metric.compute())
    metric.reset()
    metric.update(waveforms(7, 0)[shares[rank]], real=True)
    if rank == 1:  # all generated clips are on one process
        metric.update(waveforms(5, 50), real=False)
    assert float(metric.compute()) == pytest.approx(value, rel=1e-5)
    Path(results, str(rank)).write_text(repr(value))
    torch.distributed.destroy_process_group()


def test_two_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    arguments = (str(tmp_path / "rendezvous"), str(tmp_path))
    workers = [context.Process(target=_process, args=(rank, *arguments)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=300)
        assert worker.exitcode == 0
    expected = compute_otad(vectors(waveforms(7, 0)), vectors(waveforms(5, 50)))
    for rank in range(2):
        found = float((tmp_path / str(rank)).read_text())
        assert found == pytest.approx(expected, rel=1e-5)


def test_without_torchmetrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "otadtk.torchmetrics")
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    with pytest.raises(UsageError, match=r'pip install "otadtk-audio\[torchmetrics\]"'):
        __import__("otadtk.torchmetrics")
