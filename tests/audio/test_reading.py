"""What is heard of a clip: its seconds, loudness and channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk import OTAD
from otadtk.audio.decode import AudioReader
from otadtk.audio.heard import chosen_reading, integrated_loudness
from otadtk.audio.reading import Reading
from otadtk.errors import UsageError

RATE = 16_000


def heard(path: Path, reading: Reading) -> tuple[np.ndarray, AudioReader]:
    reader = AudioReader(path, RATE, reading)
    return np.concatenate(list(reader)), reader


@pytest.fixture
def stereo(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, np.ndarray]:
    """One second of two different channels, the second ten times softer."""
    samples = rng.uniform(-0.5, 0.5, (RATE, 2)).astype(np.float32) * [1.0, 0.1]
    soundfile.write(tmp_path / "a.wav", samples, RATE, subtype="FLOAT")
    return tmp_path / "a.wav", samples.astype(np.float32)


@pytest.mark.parametrize("channels", ["mix", "left", "right"])
def test_seconds_and_channels(stereo: tuple[Path, np.ndarray], channels: str) -> None:
    path, samples = stereo
    mono = {"mix": samples.mean(axis=1), "left": samples[:, 0], "right": samples[:, 1]}[channels]
    twice = np.concatenate([mono, mono, mono])
    for duration, crop, wanted in (
        (0.25, "start", mono[: RATE // 4]),
        (0.5, "centre", mono[RATE // 4 : 3 * RATE // 4]),
        (2.0, "start", mono),
        (2.0, "centre", mono),
        (0.5, "pad", mono[: RATE // 2]),
        (1.5, "pad", np.pad(mono, (0, RATE // 2))),
        (2.5, "loop", twice[: 5 * RATE // 2]),
    ):
        found, reader = heard(path, chosen_reading(duration, crop, None, channels))
        np.testing.assert_allclose(found, wanted, atol=1e-7)
        assert reader.audit.seconds == pytest.approx(len(wanted) / RATE)


def test_loudness_is_that_of_the_standard(tmp_path: Path) -> None:
    """A full-scale sine of 997 Hz in one channel has −3.01 LUFS (BS.1770); others by their gain."""
    sine = np.sin(2 * np.pi * 997 * np.arange(4 * 48_000) / 48_000).astype(np.float32)
    assert integrated_loudness(sine, 48_000) == pytest.approx(-3.01, abs=0.1)
    assert integrated_loudness(0.1 * sine, 48_000) == pytest.approx(-23.01, abs=0.1)
    assert integrated_loudness(sine[:4800], 48_000) == pytest.approx(-3.01, abs=0.3), "0.1 s"
    for gain in (0.5, 0.01):
        soundfile.write(tmp_path / "s.wav", gain * sine, 48_000, subtype="FLOAT")
        found, reader = heard(tmp_path / "s.wav", chosen_reading(normalise=-23))
        assert integrated_loudness(found, RATE) == pytest.approx(-23.0, abs=0.1)
        assert reader.audit.rms == pytest.approx(0.1 / np.sqrt(2), rel=0.01)
        assert reader.audit.peak == pytest.approx(0.1, rel=0.01)
        found, reader = heard(tmp_path / "s.wav", chosen_reading(normalise="peak"))
        assert np.abs(found).max() == pytest.approx(1.0, abs=0.01)


def test_silence_stays_silent(tmp_path: Path) -> None:
    for level in (0.0, 5e-5, 2e-4):  # the last one is not silent, but below the gate of BS.1770
        soundfile.write(tmp_path / "s.wav", np.full(RATE, level), RATE, subtype="FLOAT")
        found, _ = heard(tmp_path / "s.wav", chosen_reading(normalise=-23))
        assert found == pytest.approx(level)


def test_every_channel_is_a_clip(stereo: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    _, samples = stereo
    soundfile.write(tmp_path / "b.wav", samples[:, 0], RATE, subtype="FLOAT")
    metric = OTAD("logmel", variant="raw", channels="each", cache_dir=tmp_path / "store")
    found = metric.embed(tmp_path)
    names = ["a#channel=left.wav", "a#channel=right.wav", "b.wav"]
    assert [file.name for file in found.files] == names
    assert np.array_equal(found.vectors[0], found.vectors[2]), "the same samples"
    assert len(set(found.digests)) == 3
    assert [audit.channels for audit in found.audits if audit is not None] == [1, 1, 1]
    assert found.audits[1] is not None and found.audits[1].peak < 0.06


def test_choices_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    """Defaults leave it as it is; every choice changes it, and adapters stay usable."""
    plain = OTAD("yamnet").spec
    assert OTAD("yamnet", channels="mix", normalise=None).spec == plain
    choices = [
        {"duration": 5.0},
        {"duration": 5.0, "crop": "pad"},
        {"duration": 4.0},
        {"normalise": -23},
        {"normalise": "peak"},
        {"channels": "left"},
        {"channels": "each"},
    ]
    specs = [OTAD("yamnet", **choice).spec for choice in choices]  # type: ignore[arg-type]
    assert len({plain.fingerprint, *(spec.fingerprint for spec in specs)}) == len(choices) + 1
    assert specs[3].preprocessing.endswith(
        "; read: mean of the channels, loudness -23 LUFS, soxr HQ"
    )
    for choice, words in (
        ({"crop": "pad"}, "duration how many"),
        ({"duration": 0.0}, "duration must be seconds above 0"),
        ({"normalise": "loud"}, "'peak', not 'loud'"),
        ({"normalise": 3.0}, "between -70 and 0 LUFS"),
        ({"channels": "both"}, "mix, left, right, each"),
        ({"duration": 1.0, "crop": "end"}, "start, centre, pad, loop"),
    ):
        with pytest.raises(UsageError, match=words):
            OTAD("yamnet", **choice)  # type: ignore[arg-type]
