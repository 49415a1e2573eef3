"""``hf:`` models: tiny ones that the test saves to a folder."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch

from otadtk import get_encoder
from otadtk.cli.score import main as score
from otadtk.encoders import get_spec, load_encoder
from otadtk.encoders.huggingface import Address
from otadtk.errors import UsageError, WeightsError

transformers = pytest.importorskip("transformers", reason="the extra hf")
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
CONVOLUTIONS = {
    "conv_dim": (8, 8),
    "conv_kernel": (10, 8),
    "conv_stride": (5, 4),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}


def save(kind: str, folder: Path) -> Path:
    torch.manual_seed(0)
    if kind == "hubert":
        model: Any = transformers.HubertModel(transformers.HubertConfig(**SMALL, **CONVOLUTIONS))
        front: Any = transformers.Wav2Vec2FeatureExtractor()
    elif kind == "whisper":
        config = transformers.WhisperConfig(
            d_model=16,
            encoder_layers=2,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=24,
            decoder_ffn_dim=24,
            max_source_positions=50,
            vocab_size=20,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
        model, front = (
            transformers.WhisperModel(config),
            transformers.WhisperFeatureExtractor(chunk_length=1),
        )
    else:
        model = transformers.ASTModel(transformers.ASTConfig(**SMALL, max_length=64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its filter bank has empty bands
            front = transformers.ASTFeatureExtractor(max_length=64)
    model.save_pretrained(folder)
    front.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("hf")
    return {kind: save(kind, folder / kind) for kind in ("hubert", "whisper", "ast")}


def sound(samples: int, seed: int = 0) -> np.ndarray:
    return (0.1 * np.random.default_rng(seed).normal(size=samples)).astype(np.float32)


@pytest.mark.parametrize(("layer", "index"), [("", 2), ("#1", 1), ("#0", 0), ("#-1", 2)])
def test_mean_of_a_layer(models: dict[str, Path], layer: str, index: int) -> None:
    encoder = get_encoder(f"hf:{models['hubert']}{layer}", device="cpu")
    clip = sound(8_000)
    model = transformers.HubertModel.from_pretrained(models["hubert"]).eval()
    front = transformers.Wav2Vec2FeatureExtractor.from_pretrained(models["hubert"])
    with torch.inference_mode():
        inputs = front(clip, sampling_rate=16_000, return_tensors="pt")
        hidden = model(**inputs, output_hidden_states=True).hidden_states[index]
    expected = hidden[0].mean(dim=0).numpy()
    assert encoder.spec.dim == 16
    np.testing.assert_allclose(encoder.encode(clip, 16_000), expected, rtol=1e-4, atol=1e-5)


def test_only_frames_of_the_clip_count(models: dict[str, Path]) -> None:
    """Whisper's front end pads to its window; half a window of sound gives half the frames."""
    encoder = get_encoder(f"hf:{models['whisper']}", device="cpu")
    assert encoder.spec.segment_samples == 16_000
    assert encoder.encode_frames(sound(16_000), 16_000).shape == (50, 16)
    assert encoder.encode_frames(sound(8_000), 16_000).shape == (25, 16)
    assert encoder.encode_frames(sound(40_000), 16_000).shape == (125, 16)


def test_spectrogram_transformer(models: dict[str, Path]) -> None:
    encoder = get_encoder(f"hf:{models['ast']}", device="cpu")
    assert encoder.spec.segment_samples == 63 * 160 + 400
    assert np.isfinite(encoder.encode(sound(30_000), 16_000)).all()


def test_batches_equal_single_clips(models: dict[str, Path]) -> None:
    encoder = get_encoder(f"hf:{models['hubert']}", device="cpu")
    clips = [torch.from_numpy(sound(n, n)) for n in (4_000, 4_000, 9_000)]
    together = encoder.encode_segments(clips)
    for clip, encoding in zip(clips, together, strict=True):
        assert torch.equal(encoder.encode_segments([clip])[0].frames, encoding.frames)


def test_fingerprint_follows_files_and_layer(models: dict[str, Path], tmp_path: Path) -> None:
    other = save("hubert", tmp_path / "other")
    first = get_spec(f"hf:{other}").fingerprint
    assert get_spec(f"hf:{other}").fingerprint == first
    assert get_spec(f"hf:{other}#1").fingerprint != first
    weights = other / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert get_spec(f"hf:{other}").fingerprint != first


