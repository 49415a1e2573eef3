"""The pullback metric and the volume factor against finite differences (Propositions 1 and 2)."""

from __future__ import annotations

import math

import pytest
import torch

from otadtk import RiemannianAdapter
from otadtk.adapter.artifact import ArtifactAdapter
from otadtk.adapter.network import Adapter
from otadtk.adapter.volume import volume_summary
from otadtk.errors import UsageError


def bent(dim: int = 12, seed: int = 0) -> RiemannianAdapter:
    torch.manual_seed(seed)
    network = RiemannianAdapter(dim)
    torch.nn.init.normal_(network.f_theta[4].weight, std=0.4)
    return network.double().eval().requires_grad_(False)


def finite_jacobian(network: Adapter, z: torch.Tensor, step: float = 1e-6) -> torch.Tensor:
    shifts = step * torch.eye(len(z), dtype=z.dtype)
    with torch.no_grad():
        return ((network(z + shifts) - network(z - shifts)) / (2 * step)).T


def test_jacobian_and_metric_equal_finite_differences() -> None:
    network = bent()
    z = torch.randn(3, 12, dtype=torch.float64)
    jacobians = network.jacobian(z)
    for point, jacobian in zip(z, jacobians, strict=True):
        expected = finite_jacobian(network, point)
        torch.testing.assert_close(jacobian, expected, atol=1e-7, rtol=1e-6)
        torch.testing.assert_close(
            network.pullback_metric(point), expected.T @ expected, atol=1e-6, rtol=1e-6
        )


def test_distances_are_those_of_the_metric_to_third_order() -> None:
    network = bent()
    z, direction = torch.randn(12, dtype=torch.float64), torch.randn(12, dtype=torch.float64)
    metric = network.pullback_metric(z)
    errors = []
    for size in (1e-2, 1e-3):
        delta = size * direction
        true = (network(z[None] + delta) - network(z[None])).square().sum()
        errors.append(float((true - delta @ metric @ delta).abs()))
    assert errors[1] < errors[0] / 500


def test_log_volume_equals_the_determinant() -> None:
    network = bent()
    z = torch.randn(5, 12, dtype=torch.float64)
    expected = [torch.linalg.slogdet(finite_jacobian(network, point))[1] for point in z]
    torch.testing.assert_close(network.log_volume(z), torch.stack(expected), atol=1e-6, rtol=1e-5)
    generic = Adapter.log_volume(network, z)
    torch.testing.assert_close(generic, network.log_volume(z), atol=1e-9, rtol=1e-9)
    torch.testing.assert_close(network.log_volume(z[0]), expected[0], atol=1e-6, rtol=1e-5)


def test_the_identity_changes_nothing() -> None:
    network = RiemannianAdapter(16).eval()
    z = torch.randn(4, 16)
    assert torch.equal(network.pullback_metric(z), torch.eye(16).expand(4, 16, 16))
    assert torch.equal(network.log_volume(z), torch.zeros(4))


def test_a_scaling_is_seen_in_the_volume() -> None:
    class Twice(Adapter):
        input_dim = 3

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return torch.cat([2 * z, z], dim=1)

    # each direction grows by sqrt(2² + 1)
    expected = torch.full((2,), 1.5 * torch.log(torch.tensor(5.0)))
    torch.testing.assert_close(Twice().log_volume(torch.randn(2, 3)), expected)


def test_the_artifact_metric_keeps_the_embedding_and_its_volume_is_finite() -> None:
    torch.manual_seed(0)
    network = ArtifactAdapter(6, 4, 3, hidden=8).double().eval().requires_grad_(False)
    z = torch.randn(5, 10, dtype=torch.float64)
    assert torch.equal(network(z)[:, :6], z[:, :6])
    for point, jacobian in zip(z, network.jacobian(z), strict=True):
        torch.testing.assert_close(jacobian, finite_jacobian(network, point), atol=1e-7, rtol=1e-6)
    expected = [0.5 * torch.linalg.slogdet(j.T @ j)[1] for j in network.jacobian(z)]
    torch.testing.assert_close(network.log_volume(z), torch.stack(expected))
    torch.testing.assert_close(network.log_volume(z[0]), expected[0])
    torch.testing.assert_close(Adapter.log_volume(network, z), network.log_volume(z))
    z[1, 7] = 1e3  # a feature at its bound: flat in its direction
    assert network.log_volume(z).isneginf().tolist() == [False, True, False, False, False]


def test_wrong_shapes() -> None:
    with pytest.raises(UsageError, match="vectors of 12 values"):
        bent().pullback_metric(torch.zeros(3, 5, dtype=torch.float64))


def test_summary() -> None:
    network = bent().float()
    z = torch.randn(40, 12)
    summary = volume_summary(network, z)
    assert summary.clips == 16
    assert summary.smallest <= summary.mean <= summary.largest
    assert "16 clips" in str(summary)
    assert volume_summary(network, z[:3]).clips == 3


def test_flat_directions_are_counted_not_averaged() -> None:
    class HalfFlat(Adapter):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor(3.0))
            self.input_dim = 2

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            return self.scale * z.clamp(-1.0, 1.0)

    inside, outside = torch.zeros(3, 2), torch.full((1, 2), 5.0)
    summary = volume_summary(HalfFlat(), torch.cat([inside, outside]))
    assert (summary.clips, summary.flattened) == (4, 1)
    assert abs(summary.mean - 2 * math.log(3.0)) < 1e-5
    assert "flat in some direction at 1 more" in str(summary)
    assert "all 1 clips" in str(volume_summary(HalfFlat(), outside))
