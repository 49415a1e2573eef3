"""Pictures of sounds: levels, loudness, silence; and the encoded sound."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.inputs import Clip
from otadtk.report.clips import sound
from otadtk.report.clips.sound import BANDS, COLUMNS, Sound, encode_vorbis, read_sound, sketch


def sine(hertz: float, amplitude: float = 1.0, rate: int = 48_000, seconds: float = 2.0) -> Sound:
    time = np.arange(int(rate * seconds)) / rate
    return Sound((amplitude * np.sin(2 * np.pi * hertz * time)).astype(np.float32), rate, True)


def test_a_sine_of_full_scale_has_its_k_weighted_level() -> None:
    # BS.1770: a full-scale sine of 997 Hz in one channel reads -3.01 after the offset of -0.691
    assert sketch(sine(997)).loudness == pytest.approx(-3.01 + 0.691, abs=0.05)
    quieter = sketch(sine(997, 0.1)).loudness
    assert quieter == pytest.approx(-23.01 + 0.691, abs=0.05)


def test_low_tones_sound_softer_and_lie_in_lower_bands() -> None:
    low, high = sketch(sine(60)), sketch(sine(4000))
    assert low.loudness is not None
    assert high.loudness is not None
    assert low.loudness < high.loudness - 3
    bands = [int(np.argmax(s.mel.astype(int).sum(axis=1))) for s in (low, high)]
    assert bands[0] < bands[1]


def test_silence_is_seen_where_it_is() -> None:
    samples = sine(1000).samples.copy()
    samples[: len(samples) // 2] = 0
    drawn = sketch(Sound(samples, 48_000, True))
    assert drawn.silent[: COLUMNS // 2].all()
    assert not drawn.silent[COLUMNS // 2 :].any()
    assert drawn.mel[:, : COLUMNS // 2 - 6].max() == 0
    assert sketch(Sound(np.zeros(1000, dtype=np.float32), 8000, True)).loudness is None


@pytest.mark.parametrize("length", [1, 2, 3, 159, 161, 2047, 2049])
def test_clips_of_any_length_have_a_picture(length: int) -> None:
    drawn = sketch(Sound(np.full(length, 0.5, dtype=np.float32), 16_000, True))
    assert drawn.wave.shape == (2, COLUMNS)
    assert drawn.mel.shape == (BANDS, COLUMNS)


def test_long_clips_are_read_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sound, "LONGEST_SECONDS", 1.0)
    soundfile.write(tmp_path / "long.wav", sine(440, rate=8000, seconds=3.0).samples, 8000)
    read = read_sound(Clip.of_file(tmp_path / "long.wav"), 8000)
    assert len(read.samples) == 8000
    assert not read.whole


def test_embedded_sound_is_the_sound() -> None:
    given = sine(440, 0.5, rate=22_050)
    decoded, rate = soundfile.read(io.BytesIO(encode_vorbis(given)), dtype="float32")
    assert rate == 22_050
    assert len(decoded) == len(given.samples)
    error = decoded - given.samples
    assert np.square(error).mean() < 1e-3 * np.square(given.samples).mean()
