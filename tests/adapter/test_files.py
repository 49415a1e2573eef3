"""Adapter files: found in order, applied only to the features they were trained on."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from otadtk import OTAD, adapter, load_adapter
from otadtk.adapter import find_adapter, known_variants
from otadtk.adapter.files import read_adapter, save_adapter
from otadtk.adapter.network import RiemannianAdapter
from otadtk.encoders import get_spec
from otadtk.errors import AdapterError, UsageError

LOGMEL = get_spec("logmel")


def trained(seed: int = 0, dim: int = 128) -> RiemannianAdapter:
    torch.manual_seed(seed)
    network = RiemannianAdapter(dim)
    torch.nn.init.normal_(network.f_theta[4].weight, std=0.1)
    return network.eval()


def test_starts_as_the_identity_with_the_papers_parameter_count() -> None:
    for dim, parameters in ((128, 8_608), (512, 132_736), (768, 297_408), (2048, 2_103_808)):
        network = RiemannianAdapter(dim).eval()
        assert sum(p.numel() for p in network.parameters()) == parameters
        z = torch.randn(5, dim)
        assert torch.equal(network(z), z)


def test_round_trip(tmp_path: Path) -> None:
    network, z = trained(), torch.randn(4, 128)
    save_adapter(network, tmp_path / "a" / "x.safetensors", LOGMEL, "native")
    read, variant = read_adapter(tmp_path / "a" / "x.safetensors", LOGMEL)
    assert variant == "native"
    assert torch.equal(read(z), network(z))
    assert not read.training
    loaded = load_adapter("logmel", checkpoint_path=tmp_path / "a" / "x.safetensors")
    assert loaded is not None
    assert torch.equal(loaded(z), network(z))


def test_other_features_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_adapter(trained(), path, LOGMEL, "agnostic")
    with pytest.raises(
        AdapterError, match=r"trained on the features of 'logmel'.*not on these of 'yamnet'"
    ):
        read_adapter(path, get_spec("yamnet"))


def test_files_that_are_no_adapters(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="no adapter file"):
        read_adapter(tmp_path / "missing", LOGMEL)
    (tmp_path / "pickle").write_bytes(pickle.dumps({"f_theta": 1}))
    with pytest.raises(AdapterError, match="not a safetensors adapter"):
        read_adapter(tmp_path / "pickle", LOGMEL)
    metadata = {"encoder": "logmel", "fingerprint": LOGMEL.fingerprint, "variant": "agnostic"}
    save_file({"other": torch.zeros(3)}, tmp_path / "other", metadata=metadata)
    with pytest.raises(AdapterError, match="does not hold an adapter for d = 128"):
        read_adapter(tmp_path / "other", LOGMEL)
    save_adapter(trained(dim=64), tmp_path / "narrow", LOGMEL, "agnostic")
    with pytest.raises(AdapterError, match="does not hold an adapter for d = 128"):
        read_adapter(tmp_path / "narrow", LOGMEL)
    whole = (tmp_path / "narrow").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-10])
    with pytest.raises(AdapterError, match="not a safetensors adapter"):
        read_adapter(tmp_path / "cut", LOGMEL)


def test_lookup_order(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_adapter("logmel", "agnostic") is None
    bundled, cached, own = tmp_path / "bundled", cache / "adapters", tmp_path / "own"
    monkeypatch.setattr(adapter, "BUNDLED", bundled)
    monkeypatch.setenv("OTADTK_CHECKPOINTS", str(own))
    for place in (bundled, cached, own):
        path = place / "logmel" / "agnostic.safetensors"
        save_adapter(trained(), path, LOGMEL, "agnostic")
        assert find_adapter("logmel", "agnostic") == path
    assert known_variants("logmel") == ["agnostic"]


class TestVariantOfOTAD:
    def test_raw_without_an_adapter(self) -> None:
        assert OTAD("logmel").variant == "raw"

    def test_agnostic_when_known(self, cache: Path) -> None:
        path = cache / "adapters" / "logmel" / "agnostic.safetensors"
        save_adapter(trained(), path, LOGMEL, "agnostic")
        assert OTAD("logmel").variant == "agnostic"
        assert OTAD("logmel", variant="raw").adapter is None

    @pytest.mark.parametrize("variant", ["agnostic", "native"])
    def test_explicit_variant_without_an_adapter(self, variant: str) -> None:
        with pytest.raises(AdapterError, match=f"No '{variant}' adapter for 'logmel' is known"):
            OTAD("logmel", variant=variant)

    def test_checkpoint(self, tmp_path: Path) -> None:
        path = tmp_path / "x.safetensors"
        save_adapter(trained(), path, LOGMEL, "native")
        assert OTAD("logmel", adapter_checkpoint=path).variant == "native"
        with pytest.raises(UsageError, match="raw variant uses no adapter"):
            OTAD("logmel", adapter_checkpoint=path, variant="raw")

    def test_unknown_variant(self) -> None:
        with pytest.raises(UsageError, match="Unknown variant 'best'"):
            OTAD("logmel", variant="best")
