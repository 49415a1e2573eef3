"""The torchmetrics classes: equal to the functions, in one process and in two."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from otadtk import compute_fad, compute_kad, compute_otad, get_encoder
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.cli.pack import main as pack_command
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
    assert metric.real[0].shape == (3, 1024 + 32)
    assert float(metric.compute()) > 0.0


def test_a_variant_by_keyword_and_a_loaded_encoder() -> None:
    """A loaded YAMNet is no dead end: the variant's further features are built beside it."""
    encoder = get_encoder("yamnet", "cpu")
    metric = OptimalTransportAudioDistance(
        encoder, sample_rate=RATE, variant="artifact", epsilon=2.0, sync_on_compute=False
    )
    metric.update(waveforms(2, 0), real=True)
    assert metric.real[0].shape == (2, 1024 + 32)
    plain = FrechetAudioDistance(encoder, sample_rate=RATE)
    assert plain._encoder().get() is encoder
    with pytest.raises(TypeError, match="no option 'varaint'"):
        FrechetAudioDistance("logmel", sample_rate=RATE, varaint="raw")


@pytest.mark.parametrize("kind", ["folder", "files", "pack", "set"])
def test_a_reference_that_is_embedded_once(kind: str, tmp_path: Path) -> None:
    from otadtk import FAD

    folder = tmp_path / "real"
    folder.mkdir()
    for number, clip in enumerate(waveforms(6, 0)):
        soundfile.write(folder / f"{number}.wav", clip.numpy(), RATE, subtype="FLOAT")
    pack = tmp_path / "real.otadpack"
    assert pack_command([str(folder), "-m", "logmel", "-o", str(pack)]) == 0
    reference = {
        "folder": folder,
        "files": sorted(folder.iterdir()),
        "pack": pack,
        "set": FAD("logmel").embed(folder),
    }[kind]
    metric = FrechetAudioDistance("logmel", sample_rate=RATE, reference=reference)
    for _ in range(2):  # the reference outlives a reset
        metric.update(waveforms(5, 50))
        expected = compute_fad(vectors(waveforms(6, 0)), vectors(waveforms(5, 50)))
        assert float(metric.compute()) == pytest.approx(expected, rel=1e-4)
        metric.reset()
    with pytest.raises(UsageError, match="has its reference"):
        metric.update(waveforms(1, 0), real=True)


def test_a_reference_of_other_features(tmp_path: Path) -> None:
    np.save(tmp_path / "real.npy", np.ones((4, 7), dtype=np.float32))
    with pytest.raises(UsageError, match="7"):
        FrechetAudioDistance("logmel", sample_rate=RATE, reference=tmp_path / "real.npy")


def test_a_collection_shares_one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clips of an update go through the network together, and once for all metrics alike."""
    from torchmetrics import MetricCollection

    classes = (FrechetAudioDistance, KernelAudioDistance)
    metrics = MetricCollection([one("logmel", sample_rate=RATE) for one in classes])
    first, second = (metric._encoder().get() for metric in metrics.values())
    assert first is second
    copied = metrics.clone(prefix="val_")
    assert all(metric._encoder().get() is first for metric in copied.values())
    batches = []
    encode = type(first).encode_segments

    def counted(encoder: object, segments: list[torch.Tensor]) -> object:
        batches.append(len(segments))
        return encode(encoder, segments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(first), "encode_segments", counted)
    metrics.update(waveforms(4, 0), real=True)
    metrics.update(waveforms(4, 50), real=False)
    found = metrics.compute()
    assert batches == [4, 4, 4]  # by both metrics once; then torchmetrics knows that they are alike
    expected = compute_fad(vectors(waveforms(4, 0)), vectors(waveforms(4, 50)))
    assert float(found["FrechetAudioDistance"]) == pytest.approx(expected, rel=1e-4)


def test_the_encoder_moves_with_the_module() -> None:
    """By the meta device, which every machine has."""
    metric = FrechetAudioDistance("logmel", sample_rate=RATE)
    assert metric._encoder()._device == "cpu"
    assert metric.to("meta")._encoder()._device == "meta"
    pinned = FrechetAudioDistance("logmel", sample_rate=RATE, device="cpu").to("meta")
    assert pinned._encoder()._device == "cpu"


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
