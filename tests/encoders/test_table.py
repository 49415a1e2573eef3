"""Names resolve, fingerprints tell encoders apart, one's own encoders join in."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk import BaseEncoder, encoders, get_encoder, list_models, register_encoder
from otadtk.encoders import EncoderSpec, get_spec, own
from otadtk.errors import UsageError
from otadtk.synthesis import synthesise


class TestFingerprint:
    def test_changes_with_what_decides_an_embedding(self) -> None:
        spec = get_spec("yamnet")
        changed = [
            dataclasses.replace(spec, preprocessing="other"),
            dataclasses.replace(spec, sample_rate=8_000),
            dataclasses.replace(spec, name="other"),
            dataclasses.replace(spec, weights=spec.weights[:2]),
        ]
        assert len({s.fingerprint for s in [spec, *changed]}) == 5

    def test_does_not_change_with_prose(self) -> None:
        spec = get_spec("yamnet")
        assert dataclasses.replace(spec, summary="better words").fingerprint == spec.fingerprint


def test_logmel_statistics_are_those_of_the_clip() -> None:
    from otadtk.encoders.frontend import log_mel_vggish

    clip = synthesise("speech", 0, 3.0)
    vector = get_encoder("logmel", device="cpu").encode(clip, 16_000)
    frames = log_mel_vggish(torch.from_numpy(clip), 0.001)
    expected = torch.cat([frames.mean(dim=0), frames.std(dim=0, correction=0)])
    np.testing.assert_allclose(vector, expected.numpy(), rtol=1e-4, atol=1e-5)


class TestNames:
    @pytest.mark.parametrize(("wrong", "right"), [("yamnett", "yamnet"), ("log_mel", "logmel")])
    def test_did_you_mean(self, wrong: str, right: str) -> None:
        with pytest.raises(UsageError, match=f"Did you mean '{right}'"):
            get_spec(wrong)

    def test_nothing_close(self) -> None:
        with pytest.raises(UsageError, match=r"Unknown model 'xyz'\. See otadtk-list-models"):
            get_encoder("xyz")

    def test_weights_for_an_encoder_without(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="takes no --weights"):
            get_encoder("logmel", device="cpu", weights=tmp_path)

    def test_unknown_device(self) -> None:
        with pytest.raises(UsageError, match="'warp' is not available"):
            get_encoder("logmel", device="warp")


SOURCE = """
import numpy as np

class Loudness:
    name, target_sr, embedding_dim = "loudness", 8000, 2

    def encode(self, wav, sr):
        assert sr == 8000 and wav.ndim == 2
        return np.array([float(wav.abs().mean()), float(wav.std())])

class Wrong(Loudness):
    def encode(self, wav, sr):
        return np.zeros(3)

class Silent:
    pass

def function():
    pass
"""


class TestOwnEncoders:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        (tmp_path / "mine.py").write_text(SOURCE)
        return tmp_path / "mine.py"

    @pytest.fixture(autouse=True)
    def clean_registry(self) -> Iterator[None]:
        yield
        own.registered.clear()

    def test_from_a_file(self, file: Path) -> None:
        encoder = get_encoder(f"{file}:Loudness", device="cpu")
        assert (encoder.spec.name, encoder.spec.sample_rate, encoder.spec.dim) == (
            "loudness",
            8000,
            2,
        )
        clip = synthesise("bell", 0, 1.0, 8_000)
        expected = [np.abs(clip).mean(), clip.std(ddof=1)]
        np.testing.assert_allclose(encoder.encode(clip, 8_000), expected, rtol=1e-4)

    def test_fingerprint_follows_the_source(self, file: Path) -> None:
        before = get_spec(f"{file}:Loudness").fingerprint
        assert get_spec(f"{file}:Loudness").fingerprint == before
        file.write_text(SOURCE + "\n# changed\n")
        assert get_spec(f"{file}:Loudness").fingerprint != before

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("Missing", "has no class 'Missing'"),
            ("function", "has no class 'function'"),
            ("Silent", "not a class with a method encode"),
        ],
    )
    def test_bad_classes(self, file: Path, name: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            get_spec(f"{file}:{name}")

    def test_bad_files(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="There is no file"):
            get_spec(f"{tmp_path}/none.py:A")
        (tmp_path / "broken.py").write_text("1/0")
        with pytest.raises(UsageError, match=r"does not run: ZeroDivisionError"):
            get_spec(f"{tmp_path}/broken.py:A")

    def test_wrong_shape(self, file: Path) -> None:
        with pytest.raises(UsageError, match=r"shape \(3,\); it must be \(2,\)"):
            get_encoder(f"{file}:Wrong", device="cpu").encode(np.ones(8000), 8000)

    def test_registered_appears_in_the_list(self) -> None:
        @register_encoder("mine")
        class Mine(BaseEncoder):
            target_sr, embedding_dim, version = 16_000, 1, "1"

            def encode(self, wav: torch.Tensor, sr: int) -> np.ndarray:
                assert self.device == "cpu"
                return np.array([wav.abs().max()])

        assert "mine" in list_models()
        assert get_encoder("mine", device="cpu").encode(np.full(100, 0.5), 16_000) == [0.5]
        before = get_spec("mine").fingerprint
        Mine.version = "2"
        assert get_spec("mine").fingerprint != before

    def test_plug_ins(self, monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
        points = {
            "plugged": EntryPoint("plugged", "mine:Loudness", encoders.ENTRY_POINT_GROUP),
            "spec": EntryPoint("spec", "otadtk.encoders.table:_LOGMEL", encoders.ENTRY_POINT_GROUP),
            "broken": EntryPoint("broken", "no_such_module:X", encoders.ENTRY_POINT_GROUP),
        }
        monkeypatch.setattr(encoders, "plug_ins", lambda: points)
        monkeypatch.syspath_prepend(str(file.parent))
        assert {"plugged", "spec", "broken"} <= set(list_models())
        assert get_spec("plugged").dim == 2
        assert isinstance(get_spec("spec"), EncoderSpec)
        with pytest.raises(UsageError, match="plug-in encoder 'broken'"):
            get_spec("broken")

    def test_real_entry_points_are_found(self, tmp_path: Path, file: Path) -> None:
        info = tmp_path / "mine-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[otadtk.encoders]\nplugged = mine:Loudness\n")
        code = (
            "from otadtk.cli.list_models import main; import sys; main(['--json']); "
            "assert 'mine' not in sys.modules"
        )
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        assert "plugged" in [row["name"] for row in json.loads(run.stdout)]
