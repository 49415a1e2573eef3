"""Files of all formats as mono blocks at one rate, or the reason why not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.decode import AudioReader
from otadtk.audio.synthesis import synthesise
from otadtk.errors import AudioError


def read(path: Path, rate: int = 16_000) -> tuple[np.ndarray, ClipAudit]:
    reader = AudioReader(path, rate)
    return np.concatenate(list(reader)), reader.audit


class TestAudioReader:
    @pytest.mark.parametrize(
        ("suffix", "tolerance"),
        [("wav", 1e-4), ("flac", 1e-4), ("aiff", 1e-4), ("caf", 1e-4), ("ogg", 0.2), ("mp3", 0.3)],
    )
    def test_formats(self, tmp_path: Path, suffix: str, tolerance: float) -> None:
        clip = synthesise("engine", 3, 2.0)
        path = tmp_path / f"clip.{suffix}"
        soundfile.write(path, clip, 16_000)
        samples, audit = read(path)
        assert abs(audit.seconds - 2.0) < 0.1
        length = min(len(samples), len(clip))
        error = np.abs(samples[:length] - clip[:length]).mean() / np.abs(clip).mean()
        assert error < tolerance

    @pytest.mark.parametrize("channels", [1, 2])
    def test_sixteen_bits_are_those_of_libsndfile(self, tmp_path: Path, channels: int) -> None:
        path = tmp_path / "clip.wav"  # longer than two blocks
        clip = np.random.default_rng(0).uniform(-1, 1, (150_001, channels)).astype(np.float32)
        clip[70_000:80_000] = 0.0
        soundfile.write(path, clip, 44_100, subtype="PCM_16")
        expected, _ = soundfile.read(path, dtype="float32", always_2d=True)
        samples, audit = read(path, 44_100)
        np.testing.assert_array_equal(samples, expected.mean(axis=1))
        assert audit.peak == np.abs(expected).max()
        assert audit.rms == pytest.approx(np.sqrt(np.square(expected.astype(float)).mean()))
        peaks = [np.abs(expected[k : k + 441]).max() for k in range(0, len(expected), 441)]
        silent = 441 * sum(peak < 1e-4 for peak in peaks) / len(expected)
        assert audit.silent == pytest.approx(silent)

    def test_opus(self, tmp_path: Path) -> None:
        path = tmp_path / "clip.opus"
        soundfile.write(
            path, synthesise("bell", 0, 1.0, 48_000), 48_000, format="OGG", subtype="OPUS"
        )
        samples, audit = read(path)
        assert audit.sample_rate == 48_000
        assert abs(len(samples) - 16_000) < 500

    def test_mono_mix_and_resampling(self, tmp_path: Path) -> None:
        time = np.arange(44_100) / 44_100
        tone = 0.5 * np.sin(2 * np.pi * 440 * time)
        stereo = np.stack([tone, np.zeros_like(tone)], axis=1)
        soundfile.write(tmp_path / "a.wav", stereo, 44_100, subtype="FLOAT")
        samples, audit = read(tmp_path / "a.wav")
        assert (len(samples), audit.channels, audit.sample_rate) == (16_000, 2, 44_100)
        expected = 0.25 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
        assert np.abs(samples - expected)[200:-200].max() < 1e-4

    def test_long_file_arrives_in_blocks_and_equals_one_resampling(self, tmp_path: Path) -> None:
        import soxr

        clip = synthesise("rain", 0, 20.0, 44_100)
        soundfile.write(tmp_path / "a.wav", clip, 44_100, subtype="FLOAT")
        blocks = list(AudioReader(tmp_path / "a.wav", 16_000))
        assert len(blocks) > 3
        whole = soxr.resample(clip, 44_100, 16_000, quality="HQ")
        assert np.abs(np.concatenate(blocks) - whole).max() < 1e-6

    @pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
    def test_sample_formats(self, tmp_path: Path, subtype: str) -> None:
        clip = synthesise("bell", 1, 0.5)
        soundfile.write(tmp_path / "a.wav", clip, 16_000, subtype=subtype)
        samples, _ = read(tmp_path / "a.wav")
        assert np.abs(samples - clip).max() < 0.01

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_nan_and_infinity_are_fatal(self, tmp_path: Path, value: float) -> None:
        clip = np.zeros(16_000, dtype=np.float32)
        clip[1234] = value
        soundfile.write(tmp_path / "a.wav", clip, 16_000, subtype="FLOAT")
        with pytest.raises(AudioError, match="NaN or infinite"):
            read(tmp_path / "a.wav")

    def test_unreadable_files_say_why(self, tmp_path: Path) -> None:
        (tmp_path / "zero.wav").touch()
        (tmp_path / "text.wav").write_text("this is not audio at all")
        soundfile.write(tmp_path / "none.wav", np.zeros(0), 16_000)
        soundfile.write(tmp_path / "cut.flac", synthesise("rain", 0, 3.0), 16_000)
        whole = (tmp_path / "cut.flac").read_bytes()
        (tmp_path / "cut.flac").write_bytes(whole[: len(whole) // 2])
        for name, reason in [
            ("zero.wav", "empty"),
            ("text.wav", "not readable audio"),
            ("none.wav", "no samples"),
            ("cut.flac", "not readable audio|ends early"),
            ("missing.wav", "cannot be read: No such file"),
        ]:
            with pytest.raises(AudioError, match=reason):
                read(tmp_path / name)

    def test_compressed_containers_ask_for_pyav(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.m4a").write_bytes(b"\0" * 64)
        monkeypatch.setitem(sys.modules, "av", None)
        with pytest.raises(AudioError, match=r'pip install "otadtk-audio\[av\]"'):
            read(tmp_path / "a.m4a")

    @pytest.mark.parametrize("codec", ["m4a", "webm"])
    def test_pyav(self, tmp_path: Path, codec: str) -> None:
        av = pytest.importorskip("av", reason="PyAV is not installed")
        clip = synthesise("engine", 0, 2.0, 48_000)
        with av.open(str(tmp_path / f"a.{codec}"), "w") as container:
            stream = container.add_stream("aac" if codec == "m4a" else "libopus", rate=48_000)
            frame = av.AudioFrame.from_ndarray(clip[None], format="fltp", layout="mono")
            frame.sample_rate = 48_000
            for packet in [*stream.encode(frame), *stream.encode(None)]:
                container.mux(packet)
        samples, audit = read(tmp_path / f"a.{codec}")
        assert audit.sample_rate == 48_000
        assert abs(audit.seconds - 2.0) < 0.1
        assert (
            np.corrcoef(
                np.abs(np.fft.rfft(samples, 32_000)), np.abs(np.fft.rfft(clip, 96_000)[:16_001])
            )[0, 1]
            > 0.9
        )

    def test_pyav_on_garbage(self, tmp_path: Path) -> None:
        pytest.importorskip("av", reason="PyAV is not installed")
        (tmp_path / "a.m4a").write_bytes(b"garbage" * 99)
        with pytest.raises(AudioError, match="not readable audio"):
            read(tmp_path / "a.m4a")


def test_all_of_a_file_is_heard_at_a_higher_rate(tmp_path: Path) -> None:
    noise = 0.3 * np.random.default_rng(0).standard_normal(16_000).astype(np.float32)
    soundfile.write(tmp_path / "noise.wav", noise, 16_000)
    for rate, heard in ((48_000, True), (8_000, False)):
        reader = AudioReader(tmp_path / "noise.wav", rate)
        list(reader)
        assert (reader.audit.unheard == 0.0) == heard
