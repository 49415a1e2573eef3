"""The self-test: golden values by independent means, and failures are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import ot
import pytest
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist, pdist
from scipy.special import logsumexp

from otadtk import FAD, compute_fad, selftest
from otadtk.cli.selftest import main
from otadtk.metrics.entry import GoldenValue

GOLDEN = {golden.what: golden.value for golden in selftest.golden_values()}
X, Y = (points.astype(np.float64) for points in selftest.fixed_sets())


def test_exact_by_another_solver() -> None:
    weights = [np.full(len(side), 1 / len(side)) for side in (X, Y)]
    cost = ot.emd2(*weights, cdist(X, Y, "sqeuclidean"))
    assert cost == pytest.approx(GOLDEN["OTAD, exact"], rel=1e-5)


def entropic_plan(x: np.ndarray, y: np.ndarray, epsilon: float) -> tuple[float, float]:
    """(⟨T,C⟩, ⟨T,C⟩ + ε KL(T | a ⊗ b)) by plain log-domain iterations."""
    cost, n, m = cdist(x, y, "sqeuclidean"), len(x), len(y)
    f, g = np.zeros(n), np.zeros(m)
    for _ in range(500):
        f = -epsilon * (logsumexp((g - cost) / epsilon, axis=1) - np.log(m))
        g = -epsilon * (logsumexp((f[:, None] - cost) / epsilon, axis=0) - np.log(n))
    plan = np.exp((f[:, None] + g - cost) / epsilon) / (n * m)
    transported = float((plan * cost).sum())
    divergence = float((plan * np.log(np.maximum(plan * n * m, 1e-300))).sum())
    return transported, transported + epsilon * divergence


@pytest.mark.parametrize(
    ("what", "epsilon", "kind"), [("epsilon 10", 10.0, 0), ("entropic", 1.0, 1)]
)
def test_sinkhorn_by_plain_iterations(what: str, epsilon: float, kind: int) -> None:
    cross, own_x, own_y = (entropic_plan(a, b, epsilon)[kind] for a, b in ((X, Y), (X, X), (Y, Y)))
    expected = cross - (own_x + own_y) / 2
    assert GOLDEN[f"OTAD, {what}"] == pytest.approx(expected, rel=1e-4)


def test_frechet_by_a_matrix_root() -> None:
    root = np.real(sqrtm(np.cov(X.T) @ np.cov(Y.T)))
    shift = X.mean(axis=0) - Y.mean(axis=0)
    expected = shift @ shift + np.trace(np.cov(X.T) + np.cov(Y.T) - 2 * root)
    assert GOLDEN["FAD"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("name", ["gaussian", "iq", "imq"])
def test_kernel_by_all_pairs(name: str) -> None:
    within = np.sort(pdist(Y))
    gamma = 1.0 / (2.0 * within[(len(within) - 1) // 2] ** 2 + 1e-8)
    kernels = {
        "gaussian": lambda d: np.exp(-gamma * d),
        "iq": lambda d: 1 / (1 + gamma * d),
        "imq": lambda d: (1 + gamma * d) ** -0.5,
    }
    k = kernels[name]
    n, m = len(X), len(Y)
    expected = (
        2 * k(pdist(X, "sqeuclidean")).sum() / (n * (n - 1))
        + 2 * k(pdist(Y, "sqeuclidean")).sum() / (m * (m - 1))
        - 2 * k(cdist(X, Y, "sqeuclidean")).mean()
    )
    assert GOLDEN[f"KAD, {name}"] == pytest.approx(100 * expected, rel=1e-4)


def test_all_is_well_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "FAIL" not in out
    assert "not checked" not in out, "the weights of yamnet are there"
    assert "bundled adapter yamnet/artifact.safetensors: sha256:" in out
    assert "GPU: " in out
    assert "transformers, torchaudio, TensorFlow: not needed" in out
    for name in (*GOLDEN, "yamnet, vector of a fixed clip"):
        assert f"ok    {name}: " in out


def test_a_wrong_number_is_noticed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = GoldenValue("FAD", 1.001 * GOLDEN["FAD"], compute_fad)
    monkeypatch.setattr(FAD, "golden_values", lambda: (wrong,))
    monkeypatch.setattr("otadtk.embed.store.EmbeddingStore.get", lambda *_: None)
    assert main([]) == 1
    out, err = capsys.readouterr()
    assert "FAIL  FAD: 0.485" in out
    assert "FAIL  the store gives back" in out
    assert "2 check(s) failed" in err


def test_damaged_adapter_and_missing_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "yamnet").mkdir()
    names = ("agnostic", "artifact", "native", "perceptual")
    for name in names:
        (tmp_path / "yamnet" / f"{name}.safetensors").write_bytes(b"damaged")
    monkeypatch.setattr("otadtk.adapter.manifest.BUNDLED", tmp_path)
    for weights in (cache / "weights").iterdir():
        weights.unlink()
    checks = list(selftest._adapters())
    assert [check.passed for check in checks] == [False] * len(names)
    assert selftest._embedding_number("yamnet") is None
    lacking = "weights of yamnet: missing (otadtk-list-models --fetch yamnet)"
    assert lacking in list(selftest.machine())
