"""Several encoders in one pass give what single passes give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

import otadtk.audio.decode
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.errors import AudioError
from tests.embedding import embed, embed_all

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
    decode = otadtk.audio.decode._decode

    def counting(path: Path, start: float) -> object:
        seen.append(path.name)
        return decode(path, start)

    monkeypatch.setattr(otadtk.audio.decode, "_decode", counting)
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
            embedded.files,
            embedded.audits,
            embedded.digests,
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


def test_a_clip_that_a_custom_encoder_refuses_is_named_and_left_out(
    tmp_path: Path, write_clips: Callable[..., list[Path]], models: list[str]
) -> None:
    """The others of its batch, and the other encoders, are not disturbed."""
    write_clips(tmp_path / "clips", 3)
    soundfile.write(tmp_path / "clips" / "long.wav", np.full(16_000 * 3, 0.1), 16_000)
    (tmp_path / "short.py").write_text(
        OWN.format(name="Short", rate=16_000).replace(
            "        return", "        assert wav.shape[1] < 40_000, 'too\\nlong'\n        return"
        )
    )
    names = [f"{tmp_path}/short.py:Short", *models]
    encoders = [LazyEncoder(get_spec(model), "cpu") for model in names]
    store = EmbeddingStore(tmp_path / "s")
    message = r"long\.wav: the encoder 'Short' raises AssertionError: too long"
    with pytest.raises(AudioError, match=message):
        embed_all(tmp_path / "clips", encoders, store, workers=1)
    for again in (store, EmbeddingStore(tmp_path / "t")):
        sets = embed_all(tmp_path / "clips", encoders, again, on_error="skip", workers=1)
        for embedded in sets:
            assert len(embedded.files) == 3
            assert [clip.path.name for clip in embedded.bad] == ["long.wav"]
