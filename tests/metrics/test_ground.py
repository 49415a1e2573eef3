"""One ground metric for every metric: FAD and KAD in an adapted space, and adapted vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk import FAD, KAD, OTAD, RiemannianAdapter, UsageError, compute_fad, compute_kad
from otadtk.cli.embeds import main as embeds
from otadtk.cli.score import main
from otadtk.embed.formats.table import read_embeddings
from otadtk.encoders import get_spec
from otadtk.errors import AudioError
from otadtk.metrics.ground import load_ground_metric


def test_fad_and_kad_in_an_adapted_space(rng: np.random.Generator) -> None:
    torch.manual_seed(0)
    adapter = RiemannianAdapter(128).eval()
    torch.nn.init.normal_(adapter.f_theta[-1].weight, std=0.05)
    x, y = (rng.normal(size=(n, 128)).astype(np.float32) for n in (30, 40))
    with torch.inference_mode():
        moved = [adapter(torch.from_numpy(side)).numpy() for side in (x, y)]
    fad, kad = (metric("logmel", adapter=adapter) for metric in (FAD, KAD))
    assert fad.variant == "custom"
    assert fad.distance(x, y) == pytest.approx(compute_fad(*moved), rel=1e-5)
    assert kad.distance(x, y) == pytest.approx(compute_kad(*moved), rel=1e-4)
    assert fad.distance(x, y) != pytest.approx(compute_fad(x, y), rel=1e-3)
    pool, first, second = np.concatenate([x, y]), np.arange(30), np.arange(30, 70)
    for metric in (fad, kad):
        expected = metric.distance(x, y)
        assert metric.between(pool)(first, second) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("metric", ["--fad", "--kad"])
@pytest.mark.parametrize("variant", ["agnostic", "artifact"])
def test_the_command_takes_a_variant(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], metric: str, variant: str
) -> None:
    assert main(["yamnet", *map(str, folders), metric, "--variant", variant]) == 0
    adapted = capsys.readouterr().out
    cls = {"--fad": FAD, "--kad": KAD}[metric]
    assert adapted == f"{cls.name}: {cls('yamnet', variant=variant).score(*folders):.6f}\n"
    assert main(["yamnet", *map(str, folders), metric]) == 0
    assert capsys.readouterr().out != adapted


def test_all_metrics_share_the_space() -> None:
    metrics = [cls("yamnet", variant="artifact") for cls in (OTAD, FAD, KAD)]
    assert {metric.spec.name for metric in metrics} == {"yamnet+signal"}
    assert {metric.model_name for metric in metrics} == {"yamnet"}
    assert len({metric.card.content for metric in metrics if metric.card}) == 1
    assert FAD("yamnet").variant == "raw"


def test_frames_have_no_adapter() -> None:
    with pytest.raises(UsageError, match="Adapters take clip vectors, not frames"):
        FAD("yamnet", variant="agnostic", frames="own")


class TestExport:
    def test_adapted_vectors(self, folders: tuple[Path, Path], tmp_path: Path) -> None:
        raw, adapted = tmp_path / "raw.otadpack", tmp_path / "adapted.otadpack"
        command = ["-m", "yamnet", "-d", str(folders[0]), "--export"]
        assert embeds([*command, str(raw)]) == 0
        assert embeds([*command, str(adapted), "--variant", "agnostic"]) == 0
        ground = load_ground_metric(get_spec("yamnet"), "agnostic")
        vectors = read_embeddings(raw, get_spec("yamnet"), None).vectors
        found = read_embeddings(adapted, get_spec("given"), None).vectors
        np.testing.assert_allclose(found, ground.adapt([vectors], "cpu")[0].numpy(), rtol=1e-5)
        with pytest.raises((UsageError, AudioError), match="yamnet"):
            read_embeddings(adapted, get_spec("yamnet"), None)

    def test_only_with_export(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        command = ["-m", "yamnet", "-d", str(folders[0]), "--variant", "agnostic"]
        assert embeds(command) == 2
        assert "--variant belongs to --export" in capsys.readouterr().err
