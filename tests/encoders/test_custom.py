"""Custom encoders: from a file, registered, or installed as plug-ins."""

from __future__ import annotations

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

from otadtk import BaseEncoder, get_encoder, list_models, register_encoder
from otadtk.audio.synthesis import synthesise
from otadtk.encoders import EncoderSpec, custom, get_spec, registry
from otadtk.errors import UsageError

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


def weighted_encoder(folder: Path) -> Path:
    """A file with a class that loads its weights from ``w.npy`` beside it."""
    file = folder / "weighted.py"
    file.write_text(
        "import numpy as np\n"
        "class Weighted:\n"
        "    target_sr, embedding_dim = 8000, 2\n"
        "    def __init__(self):\n"
        f"        self.weights = np.load({str(folder / 'w.npy')!r})\n"
        "    def encode(self, wav, sr):\n"
        "        return self.weights * [float(wav.abs().mean()), float(wav.std())]\n"
    )
    return file


class TestCustomEncoders:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        (tmp_path / "mine.py").write_text(SOURCE)
        return tmp_path / "mine.py"

    @pytest.fixture(autouse=True)
    def clean_registry(self) -> Iterator[None]:
        yield
        custom.registered.clear()

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

    def test_fingerprint_follows_the_weights(self, tmp_path: Path) -> None:
        """Weights lie outside the source: new ones must not find the embeddings of old ones."""
        model = f"{weighted_encoder(tmp_path)}:Weighted"
        np.save(tmp_path / "w.npy", [1.0, 1.0])
        before = get_spec(model).fingerprint
        assert get_spec(model).fingerprint == before
        assert get_spec(f"{model}+signal").fingerprint != before
        np.save(tmp_path / "w.npy", [1.0, 1.001])
        assert get_spec(model).fingerprint != before
        np.save(tmp_path / "w.npy", [1.0, 1.0])
        assert get_spec(model).fingerprint == before

    def test_random_vectors_are_never_reused(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "noisy.py").write_text(
            "import numpy as np\n"
            "class Noisy:\n    target_sr, embedding_dim = 8000, 2\n"
            "    def encode(self, wav, sr):\n        return np.random.default_rng().normal(size=2)\n"
        )
        model = f"{tmp_path}/noisy.py:Noisy"
        assert get_spec(model).fingerprint != get_spec(model).fingerprint
        assert "different vectors for the same sound" in caplog.text

    def test_probe_is_longer_for_encoders_of_long_clips(self, tmp_path: Path) -> None:
        (tmp_path / "long.py").write_text(
            "class Long:\n    target_sr, embedding_dim = 8000, 1\n"
            "    def encode(self, wav, sr):\n"
            "        assert wav.shape[1] > 8000 * SECONDS\n"
            "        return [float(wav.std())]\n"
            "SECONDS = 10\n"
        )
        assert get_spec(f"{tmp_path}/long.py:Long").dim == 1
        (tmp_path / "long.py").write_text(
            (tmp_path / "long.py").read_text().replace("SECONDS = 10", "SECONDS = 100")
        )
        with pytest.raises(UsageError, match=r"test signal of 2 s .* raises AssertionError"):
            get_spec(f"{tmp_path}/long.py:Long")

    def test_class_that_cannot_be_built(self, tmp_path: Path) -> None:
        model = f"{weighted_encoder(tmp_path)}:Weighted"
        with pytest.raises(UsageError, match=r"'weighted' cannot be built: FileNotFoundError"):
            get_spec(model)

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
            "plugged": EntryPoint("plugged", "mine:Loudness", registry.ENTRY_POINT_GROUP),
            "spec": EntryPoint(
                "spec", "otadtk.encoders.networks.logmel:SPEC", registry.ENTRY_POINT_GROUP
            ),
            "broken": EntryPoint("broken", "no_such_module:X", registry.ENTRY_POINT_GROUP),
        }
        monkeypatch.setattr(registry, "plug_ins", lambda: points)
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
