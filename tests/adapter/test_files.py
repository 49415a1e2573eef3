"""Adapter files: found in order, applied only to the features they were trained on."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from otadtk import OTAD, adapter, load_adapter
from otadtk.adapter import KnownAdapter, find_adapter, known_variants
from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import read_adapter, read_card, save_adapter
from otadtk.adapter.network import RiemannianAdapter
from otadtk.cli.adapters import main as adapters
from otadtk.encoders import get_spec
from otadtk.errors import AdapterError, UsageError
from otadtk.weights import digest_of

LOGMEL = get_spec("logmel")


def trained(seed: int = 0, dim: int = 128) -> RiemannianAdapter:
    torch.manual_seed(seed)
    network = RiemannianAdapter(dim)
    torch.nn.init.normal_(network.f_theta[4].weight, std=0.1)
    return network.eval().requires_grad_(False)


def test_starts_as_the_identity_with_the_papers_parameter_count() -> None:
    for dim, parameters in ((128, 8_608), (512, 132_736), (768, 297_408), (2048, 2_103_808)):
        network = RiemannianAdapter(dim).eval()
        assert sum(p.numel() for p in network.parameters()) == parameters
        z = torch.randn(5, dim)
        assert torch.equal(network(z), z)


def test_round_trip(tmp_path: Path) -> None:
    network, z = trained(), torch.randn(4, 128)
    save_adapter(network, tmp_path / "a" / "x.safetensors", LOGMEL, "native")
    read = read_adapter(tmp_path / "a" / "x.safetensors", LOGMEL)
    assert read.card.variant == "native"
    assert torch.equal(read.network(z), network(z))
    assert not read.network.training
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
    save_file({"other": torch.zeros(3)}, tmp_path / "other", metadata={"encoder": "logmel"})
    with pytest.raises(AdapterError, match="has no card"):
        read_adapter(tmp_path / "other", LOGMEL)
    for text in ("no JSON", "{}", '{"format": "otadtk-adapter/1"}', "[]"):
        save_file({"other": torch.zeros(3)}, tmp_path / "other", metadata={"otadtk": text})
        with pytest.raises(AdapterError, match="card of the adapter cannot be read"):
            read_adapter(tmp_path / "other", LOGMEL)
    with pytest.raises(AdapterError, match="network 'other' is not known"):
        foreign = AdapterCard("logmel", LOGMEL.fingerprint, "agnostic", network="other")
        save_adapter(trained(), tmp_path / "other", LOGMEL, "agnostic", foreign)
        read_adapter(tmp_path / "other", LOGMEL)
    broken = trained()
    broken.f_theta[4].bias[0] = float("nan")
    save_adapter(broken, tmp_path / "nan", LOGMEL, "agnostic")
    with pytest.raises(AdapterError, match="not finite"):
        read_adapter(tmp_path / "nan", LOGMEL)
    save_adapter(trained(dim=64), tmp_path / "narrow", LOGMEL, "agnostic")
    with pytest.raises(AdapterError, match="does not hold an adapter for d = 128"):
        read_adapter(tmp_path / "narrow", LOGMEL)
    whole = (tmp_path / "narrow").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-10])
    with pytest.raises(AdapterError, match="not a safetensors adapter"):
        read_adapter(tmp_path / "cut", LOGMEL)


def test_the_card_is_kept_and_the_hash_follows_the_content(tmp_path: Path) -> None:
    card = AdapterCard(
        "?", "?", "?", training={"epochs": 3}, data="two tones", seed=7, validation={"1-nn": 0.5},
        licence="CC0-1.0",
    )  # fmt: skip
    paths = [tmp_path / f"{i}.safetensors" for i in range(3)]
    written = save_adapter(trained(), paths[0], LOGMEL, "agnostic", card)
    save_adapter(trained(), paths[1], LOGMEL, "agnostic", card)
    save_adapter(trained(seed=1), paths[2], LOGMEL, "agnostic", card)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    read, _ = read_card(paths[0])
    assert read == written
    assert (read.encoder, read.seed, read.licence) == ("logmel", 7, "CC0-1.0")
    assert read.training == {"epochs": 3}
    assert read_card(paths[2])[0].content != read.content


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_adapter(trained(), path, LOGMEL, "agnostic")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(AdapterError, match="content hash differs"):
        read_adapter(path, LOGMEL)


def known(path: Path, digest: str, *, default: bool = True) -> KnownAdapter:
    facts = {"encoder": "logmel", "variant": "agnostic", "licence": "CC0-1.0", "origin": "here"}
    return KnownAdapter(
        **facts, digest=digest, default=default, trained_on="logmel", file=str(path)
    )


def test_lookup_order(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--adapter-checkpoint, then $OTADTK_CHECKPOINTS, then the cache, then what is known."""
    assert find_adapter("logmel", "agnostic") is None
    monkeypatch.setenv("OTADTK_CHECKPOINTS", str(tmp_path / "own"))
    places = {
        "bundled": tmp_path / "bundled",
        "cached": cache / "adapters",
        "own": tmp_path / "own",
        "given": tmp_path / "given",
    }
    z = torch.randn(3, 128)
    for seed, (name, place) in enumerate(places.items()):
        path = place / "logmel" / "agnostic.safetensors"
        save_adapter(trained(seed), path, LOGMEL, "agnostic")
        if name == "bundled":
            entry = known(path, digest_of(path))
            monkeypatch.setattr(adapter, "known_adapter", lambda *_, entry=entry: entry)
        given = path if name == "given" else None
        found = OTAD("logmel", variant="agnostic", adapter_checkpoint=given).adapter
        assert found is not None
        assert torch.equal(found(z), trained(seed)(z)), name
    assert known_variants("logmel") == ["agnostic", "native", "artifact", "perceptual"]


