"""Models of the Hugging Face format as encoders: ``hf:REPO_OR_FOLDER[@revision][#layer]``.

Any audio model of transformers that gives hidden states, such as HuBERT, WavLM, wav2vec 2.0, MERT,
Whisper or AST: the clip vector is the mean of one layer's hidden states over the frames of the clip.
Layer 0 is what the first layer sees; without a number it is the last. Code of a repository is never
run. A repository is downloaded when its spec is first asked for, because the size of its vectors is
in its files; the network is then loaded from the same files, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import UsageError, WeightsError
from otadtk.weights import digest_of

if TYPE_CHECKING:
    import torch

PREFIX = "hf:"
_FILES = ("config.json", "preprocessor_config.json", "*.safetensors", "*.safetensors.index.json")
_PICKLED = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
_WINDOW_SECONDS = 30
_LEAST_SECONDS = 0.1


@dataclass(frozen=True)
class Address:
    """What a name asks for."""

    place: str
    revision: str | None
    layer: int | None

    @classmethod
    def of(cls, name: str) -> Address:
        """The address in ``hf:PLACE[@revision][#layer]``."""
        match = re.fullmatch(
            r"hf:(?P<place>.+?)(?:@(?P<revision>[^@#/]+))?(?:#(?P<layer>[^#]*))?", name
        )
        if match is None:
            raise UsageError(
                f"{name!r} names no model; write hf:REPO_OR_FOLDER[@revision][#layer]."
            )
        layer = match["layer"]
        if layer is not None and not re.fullmatch(r"-?\d+", layer):
            raise UsageError(f"The layer of {name!r} must be a whole number, not {layer!r}.")
        return cls(match["place"], match["revision"], int(layer) if layer is not None else None)


def spec_of(name: str) -> EncoderSpec:
    """The spec of a model by its name; downloads a repository that is not in the cache."""
    address = Address.of(name)
    folder = _folder(name, address)
    config = _read_json(folder / "config.json")
    front = _read_json(folder / "preprocessor_config.json")
    dim = config.get("hidden_size") or config.get("d_model")
    layers = config.get("num_hidden_layers") or config.get("encoder_layers")
    if not isinstance(dim, int) or not isinstance(layers, int):
        raise UsageError(f"{name!r} is no model with hidden states: its config.json has no sizes.")
    if address.layer is not None and not -layers - 1 <= address.layer <= layers:
        raise UsageError(f"{name!r} has layers 0 to {layers}, not {address.layer}.")
    rate = int(front.get("sampling_rate", 16_000))
    layer = address.layer if address.layer is not None else layers
    # the hub keeps the files of a commit in a folder of its name
    commit = "" if Path(address.place).is_dir() else f" at commit {folder.name}"
    return EncoderSpec(
        name=name,
        summary=f"{config.get('model_type', 'a model')} in the format of Hugging Face, layer "
        f"{layer}",
        loader="otadtk.encoders.huggingface:load",
        sample_rate=rate,
        dim=dim,
        preprocessing=f"hf/1: soxr HQ, the model's own front end, layer {layer}",
        licence="see the model's card",
        paper=f"see the model's card{commit}",
        training_data="see the model's card",
        commercial_use=False,
        identity=_identity(folder),
        minimum_samples=int(_LEAST_SECONDS * rate),
        segment_samples=_window_samples(front, rate),
        shortest_tail_samples=int(_LEAST_SECONDS * rate),
    )


def _identity(folder: Path) -> str:
    """A hash of the files that a model is made of."""
    kinds = (".json", ".safetensors", ".bin")
    files = sorted(file for file in folder.iterdir() if file.suffix in kinds)
    digests = {file.name: digest_of(file) for file in files}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _window_samples(front: dict[str, Any], rate: int) -> int:
    """How long a window is: what the front end takes at once, or 30 s."""
    if isinstance(front.get("n_samples"), int):  # Whisper pads to this
        return int(front["n_samples"])
    if isinstance(front.get("max_length"), int) and "num_mel_bins" in front:  # AST: frames of 10 ms
        return (int(front["max_length"]) - 1) * rate // 100 + rate // 40
    return _WINDOW_SECONDS * rate


def _folder(name: str, address: Address) -> Path:
    """The folder of the model's files: the user's, or that of the snapshot of a repository."""
    folder = Path(address.place)
    if folder.is_dir():
        if address.revision is not None:
            raise UsageError(
                f"{name!r} is a folder, which has no revision; remove @{address.revision}."
            )
        return folder
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", address.place):
        raise UsageError(f"{name!r}: there is no folder {address.place}, and it is no OWNER/NAME.")
    _need_transformers(name)
    from huggingface_hub import snapshot_download

    offline = os.environ.get("OTADTK_OFFLINE", "0") not in ("", "0")

    def fetch(patterns: Sequence[str], revision: str | None) -> Path:
        return Path(
            snapshot_download(
                address.place,
                revision=revision,
                allow_patterns=list(patterns),
                local_files_only=offline,
                endpoint=os.environ.get("HF_ENDPOINT"),
                cache_dir=os.environ.get("HF_HUB_CACHE"),
            )
        )

    try:
        snapshot = fetch(_FILES, address.revision)
        if not list(snapshot.glob("*.safetensors")):
            fetch(_PICKLED, snapshot.name)
    except Exception as error:  # the library raises many kinds
        if offline:
            raise WeightsError(
                f"OTADTK_OFFLINE is set and {name!r} is not in the Hugging Face cache: fetch it once "
                f"online, or name a folder of its files (hf:FOLDER)."
            ) from error
        reason = (str(error) or type(error).__name__).strip().splitlines()[0][:200]
        raise WeightsError(
            f"Could not fetch {name!r} ({reason}); check the name and the network."
        ) from error
    return snapshot


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path} cannot be read ({error}); a model needs it.") from error
    if not isinstance(content, dict):
        raise WeightsError(f"{path} holds no table.")
    return content


