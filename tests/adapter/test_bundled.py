"""The adapters that otadtk bundles: listed, verified, and of use to the encoder they belong to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk import OTAD
from otadtk.adapter.files import load_known, read_card
from otadtk.adapter.manifest import BUNDLED, KnownAdapter, known_adapters
from otadtk.encoders import get_spec
from otadtk.weights import digest_of

OURS = [known for known in known_adapters() if known.file]


def test_every_file_is_listed() -> None:
    files = {str(path.relative_to(BUNDLED)) for path in BUNDLED.rglob("*.safetensors")}
    assert files == {known.file for known in OURS}
    assert {(known.encoder, known.variant) for known in OURS} == {
        ("yamnet", "agnostic"), ("yamnet", "native"), ("yamnet", "artifact"),
        ("yamnet", "perceptual"),
    }  # fmt: skip


@pytest.mark.parametrize("known", OURS, ids=lambda known: known.file)
def test_each_is_what_the_manifest_says(known: KnownAdapter) -> None:
    assert digest_of(known.path) == known.digest
    assert known.path.stat().st_size < 3_000_000
    card, _ = read_card(known.path)
    assert card.variant == known.variant
    assert card.seed is not None
    assert card.training and card.validation and card.data != "unknown"
    loaded = load_known(known, get_spec(known.encoder))
    z = torch.rand(4, loaded.spec.dim)
    assert torch.isfinite(loaded.network(z)).all()
    page = (
        Path(__file__).parents[2]
        / "docs/reference/adapters"
        / f"{known.encoder}-{known.variant}.md"
    )
    assert known.digest.removeprefix("sha256:") in page.read_text()


def test_artifact_finds_degraded_clips(folders: tuple[Path, Path]) -> None:
    otad = OTAD("yamnet", variant="artifact", device="cpu")
    assert otad.spec.name == "yamnet+signal"
    diagnostics = otad.diagnose(*folders)
    assert np.isfinite(diagnostics.cj).all()
    assert diagnostics.volume is not None