def test_a_bundled_file_is_verified_against_the_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agnostic.safetensors"
    save_adapter(trained(), path, LOGMEL, "agnostic")
    entry = known(path, digest_of(path))
    save_adapter(trained(seed=1), path, LOGMEL, "agnostic")
    monkeypatch.setattr(adapter, "known_adapter", lambda *_: entry)
    with pytest.raises(AdapterError, match=r"missing or was changed.*expected sha256"):
        OTAD("logmel", variant="agnostic")
    path.unlink()
    with pytest.raises(AdapterError, match="missing or was changed"):
        OTAD("logmel", variant="agnostic")


def test_a_known_adapter_that_has_not_earned_it_is_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agnostic.safetensors"
    save_adapter(trained(), path, LOGMEL, "agnostic")
    entry = known(path, digest_of(path), default=False)
    monkeypatch.setattr(adapter, "known_adapter", lambda *_: entry)
    assert OTAD("logmel").variant == "raw"
    assert OTAD("logmel", variant="agnostic").adapter is not None


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
        with pytest.raises(AdapterError, match=f"There is no '{variant}' adapter for 'logmel'"):
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


@pytest.mark.parametrize(
    "change",
    [
        {"encoder": 3},
        {"licence": None},
        {"training": [1]},
        {"validation": {"auroc": "high"}},
        {"validation": 1},
        {"seed": "zero"},
        {"variant": ["native"]},
        {"variant": "../../elsewhere"},
        {"variant": "x\0"},
        {"fingerprint": "two\nlines"},
        {"licence": "\ud800"},
    ],
)
def test_odd_cards_are_refused(
    tmp_path: Path, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.safetensors"
    card = {**json.loads(AdapterCard("logmel", LOGMEL.fingerprint, "native").to_text()), **change}
    save_file(trained().state_dict(), path, {"otadtk": json.dumps(card)})
    with pytest.raises(AdapterError, match="the card of the adapter cannot be read"):
        read_card(path)
    assert adapters(["info", str(path)]) == 4
    assert adapters(["verify", str(path)]) != 0
    assert adapters(["import", str(path)]) == 4
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.bfloat16, torch.bool])
def test_odd_tensors_are_refused(tmp_path: Path, dtype: torch.dtype) -> None:
    path = tmp_path / "x.safetensors"
    tensors = {name: tensor.to(dtype) for name, tensor in trained().state_dict().items()}
    card = AdapterCard("logmel", LOGMEL.fingerprint, "native")
    save_file(tensors, path, {"otadtk": card.to_text()})
    with pytest.raises(AdapterError, match="holds tensors of torch"):
        read_adapter(path, LOGMEL)


def test_a_card_that_is_not_unicode_is_not_written(tmp_path: Path) -> None:
    card = AdapterCard("logmel", LOGMEL.fingerprint, "native", licence="\ud800")
    with pytest.raises(UsageError, match="not valid Unicode"):
        save_adapter(trained(), tmp_path / "x.safetensors", LOGMEL, "native", card)
    assert not list(tmp_path.iterdir())
