"""The perceptual metric: bounded, scaled by blocks, and its volume in closed form."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import read_adapter, save_adapter
from otadtk.adapter.network import Adapter
from otadtk.adapter.perceptual import PerceptualAdapter
from otadtk.encoders import get_spec
from otadtk.errors import AdapterError


def network(seed: int = 0) -> PerceptualAdapter:
    torch.manual_seed(seed)
    found = PerceptualAdapter([6, 5, 4, 3], 3, hidden=8, heard=(2, 3)).double()
    for name in ("spread", "weights", "scales"):
        getattr(found, name).uniform_(0.5, 2.0)
    found.mean.normal_()
    return found.eval().requires_grad_(False)


def test_small_vectors_are_standardised_and_weighted_by_blocks() -> None:
    metric = network()
    x = metric.mean + 1e-3 * torch.randn(4, 18, dtype=torch.float64)
    y = metric(x)
    start = 0
    for number, size in enumerate(metric.blocks):
        block = slice(start, start + size)
        spread = 1.0 if number == 0 else metric.spread[block]
        expected = (x - metric.mean)[:, block] / spread / metric.scales[number]
        expected = expected * metric.weights[number].sqrt()
        torch.testing.assert_close(y[:, block], expected, rtol=1e-5, atol=1e-12)
        start += size


def test_nothing_moves_a_clip_farther_than_the_bound() -> None:
    metric = network()
    x = 1e6 * torch.randn(50, 18, dtype=torch.float64)
    y = metric(x)
    start = 0
    for size, weight in zip(metric.blocks, metric.weights, strict=True):
        assert (y[:, start : start + size].norm(dim=1) <= 2.0 * weight.sqrt() + 1e-9).all()
        start += size
    most = metric.fault_weight.sqrt() * metric.fault_reach
    assert (y[:, start:].norm(dim=1) <= most + 1e-9).all()


def test_what_the_network_does_not_hear_moves_no_fault() -> None:
    metric = network()
    x = torch.randn(5, 18, dtype=torch.float64)
    other = x.clone()
    other[:, :11] += 1.0
    other[:, 15:] -= 1.0
    torch.testing.assert_close(metric(x)[:, 18:], metric(other)[:, 18:])
    other[:, 12] += 1.0
    assert (metric(x)[:, 18:] != metric(other)[:, 18:]).any()


def test_the_volume_is_that_of_the_jacobian() -> None:
    metric = network(1)
    x = 2.0 * torch.randn(5, 18, dtype=torch.float64)
    torch.testing.assert_close(metric.log_volume(x), Adapter.log_volume(metric, x))
    torch.testing.assert_close(metric.log_volume(x[0]), metric.log_volume(x)[0])
    metric.weights[1] = 0.0
    assert metric.log_volume(x).isneginf().all()


def test_files(tmp_path: Path) -> None:
    spec = get_spec("logmel+signal+texture")
    metric = PerceptualAdapter([128, 32, 97], 4, hidden=8, heard=(1, 3)).eval()
    card = AdapterCard(spec.name, spec.fingerprint, "perceptual", network="perceptual")
    path = tmp_path / "x.safetensors"
    save_adapter(metric, path, spec, "perceptual", card)
    loaded = read_adapter(path, get_spec("logmel"))
    assert loaded.spec.name == spec.name
    x = torch.randn(3, 257)
    torch.testing.assert_close(loaded.network(x), metric(x))
    wrong = PerceptualAdapter([128, 32, 96], 4, hidden=8, heard=(1, 3))
    save_adapter(wrong, path, spec, "perceptual", card)
    with pytest.raises(AdapterError, match="its blocks have 256 values"):
        read_adapter(path, get_spec("logmel"))


def test_single_clips_are_judged_with_weights_of_their_own() -> None:
    metric = network()
    metric.clip_weights.copy_(0.25 * metric.weights)
    metric.clip_fault_weight.copy_(9.0 * metric.fault_weight)
    x = metric.mean + 0.01 * torch.randn(5, 18, dtype=torch.float64)  # far from every bound
    before, clips = metric(x), metric.for_clips()
    torch.testing.assert_close(clips(x)[:, :18], 0.5 * before[:, :18], rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(clips(x)[:, 18:], 3.0 * before[:, 18:])
    torch.testing.assert_close(metric(x), before)  # sets are compared as before
    assert sum(tensor.numel() for tensor in clips.state_dict().values()) == sum(
        tensor.numel() for tensor in metric.state_dict().values()
    )


def test_among_single_clips_gross_features_count_more() -> None:
    metric = network()
    metric.clip_weights.copy_(metric.weights)
    metric.clip_fault_weight.copy_(metric.fault_weight)
    x = torch.zeros(2, 18, dtype=torch.float64)
    x[0, 12], x[1, 12] = 5.0, 10.0  # deviations of one feature
    sets, clips = metric(x)[:, 8:18], metric.for_clips()(x)[:, 8:18]
    assert torch.dist(*clips) > 1.5 * torch.dist(*sets)
    torch.testing.assert_close(metric.for_clips()(x)[:, 18:], metric(x)[:, 18:])  # h hears the same
