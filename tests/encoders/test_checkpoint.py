"""A checkpoint is taken whole or refused by name; reading one runs no code."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from otadtk import weights
from otadtk.encoders import EncoderSpec, get_spec, load_encoder
from otadtk.encoders.checkpoints import matching
from otadtk.encoders.checkpoints.matching import arrange, load_network, read_checkpoint
from otadtk.errors import WeightsError
from otadtk.weights import Url, WeightFile, digest_of
from tests.encoders.references.cases import CASES
from tests.encoders.seeded_checkpoints import BEATS_CONFIGURATION, CPU, REFERENCES


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.both = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)


def published() -> dict[str, Any]:
    """Small's tensors as somebody else would name them, the linear layer in two halves."""
    return {
        "a.weight": torch.ones(2, 3),
        "b.weight": torch.full((2, 3), 2.0),
        "a.bias": torch.ones(2),
        "b.bias": torch.zeros(2),
        **{
            f"norm.{key}": torch.ones(4)
            for key in ("weight", "bias", "running_mean", "running_var")
        },
        "head.weight": torch.ones(7),
    }


def names(ours: str) -> str | list[str]:
    kind = ours.removeprefix("both.")
    return ours if kind == ours else [f"a.{kind}", f"b.{kind}"]


def spec_at(path: Path) -> EncoderSpec:
    file = WeightFile(path.name, get_spec("vggish").weights[0].source, digest_of(path))
    return dataclasses.replace(get_spec("vggish"), name="small", weights=(file,))


def load(path: Path) -> Small:
    return load_network(spec_at(path), path, Small, names=names, left_out=[r"head\..*"], inside="m")


@pytest.mark.usefixtures("empty_cache")
class TestLoadNetwork:
    def test_halves_are_stacked_and_the_conversion_is_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "small.pt"
        torch.save({"m": published(), "epoch": 3}, path)
        network = load(path)
        assert network.both.weight.tolist() == [[1.0] * 3] * 2 + [[2.0] * 3] * 2
        assert not network.training
        spec = spec_at(path)
        path.unlink()
        again = load_network(spec, None, Small)  # from the cache, no published file needed
        assert torch.equal(again.both.weight, network.both.weight)

    def test_conversion_of_another_version_is_made_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "small.pt"
        torch.save(published(), path)
        spec = spec_at(path)
        monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
        weights.load_converted(
            spec.name, spec.weights, lambda files: ({"old.name": torch.ones(1)}, {})
        )
        network = load_network(spec, None, Small, names=names, left_out=[r"head\..*"])
        assert network.both.bias.tolist() == [1.0, 1.0, 0.0, 0.0]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"b.weight": None}, r"missing: b\.weight"),
            ({"norm.bias": None, "a.bias": None}, r"missing: a\.bias, norm\.bias"),
            (
                {"a.weight": torch.ones(3, 2)},
                r"of another shape: a\.weight is \(3, 2\), not \(2, 3\)",
            ),
            ({"c.weight": torch.ones(1)}, r"unknown: c\.weight"),
            ({"a.bias": "text"}, r"missing: a\.bias"),
            (
                {"a.bias": None, "norm.weight": torch.ones(5), "x": torch.ones(1)},
                r"missing: a\.bias; of another shape: norm\.weight is \(5,\), not \(4,\); unknown: x",
            ),
        ],
    )
    def test_faults_are_named(
        self, tmp_path: Path, empty_cache: Path, change: dict[str, Any], message: str
    ) -> None:
        table = {
            key: value for key, value in {**published(), **change}.items() if value is not None
        }
        path = tmp_path / "small.pt"
        torch.save({"m": table}, path)
        with pytest.raises(WeightsError, match=f"not the checkpoint of 'small'; tensors {message}"):
            load(path)
        assert not list(empty_cache.rglob("*.safetensors"))  # nothing is kept of a refused file

    def test_many_faults_are_counted(self) -> None:
        with pytest.raises(WeightsError, match="and 12 more"):
            arrange("small", {**published(), **{f"x{i}": 0 for i in range(19)}}, Small(), names)

    def test_no_table_inside(self, tmp_path: Path) -> None:
        path = tmp_path / "small.pt"
        torch.save(published(), path)
        with pytest.raises(WeightsError, match="has no table 'm'"):
            load(path)


@pytest.mark.parametrize("algorithm", ["md5", "git-blob-sha1", "revision", "sha256"])
@pytest.mark.usefixtures("empty_cache")
def test_first_download_shows_the_hash_of_what_arrived(
    tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "published").mkdir()
    path = tmp_path / "published" / "small.pt"
    torch.save(published(), path)
    digest = "revision:abc" if algorithm == "revision" else digest_of(path, algorithm)
    file = WeightFile(path.name, Url(path.as_uri()), digest)
    spec = dataclasses.replace(spec_at(path), weights=(file,))
    load_network(spec, None, Small, names=names, left_out=[r"head\..*"])
    shown = f"fetched small.pt for 'small': {digest_of(path)}, pinned by {digest}"
    assert shown in capsys.readouterr().err
    load_network(spec, None, Small)
    assert "fetched" not in capsys.readouterr().err  # the conversion is here now


