"""The audit of a clip: what it measures while decoding, and what it flags."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.decode import AudioReader
from otadtk.audio.synthesis import synthesise

RATE = 16_000


@pytest.mark.parametrize(
    ("promised", "missing"), [(32_000, 0.5), (16_000, 0.0), (8_000, 0.0), (0xFFFFFFFF, 0.0)]
)
def test_promises_of_a_wav_header(tmp_path: Path, promised: int, missing: float) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, synthesise("bell", 0, 0.5), RATE, subtype="PCM_16")
    content = bytearray(path.read_bytes())
    start = content.index(b"data") + 4
    content[start : start + 4] = promised.to_bytes(4, "little")
    path.write_bytes(content)
    reader = AudioReader(path, RATE)
    assert sum(len(block) for block in reader) > 0
    assert reader.audit.missing == pytest.approx(missing)


def test_loudness_and_silent_fraction(tmp_path: Path) -> None:
    tone = 0.5 * np.sin(np.arange(16_000) * 0.1)
    clip = np.concatenate([tone, np.zeros(48_000)])
    soundfile.write(tmp_path / "a.wav", np.stack([clip, clip], axis=1), RATE, subtype="FLOAT")
    reader = AudioReader(tmp_path / "a.wav", RATE)
    list(reader)
    assert reader.audit.rms == pytest.approx(0.5 / np.sqrt(8), rel=1e-3)
    assert reader.audit.silent == pytest.approx(0.75, abs=0.001)
    assert reader.audit.flags(0.1) == ("mostly-silent",)


def read(path: Path, rate: int = 16_000) -> tuple[np.ndarray, ClipAudit]:
    reader = AudioReader(path, rate)
    return np.concatenate(list(reader)), reader.audit


class TestAudit:
    def test_flags(self, tmp_path: Path) -> None:
        loud = np.clip(5 * synthesise("engine", 0, 2.0), -1, 1)
        for name, clip, flags in [
            ("fine", synthesise("engine", 0, 2.0), ()),
            ("silent", np.zeros(32_000), ("silent",)),
            ("clipped", loud, ("clipped",)),
            ("short", synthesise("engine", 0, 0.5), ("short",)),
            ("both", np.zeros(8_000), ("silent", "short")),
        ]:
            soundfile.write(tmp_path / f"{name}.wav", clip, 16_000, subtype="PCM_16")
            _, audit = read(tmp_path / f"{name}.wav")
            assert audit.flags(minimum_seconds=0.975) == flags, name

    def test_a_single_full_scale_sample_is_not_clipping(self, tmp_path: Path) -> None:
        clip = synthesise("engine", 0, 1.0)
        clip[::1000] = 1.0
        soundfile.write(tmp_path / "a.wav", clip, 16_000, subtype="FLOAT")
        assert read(tmp_path / "a.wav")[1].flags(0.1) == ()
