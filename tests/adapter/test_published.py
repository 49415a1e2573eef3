"""The published eighteen: fetched by hash, refused for the wrong network, equal where they belong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from otadtk import OTAD, weights
from otadtk.adapter import default_variant, known_variants
from otadtk.adapter.files import LoadedAdapter, adapter_for
from otadtk.adapter.manifest import known_adapters, published_files
from otadtk.adapter.published import COMPAT, convert
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.encoders import get_spec
from otadtk.errors import AdapterError, UsageError, WeightsError
from tests.references.cases import ADAPTER_CASES, adapter_case

Reference = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def reference(published_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """What the published package itself computes on this machine, with as many threads as we."""
    home = tmp_path_factory.mktemp("otadtk-0.1.2")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--ignore-requires-python"]
    wanted = ["--disable-pip-version-check", "--target", str(home), "otadtk==0.1.2"]
    if subprocess.run([*pip, *wanted], check=False).returncode:
        pytest.skip("otadtk 0.1.2 is out of reach")
    script = Path(__file__).parent.parent / "references" / "run_published.py"
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    run = [sys.executable, "-W", "ignore", str(script), str(home)]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    values: Reference = json.loads(done.stdout)
    return values


def load(name: str) -> LoadedAdapter:
    encoder, variant, _ = ADAPTER_CASES[name]
    spec = get_spec(encoder, COMPAT)
    loaded = adapter_for(spec, variant, compat=COMPAT, named=encoder)
    assert loaded is not None
    return loaded


def test_the_manifest_lists_eighteen_with_hashes() -> None:
    files = published_files()
    assert len(files) == len({file.digest for file in files}) == 18
    assert all(len(file.digest) == len("sha256:") + 64 for file in files)


@pytest.mark.parametrize("name", list(ADAPTER_CASES))
def test_equals_the_published_package(name: str, published: Path, reference: Reference) -> None:
    x, y = (torch.from_numpy(side) for side in adapter_case(name))
    network = load(name).network
    found = sinkhorn_divergence(network(x), network(y), epsilon=0.1, compat=COMPAT)
    bar = 1e-5 * sum(reference[name]["cj"])
    assert found.value == pytest.approx(reference[name]["score"], abs=bar)
    np.testing.assert_allclose(found.cj, reference[name]["cj"], atol=bar)


def test_the_card_says_where_it_comes_from(published: Path) -> None:
    card = load("panns-agnostic").card
    assert card.licence == "CC-BY-4.0"
    assert "17931e5f5a9ba1c4" in card.origin
    assert card.fingerprint == get_spec("panns").fingerprint


@pytest.mark.parametrize(("model", "real"), [("audiomae", "AST"), ("beats", "wav2vec2")])
def test_misnamed_ones_are_refused_for_the_real_networks(model: str, real: str) -> None:
    with pytest.raises(AdapterError, match=rf"{real}.*--compat otadtk-0\.1\.2"):
        OTAD(model, variant="agnostic")
    assert OTAD(model).variant == default_variant(model) == "raw"
    assert known_variants(model) == []


def test_misnamed_ones_work_under_compat_on_the_features_they_know(
    published: Path, reference: Reference
) -> None:
    otad = OTAD("audiomae", compat=COMPAT)
    assert (otad.spec.name, otad.variant) == ("ast", "agnostic")
    assert otad.card is not None and "audiomae" in otad.card.origin
    x, y = adapter_case("audiomae-agnostic")
    there = reference["audiomae-agnostic"]
    assert otad.distance(x, y) == pytest.approx(there["score"], abs=1e-5 * sum(there["cj"]))


def test_known_encoders_take_the_published_adapter_by_default(published: Path) -> None:
    otad = OTAD("panns")
    assert otad.variant == "agnostic"
    assert otad.card is not None and otad.card.encoder == "panns"
    assert OTAD("panns", variant="raw").adapter is None


def test_no_adapter_under_compat(published: Path) -> None:
    with pytest.raises(AdapterError, match=r"0\.1\.2 publishes none"):
        OTAD("yamnet", variant="agnostic", compat=COMPAT)
    assert OTAD("yamnet", compat=COMPAT).variant == "raw"
    with pytest.raises(UsageError, match="compat must be"):
        OTAD("panns", compat="kadtk-1.1")


def test_offline_says_what_to_put_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    with pytest.raises(WeightsError, match=r"otadtk-0\.1\.2-py3-none-any\.whl") as caught:
        OTAD("panns", variant="agnostic")
    assert "--variant raw" in str(caught.value)
    assert "--weights" not in str(caught.value)


def test_a_published_file_without_an_adapter_is_refused(tmp_path: Path) -> None:
    torch.save({"epoch": 3}, tmp_path / "x.pt")
    with pytest.raises(WeightsError, match="holds no adapter"):
        convert({"panns-agnostic.pt": tmp_path / "x.pt"})


def test_every_known_adapter_is_for_a_known_encoder() -> None:
    for known in known_adapters():
        assert get_spec(known.trained_on.removesuffix("+signal")).name
        assert bool(known.file) != bool(known.member)
    assert weights.BUNDLED.name == "bundled"
