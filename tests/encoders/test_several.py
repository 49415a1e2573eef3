"""Several encoders in one pass, the weight check, and the documentation of the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import otadtk.audio
from otadtk.cli import embeds, list_models
from otadtk.embed import LazyEncoder, embed, embed_all
from otadtk.encoders import get_spec
from otadtk.encoders.table import BUILT_IN
from otadtk.store import EmbeddingStore

DOCUMENT = Path(__file__).parents[2] / "docs" / "encoders.md"

OWN = """
import numpy as np

class {name}:
    name, target_sr, embedding_dim = "{name}", {rate}, 1

    def encode(self, wav, sr):
        return np.array([float(wav.abs().mean())])
"""


@pytest.fixture
def models(tmp_path: Path) -> list[str]:
    """Three encoders, two of which share a rate."""
    found = ["logmel"]
    for name, rate in (("Same", 16_000), ("Other", 8_000)):
        (tmp_path / f"{name}.py").write_text(OWN.format(name=name, rate=rate))
        found.append(f"{tmp_path / name}.py:{name}")
    return found


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files as they are decoded."""
    seen: list[str] = []
    decode = otadtk.audio._decode

    def counting(path: Path) -> object:
        seen.append(path.name)
        return decode(path)

    monkeypatch.setattr(otadtk.audio, "_decode", counting)
    return seen


def test_one_pass_gives_what_single_runs_give(
    tmp_path: Path, write_clips: Callable[..., list[Path]], models: list[str], decoded: list[str]
) -> None:
    write_clips(tmp_path / "clips", 5)
    encoders = [LazyEncoder(get_spec(model), "cpu") for model in models]
    together = embed_all(tmp_path / "clips", encoders, EmbeddingStore(tmp_path / "a"), workers=2)
    assert len(decoded) == 2 * 5  # once for each of the two rates
    for encoder, embedded in zip(encoders, together, strict=True):
        alone = embed(tmp_path / "clips", encoder, EmbeddingStore(tmp_path / "b"))
        assert np.array_equal(alone.vectors, embedded.vectors)
        assert (alone.files, alone.audits, alone.digests) == (
            *(embedded.files, embedded.audits, embedded.digests),
        )
        assert embedded.encoded == 5


def test_what_the_store_has_is_not_encoded_again(
    tmp_path: Path, write_clips: Callable[..., list[Path]], models: list[str], decoded: list[str]
) -> None:
    write_clips(tmp_path / "clips", 3)
    store = EmbeddingStore(tmp_path / "s")
    encoders = [LazyEncoder(get_spec(model), "cpu") for model in models]
    embed(tmp_path / "clips", encoders[0], store)
    decoded.clear()
    sets = embed_all(tmp_path / "clips", encoders[:2], store)
    assert [s.encoded for s in sets] == [0, 3]
    assert len(decoded) == 3


def test_a_bad_file_is_left_out_of_all(
    tmp_path: Path, write_clips: Callable[..., list[Path]], models: list[str], decoded: list[str]
) -> None:
    write_clips(tmp_path / "clips", 2)
    (tmp_path / "clips" / "bad.wav").write_bytes(b"no sound")
    encoders = [LazyEncoder(get_spec(model), "cpu") for model in models]
    sets = embed_all(
        tmp_path / "clips", encoders, EmbeddingStore(tmp_path / "s"), on_error="skip", workers=1
    )
    for embedded in sets:
        assert len(embedded.files) == 2
        assert [clip.path.name for clip in embedded.bad] == ["bad.wav"]
    assert decoded.count("bad.wav") == 1  # bad at one rate is bad at all


def test_command_with_several_models(
    tmp_path: Path,
    write_clips: Callable[..., list[Path]],
    models: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_clips(tmp_path / "clips", 2)
    options = ["-d", str(tmp_path / "clips"), "--cache-dir", str(tmp_path / "s"), "-q"]
    assert embeds.main(["-m", *models, *models, *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["logmel", "Same", "Other"]
    assert all("2 clips, 2 embedded now" in line for line in lines)
    own = ["--weights", str(tmp_path / "Same.py")]
    assert embeds.main(["-m", *models, *options, *own]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_all_means_every_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def note(place: Path, encoders: list[LazyEncoder], *_: object, **__: object) -> list[object]:
        seen.append([encoder.spec.name for encoder in encoders])
        raise otadtk.errors.AudioError("enough")

    monkeypatch.setattr("otadtk.embed.fill_store", note)
    assert embeds.main(["-m", "all", "-d", str(tmp_path)]) == 3
    assert seen == [sorted(BUILT_IN)]


class TestCheck:
    def test_sound_and_absent(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert list_models.main(["--check"]) == 0
        lines = capsys.readouterr().out.splitlines()
        (yamnet,) = [line for line in lines if line.startswith("yamnet:")]
        assert str(cache) in yamnet
        assert yamnet.endswith(": sound")
        assert "ast: not here yet" in lines

    def test_damaged_conversion(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (file,) = (cache / "weights").glob("yamnet*")
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.unlink()
        file.write_bytes(content)
        assert list_models.main(["--check"]) == 4
        output = capsys.readouterr()
        assert "is damaged" in output.out
        assert "1 weight file(s)" in output.err

    def test_published_file_with_another_hash(
        self,
        cache: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
        (tmp_path / "panns").mkdir()
        (tmp_path / "panns" / "Cnn14_mAP=0.431.pth").write_bytes(b"other")
        assert list_models.main(["--check"]) == 4
        assert "is not the published file: expected sha256:0dc499e4" in capsys.readouterr().out


@pytest.mark.parametrize("spec", BUILT_IN.values(), ids=list(BUILT_IN))
def test_documentation_has_the_facts(spec: otadtk.encoders.EncoderSpec) -> None:
    use = "yes" if spec.commercial_use else "no"
    row = (
        f"| `{spec.name}` | {spec.dim} | {spec.sample_rate} | {spec.licence} | {use} "
        f"| {spec.training_data} | {spec.paper} |"
    )
    text = DOCUMENT.read_text(encoding="utf-8")
    assert row in text.splitlines()
    at_least = spec.minimum_samples / spec.sample_rate
    shown = f"{1000 * at_least:g} ms" if at_least < 0.1 else f"{at_least:g} s"
    assert f"| `{spec.name}` | {shown} |" in text