def test_mert_is_hubert_and_its_code_never_runs(tmp_path: Path) -> None:
    folder = save("hubert", tmp_path / "mert")
    config = json.loads((folder / "config.json").read_text())
    plain = get_encoder(f"hf:{folder}", device="cpu").encode(sound(8_000), 16_000)
    config |= {"model_type": "mert_model", "auto_map": {"AutoModel": "modeling_MERT.MERTModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling_MERT.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    found = get_encoder(f"hf:{folder}", device="cpu").encode(sound(8_000), 16_000)
    np.testing.assert_array_equal(found, plain)
    config["model_type"] = "surprise"
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(WeightsError, match="cannot be loaded"):
        get_encoder(f"hf:{folder}", device="cpu")
    assert not (tmp_path / "ran").exists()


def test_names() -> None:
    assert Address.of("hf:owner/name") == Address("owner/name", None, None)
    assert Address.of("hf:owner/name@v1.0#7") == Address("owner/name", "v1.0", 7)
    assert Address.of("hf:/a/b@c/d#-2") == Address("/a/b@c/d", None, -2)
    with pytest.raises(UsageError, match="must be a whole number, not 'last'"):
        Address.of("hf:owner/name#last")
    with pytest.raises(UsageError, match="names no model"):
        Address.of("hf:")


def test_bad_places(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no folder nowhere"):
        get_spec("hf:nowhere")
    with pytest.raises(UsageError, match="layers 0 to 2, not 5"):
        get_spec(f"hf:{models['hubert']}#5")
    with pytest.raises(UsageError, match="which has no revision"):
        get_spec(f"hf:{models['hubert']}@main")
    with pytest.raises(WeightsError, match=r"config\.json cannot be read"):
        get_spec(f"hf:{tmp_path}")
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match="OTADTK_OFFLINE is set"):
        get_spec("hf:no-such-owner/no-such-model")


class Hub(BaseHTTPRequestHandler):
    """One repository of the hub, ``owner/name``, whose revisions are folders below ``root``."""

    root: Path
    revisions: dict[str, str]
    """The commit of each revision; its files are in the folder of its name."""
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        type(self).asked.append(path)
        parts = path.strip("/").split("/")
        body, headers = None, {}
        if parts[:4] == ["api", "models", "owner", "name"]:
            revision = parts[5] if len(parts) > 5 else "main"
            commit = self.revisions.get(revision, revision)
            folder = self.root / commit
            if folder.is_dir():
                body = json.dumps(self._listing(parts[4:5], commit, folder)).encode()
        elif parts[:3] == ["owner", "name", "resolve"]:
            commit = self.revisions.get(parts[3], parts[3])
            file = self.root / commit / "/".join(parts[4:])
            if file.is_file():
                body = file.read_bytes()
                etag = hashlib.sha256(body).hexdigest()
                headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit}
        self.send_response(200 if body is not None else 404)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if with_body and body:
            self.wfile.write(body)

    def _listing(self, what: list[str], commit: str, folder: Path) -> Any:
        files = [file for file in sorted(folder.iterdir()) if file.is_file()]
        if what == ["tree"]:
            return [
                {"type": "file", "path": f.name, "size": f.stat().st_size, "oid": f.name}
                for f in files
            ]
        return {
            "id": "owner/name",
            "sha": commit,
            "siblings": [{"rfilename": f.name} for f in files],
        }

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """A server in the layout of the hub, with two commits of one model."""

    class Here(Hub):
        root, revisions, asked = tmp_path / "hub", {"main": "b" * 40, "v1": "a" * 40}, []

    for commit, seed in (("a" * 40, 0), ("b" * 40, 1)):
        folder = save("hubert", tmp_path / "hub" / commit)
        if seed:
            torch.manual_seed(seed)
            config = transformers.HubertConfig(**SMALL, **CONVOLUTIONS)
            transformers.HubertModel(config).save_pretrained(folder)
        (folder / "modeling.py").write_text("raise SystemExit('code of a repository ran')\n")
        (folder / "notes.bin.txt").write_text("not asked for")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OTADTK_OFFLINE", raising=False)
    yield Here
    server.shutdown()
    server.server_close()
    thread.join()


def test_models_of_the_hub(hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    clip = sound(8_000)
    first = get_encoder("hf:owner/name@v1#1", device="cpu")
    assert first.spec.paper.endswith(f"at commit {'a' * 40}")
    plain = get_encoder(f"hf:{hub.root / ('a' * 40)}#1", device="cpu")
    np.testing.assert_array_equal(first.encode(clip, 16_000), plain.encode(clip, 16_000))
    assert not [path for path in hub.asked if path.endswith((".py", ".txt"))]
    newest = get_encoder("hf:owner/name#1", device="cpu")
    assert newest.spec.fingerprint != first.spec.fingerprint
    assert np.abs(newest.encode(clip, 16_000) - plain.encode(clip, 16_000)).max() > 1e-3
    # what is in the cache serves without the network
    hub.asked.clear()
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    again = get_encoder("hf:owner/name@v1#1", device="cpu")
    assert again.spec.fingerprint == first.spec.fingerprint
    assert hub.asked == []


def test_a_revision_that_moves_is_noticed(hub: type[Hub]) -> None:
    """The network is that of the spec, whose hash names the embeddings in the store."""
    spec = get_spec("hf:owner/name")
    hub.revisions["main"] = "a" * 40
    with pytest.raises(WeightsError, match="have changed since they were first read"):
        load_encoder(spec, torch.device("cpu"))


def test_what_the_hub_does_not_have(
    hub: type[Hub], folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("hf:owner/other", "hf:owner/name@v9"):
        assert score([name, *map(str, folders)]) == 4
        err = capsys.readouterr().err
        assert f"Could not fetch {name!r}" in err
        assert "Traceback" not in err
