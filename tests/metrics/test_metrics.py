"""OTAD, FAD and KAD on arrays and folders: closed forms, properties, other packages."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk import FAD, KAD, OTAD, RiemannianAdapter, compute_fad, compute_kad, compute_otad
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.errors import UsageError
from otadtk.metrics.otad import _content_key
from tests.references.cases import KERNEL_CASES, TRANSPORT_CASES, kernel_case, transport_case

PUBLISHED = json.loads((Path(__file__).parents[1] / "references" / "distances.json").read_text())


def mean_cost(x: np.ndarray, y: np.ndarray) -> float:
    return float(torch.cdist(torch.from_numpy(x), torch.from_numpy(y)).square().mean())


class TestOTAD:
    @pytest.fixture
    def sets(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(60, 16)).astype(np.float32)
        y = (0.3 + rng.normal(size=(45, 16))).astype(np.float32)
        return x, y

    @pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 10.0])
    def test_closed_forms(self, sets: tuple[np.ndarray, np.ndarray], scale: float) -> None:
        x, y = sets
        epsilon = scale * mean_cost(x, y)
        between = compute_otad(x, y, epsilon=epsilon)
        assert compute_otad(x, x, epsilon=epsilon) == pytest.approx(0.0, abs=1e-5 * mean_cost(x, x))
        assert compute_otad(y, x, epsilon=epsilon) == pytest.approx(between, rel=1e-5)
        shift = np.full(16, 0.7, dtype=np.float32)
        assert compute_otad(x, x + shift, epsilon=epsilon) == pytest.approx(16 * 0.49, rel=1e-5)

    def test_large_epsilon_gives_the_distance_of_the_means(
        self, sets: tuple[np.ndarray, np.ndarray]
    ) -> None:
        x, y = sets
        expected = float(np.sum((x.mean(axis=0) - y.mean(axis=0)) ** 2))
        assert compute_otad(x, y, epsilon=1e6) == pytest.approx(expected, rel=1e-3)

    def test_costs_sum_to_the_transport_cost(self, sets: tuple[np.ndarray, np.ndarray]) -> None:
        x, y = sets
        score, cj = compute_otad(x, y, epsilon=2.0, return_sample_costs=True)
        assert cj.shape == (45,)
        assert (cj >= 0).all()
        result = sinkhorn_divergence(x, y, epsilon=2.0)
        assert cj.sum() == pytest.approx(result.xy.value, rel=1e-9)
        assert score == pytest.approx(cj.sum() - 0.5 * (result.xx.value + result.yy.value))

    def test_an_outlier_costs_most(self, sets: tuple[np.ndarray, np.ndarray]) -> None:
        x, y = sets
        y = y.copy()
        y[17] += 3.0
        assert compute_otad(x, y, epsilon=1.0, return_sample_costs=True)[1].argmax() == 17

    @pytest.mark.parametrize("name", TRANSPORT_CASES)
    def test_equals_the_published_package_where_that_converges(self, name: str) -> None:
        x, y, epsilon = transport_case(name)
        score, cj = compute_otad(x, y, epsilon=epsilon, return_sample_costs=True)
        published = PUBLISHED["otadtk 0.1.2"][name]
        assert score == pytest.approx(published["score"], rel=1e-4)
        np.testing.assert_allclose(cj, published["cj"], atol=1e-3 * cj.max())

    def test_adapter_moves_both_sides(self, sets: tuple[np.ndarray, np.ndarray]) -> None:
        x, y = sets
        torch.manual_seed(0)
        adapter = RiemannianAdapter(16)
        assert compute_otad(x, y, adapter=adapter) == pytest.approx(compute_otad(x, y), rel=1e-6)
        torch.nn.init.normal_(adapter.f_theta[4].weight)
        with torch.no_grad():
            a, b = (adapter.eval()(torch.from_numpy(s)).numpy() for s in (x, y))
        assert compute_otad(x, y, adapter=adapter) == pytest.approx(compute_otad(a, b), rel=1e-5)
        with pytest.raises(UsageError, match="d = 16, the embeddings have 8"):
            compute_otad(x[:, :8], y[:, :8], adapter=adapter)

    def test_one_clip_a_side(self) -> None:
        x, y = np.zeros((1, 3)), np.array([[1.0, 2.0, 2.0]])
        assert compute_otad(x, y) == pytest.approx(9.0)


class TestFAD:
    @pytest.mark.parametrize(("n", "m", "d"), [(500, 400, 8), (30, 25, 64), (300, 20, 64)])
    def test_equals_eigendecomposition(
        self, rng: np.random.Generator, n: int, m: int, d: int
    ) -> None:
        x, y = rng.normal(size=(n, d)), 1.0 + rng.normal(size=(m, d)) * rng.uniform(0.5, 2, size=d)
        values, vectors = np.linalg.eigh(np.cov(x, rowvar=False))
        root = (vectors * np.sqrt(values.clip(0))) @ vectors.T
        middle = np.linalg.eigvalsh(root @ np.cov(y, rowvar=False) @ root)
        expected = np.sum((x.mean(0) - y.mean(0)) ** 2) - 2 * np.sqrt(middle.clip(0)).sum()
        expected += np.trace(np.cov(x, rowvar=False)) + np.trace(np.cov(y, rowvar=False))
        assert compute_fad(x, y) == pytest.approx(expected, rel=1e-6)

    def test_closed_form_of_gaussians(self, rng: np.random.Generator) -> None:
        """Samples with exact moments: N(0, I) against N(m, diag(s²)) gives ‖m‖² + Σ(1 − s)²."""
        z = rng.normal(size=(400, 6))
        z -= z.mean(axis=0)
        z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z, rowvar=False))).T
        mean, scale = np.arange(6.0), np.linspace(0.5, 3.0, 6)
        expected = np.sum(mean**2) + np.sum((1 - scale) ** 2)
        assert compute_fad(z, mean + z * scale) == pytest.approx(expected, rel=1e-6)

    def test_properties(self, rng: np.random.Generator) -> None:
        x, y = rng.normal(size=(50, 12)), rng.normal(size=(70, 12))
        assert compute_fad(x, x) == pytest.approx(0.0, abs=1e-9)
        assert compute_fad(x, y) == pytest.approx(compute_fad(y, x), rel=1e-9)
        assert compute_fad(np.zeros((4, 3)), np.ones((5, 3))) == pytest.approx(3.0)


class TestKAD:
    @pytest.mark.parametrize("name", KERNEL_CASES)
    def test_equals_kadtk(self, name: str) -> None:
        assert compute_kad(*kernel_case(name)) == pytest.approx(
            PUBLISHED["kadtk 1.1"][name], rel=1e-4
        )

    @pytest.mark.parametrize("kernel", ["gaussian", "iq", "imq"])
    def test_definition(self, rng: np.random.Generator, kernel: str) -> None:
        x, y, sigma = rng.normal(size=(7, 3)), rng.normal(size=(6, 3)), 1.7
        gamma = 1 / (2 * sigma**2 + 1e-8)
        functions = {
            "gaussian": lambda s: np.exp(-gamma * s),
            "iq": lambda s: 1 / (1 + gamma * s),
            "imq": lambda s: (1 + gamma * s) ** -0.5,
        }

        def mean(a: np.ndarray, b: np.ndarray, same: bool) -> float:
            pairs = [
                functions[kernel](np.sum((p - q) ** 2))
                for i, p in enumerate(a)
                for j, q in enumerate(b)
                if not (same and i == j)
            ]
            return float(np.mean(pairs))

        expected = mean(x, x, True) + mean(y, y, True) - 2 * mean(x, y, False)
        for scale in (True, False):
            found = compute_kad(x, y, bandwidth=sigma, kernel=kernel, scale=scale)
            assert found == pytest.approx(expected * (100 if scale else 1), rel=1e-5)

    def test_same_distribution_is_zero_on_average(self, rng: np.random.Generator) -> None:
        values = [
            compute_kad(rng.normal(size=(40, 5)), rng.normal(size=(40, 5))) for _ in range(60)
        ]
        assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(60)
        assert min(values) < 0

    def test_identical_evaluated_clips(self) -> None:
        assert np.isfinite(compute_kad(np.eye(4), np.ones((5, 4))))

    @pytest.mark.parametrize(
        "options", [{"kernel": "cubic"}, {"bandwidth": 0.0}, {"bandwidth": -1}]
    )
    def test_bad_options(self, options: dict[str, object]) -> None:
        with pytest.raises(UsageError):
            compute_kad(np.eye(4), np.eye(4), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", [compute_otad, compute_fad, compute_kad])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.full((3, 2), np.nan), np.ones((3, 2)), "NaN or infinite"),
        (np.ones((3, 2)), np.full((3, 2), np.inf), "NaN or infinite"),
        (np.ones((3, 2)), np.ones((3, 4)), "dimension: 2 and 4"),
        (np.ones((0, 2)), np.ones((3, 2)), "empty|has 0"),
        (np.ones(3), np.ones((3, 2)), r"\(samples, dim"),
    ],
)
def test_bad_arrays(metric: object, x: np.ndarray, y: np.ndarray, message: str) -> None:
    assert callable(metric)
    with pytest.raises(UsageError, match=message):
        metric(x, y)


@pytest.mark.parametrize("metric", [compute_fad, compute_kad])
def test_moments_need_two_clips(metric: object) -> None:
    assert callable(metric)
    with pytest.raises(UsageError, match="at least 2 clips a side; the evaluated set has 1"):
        metric(np.ones((3, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_epsilon(epsilon: float) -> None:
    for call in (
        lambda: compute_otad(np.eye(3), np.eye(3), epsilon=epsilon),
        lambda: OTAD("logmel", epsilon=epsilon),
    ):
        with pytest.raises(UsageError, match="epsilon must be a positive"):
            call()


class TestFolders:
    @pytest.mark.parametrize(("metric", "compute"), [(FAD, compute_fad), (KAD, compute_kad)])
    def test_score_is_the_distance_of_the_embeddings(
        self, folders: tuple[Path, Path], metric: type, compute: object
    ) -> None:
        assert callable(compute)
        measured = metric("logmel")
        x, y = (measured.embed(folder).vectors for folder in folders)
        assert measured.score(*folders) == compute(x, y)

    def test_otad(self, folders: tuple[Path, Path], tmp_path: Path) -> None:
        otad = OTAD(model="logmel", epsilon=5.0)
        diagnostics = otad.diagnose(*folders)
        assert diagnostics.score == otad.score(*folders)
        assert [file.parent for file in diagnostics.files] == [folders[1]] * 8
        ordered = otad.score_individual(*folders, csv=tmp_path / "per_file.csv")
        assert [r.cj for r in ordered] == sorted(diagnostics.cj)
        with (tmp_path / "per_file.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["file"] for row in rows] == [str(r.file) for r in ordered]

    def test_cache_embeddings_names_the_entries(self, folders: tuple[Path, Path]) -> None:
        paths = OTAD("logmel").cache_embeddings(str(folders[0]))
        assert len(paths) == 8
        assert all(path.is_file() for path in paths)

    def test_single_files(self, folders: tuple[Path, Path]) -> None:
        one = folders[0] / "000.wav"
        assert OTAD("logmel").score(one, one) == pytest.approx(0.0, abs=1e-6)
        with pytest.raises(UsageError, match="FAD needs at least 2 clips"):
            FAD("logmel").score(one, folders[1])

    def test_unknown_option(self) -> None:
        with pytest.raises(TypeError, match="no option 'colour'"):
            OTAD("logmel", colour="blue")  # type: ignore[call-arg]

    def test_not_converged_warns(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hasty = partial(sinkhorn_divergence, max_iterations=1)
        monkeypatch.setattr("otadtk.distances.transport.couplings.sinkhorn_divergence", hasty)
        rng = np.random.default_rng(0)
        compute_otad(rng.normal(size=(40, 4)), rng.normal(size=(40, 4)), epsilon=0.5)
        assert "Not converged" in caplog.text


def test_the_kept_reference_term_belongs_to_its_shape_type_and_settings(
    rng: np.random.Generator,
) -> None:
    """The same bytes in another shape or type are another reference."""
    x, y = rng.normal(size=(12, 4)), rng.normal(size=(12, 4))
    otad = OTAD("given", epsilon=5.0)
    otad.distance(x, y)
    others = [
        (x.reshape(24, 2), rng.normal(size=(20, 2))),
        (x.reshape(6, 8), rng.normal(size=(20, 8))),
    ]
    for ref, test in others:
        assert otad.distance(ref, test) == OTAD("given", epsilon=5.0).distance(ref, test)
    same = x.astype(np.float32)
    kept = {_content_key(points, otad.settings) for points in (x, same, x.reshape(24, 2))}
    kept |= {_content_key(x, OTAD("given", epsilon=4.0).settings)}
    kept |= {_content_key(same.view(np.int32), otad.settings)}
    assert len(kept) == 5