def test_without_a_published_hash_the_first_file_counts(
    tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files under one fingerprint would mix their embeddings in the cache."""
    path, other = tmp_path / "small.pt", tmp_path / "other" / "small.pt"
    other.parent.mkdir()
    torch.save(published(), path)
    torch.save({**published(), "a.bias": torch.zeros(2)}, other)
    file = dataclasses.replace(spec_at(path).weights[0], digest="revision:abc")
    spec = dataclasses.replace(spec_at(path), weights=(file,))

    def load(own: Path) -> Small:
        return load_network(spec, own, Small, names=names, left_out=[r"head\..*"])

    assert load(path).both.bias.tolist() == load(path).both.bias.tolist() == [1.0, 1.0, 0.0, 0.0]
    with pytest.raises(WeightsError, match="is not the file that 'small' was used with before"):
        load(other)
    monkeypatch.setenv("OTADTK_WEIGHTS", str(other.parent))
    (said, sound), (_, converted_is_sound) = weights.check_present(spec.name, spec.weights)
    assert "was used with before" in said
    assert not sound
    assert converted_is_sound
    monkeypatch.setenv("OTADTK_WEIGHTS", str(path.parent))
    assert weights.check_present(spec.name, spec.weights)[0] == (
        f"{path}: no hash is published to check it against",
        True,
    )
    next(empty_cache.rglob("*.safetensors")).unlink()
    assert load(other).both.bias.tolist() == [0.0] * 4


class TestReadCheckpoint:
    def test_code_is_refused_and_not_run(self, tmp_path: Path) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (tmp_path / "exploded",)

        torch.save({"weight": torch.ones(1), "bomb": Bomb()}, tmp_path / "bomb.pt")
        with pytest.raises(WeightsError, match=r"bomb\.pt is refused.*could run code"):
            read_checkpoint(tmp_path / "bomb.pt")
        assert not (tmp_path / "exploded").exists()

    @pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
    @pytest.mark.parametrize("keep", [0, 10, 0.5, 0.98])
    def test_truncated(self, tmp_path: Path, suffix: str, keep: float) -> None:
        from safetensors.torch import save_file

        path = tmp_path / f"small{suffix}"
        save = torch.save if suffix == ".pt" else save_file
        save({"weight": torch.arange(1000.0)}, path)
        content = path.read_bytes()
        path.write_bytes(content[: int(keep if keep >= 1 else keep * len(content))])
        with pytest.raises(
            WeightsError, match=r"small\.\w+ is (not a readable checkpoint|refused)"
        ):
            read_checkpoint(path)

    def test_not_a_table(self, tmp_path: Path) -> None:
        torch.save(torch.ones(2), tmp_path / "tensor.pt")
        with pytest.raises(WeightsError, match="holds no table of tensors but a Tensor"):
            read_checkpoint(tmp_path / "tensor.pt")


class ConvertedError(Exception):
    """Raised instead of loading what was converted."""


def convert_official(
    name: str, change: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, torch.Tensor]:
    """What an encoder makes of its official checkpoint with some tensors changed; no memory used."""
    with np.load(REFERENCES / f"{name}.npz") as fixture:
        shapes = json.loads(str(fixture["shapes"]))
    table = {key: torch.empty(shape, device="meta") for key, shape in shapes.items()}
    table = {key: value for key, value in {**table, **change}.items() if value is not None}
    content = table
    if name in NESTED:
        content = {NESTED[name]: table, "cfg": BEATS_CONFIGURATION}
    # beats first: it takes the real function over when it is imported, which may be now
    monkeypatch.setattr(
        "otadtk.encoders.networks.beats.network.read_checkpoint", lambda path: content
    )
    monkeypatch.setattr(matching, "read_checkpoint", lambda path: content)

    def stop(model: str, files: Any, convert: weights.Converter, user_copy: Path | None) -> Any:
        raise ConvertedError(convert({"file": Path("file")})[0])

    monkeypatch.setattr(weights, "load_converted", stop)
    monkeypatch.setattr("otadtk.encoders.networks.beats.network.load_converted", stop)
    with pytest.raises(ConvertedError) as found:
        load_encoder(get_spec(name), CPU)
    tensors: dict[str, torch.Tensor] = found.value.args[0]
    return tensors


NESTED = {
    "panns": "model",
    "panns_16k": "model",
    "panns_wglm": "model",
    "beats": "model",
    "whisper": "model_state_dict",
    "cdpam": "state",
    "cdpam_content": "state",
    "clap_fused": "state_dict",
}
"""The keys under which published files keep their tensors."""


@pytest.mark.parametrize("name", [name for name in CASES if name != "musicnn"])
class TestOfficialCheckpoints:
    def test_complete(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        assert convert_official(name, {}, monkeypatch)

    def test_missing_misshaped_and_unknown(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with np.load(REFERENCES / f"{name}.npz") as fixture:
            shapes: dict[str, list[int]] = json.loads(str(fixture["shapes"]))
        not_needed = ("classifier.", "lm_head.", "text_", "decoder.", "quantizer.", "model_")
        biases = [k for k in shapes if k.endswith(".bias") and not k.startswith(not_needed)]
        first, second = biases[:2]
        change = {first: None, second: torch.empty(5, 5), "surprise.weight": torch.empty(1)}
        with pytest.raises(WeightsError) as error:
            convert_official(name, change, monkeypatch)
        message = str(error.value)
        assert f"missing: {first}" in message
        assert f"of another shape: {second} is (5, 5)" in message
        assert "unknown: surprise.weight" in message


def test_another_beats_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BEATS_CONFIGURATION, "deep_norm", False)
    with pytest.raises(WeightsError, match="another BEATs: deep_norm is False, not True"):
        convert_official("beats", {}, monkeypatch)