def _need_transformers(name: str) -> None:
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f'{name!r} needs transformers, which is not installed: pip install "otadtk-audio[hf]".'
        ) from error


class HuggingFaceEncoder(Encoder):
    """A model of transformers: the frames of one layer."""

    def __init__(
        self, spec: EncoderSpec, device: torch.device, model: Any, front: Any, layer: int
    ) -> None:
        super().__init__(spec, device)
        self._model, self._front, self._layer = model.to(device).eval(), front, layer

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The frames of each segment, each on its own, so that none is padded."""
        import torch

        with torch.inference_mode():
            found = [self._frames(segment) for segment in segments]
        return [Encoding(frames, torch.ones(len(frames))) for frames in found]

    def _frames(self, segment: torch.Tensor) -> torch.Tensor:
        inputs = self._front(
            segment.cpu().numpy(), sampling_rate=self.spec.sample_rate, return_tensors="pt"
        )
        inputs = {name: value.to(self.device) for name, value in inputs.items()}
        hidden = self._model(**inputs, output_hidden_states=True).hidden_states
        frames: torch.Tensor = hidden[self._layer][0]
        padded = getattr(self._front, "n_samples", None)  # Whisper's windows are full of zeros
        if padded:
            frames = frames[: -(-len(frames) * len(segment) // padded)]
        return frames.float().contiguous()


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """The model of a spec. Only code of the installed transformers runs."""
    _need_transformers(spec.name)
    import transformers

    address = Address.of(spec.name)
    folder = _folder(spec.name, address)
    if _identity(folder) != spec.identity:
        raise WeightsError(
            f"The files of {spec.name!r} have changed since they were first read; start again, or "
            f"name a commit (@…)."
        )
    logs = transformers.logging
    before, bars = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # AST's own filter bank gives one
            model = _model(folder)
            front = transformers.AutoFeatureExtractor.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # transformers raises many kinds
        reason = (str(error) or type(error).__name__).strip().splitlines()[0][:200]
        raise WeightsError(f"{spec.name!r} cannot be loaded ({reason}).") from error
    finally:
        logs.set_verbosity(before)
        if bars:
            logs.enable_progress_bar()
    return HuggingFaceEncoder(
        spec, device, model, front, -1 if address.layer is None else address.layer
    )


def _model(folder: Path) -> Any:
    """The network; of a model with a decoder, its encoder."""
    import transformers

    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if _read_json(folder / "config.json").get("model_type") == "mert_model":
        # MERT comes with code of its own, but its network is HuBERT
        options.pop("trust_remote_code")
        config = transformers.HubertConfig.from_pretrained(folder, local_files_only=True)
        config.conv_pos_batch_norm = False
        return transformers.HubertModel.from_pretrained(folder, config=config, **options)
    model = transformers.AutoModel.from_pretrained(folder, **options)
    return model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
