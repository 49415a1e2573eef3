"""One's own encoders: a small class, registered by name or given as ``path/to/file.py:Class``.

The class needs a name, a rate, a dimension and one method:

    class MyEncoder(BaseEncoder):
        name, target_sr, embedding_dim = "mine", 16000, 2

        def encode(self, wav, sr):           # wav: float32 tensor (1, samples) at target_sr
            return np.array([wav.mean(), wav.std()])
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

T = TypeVar("T", bound=type)

registered: dict[str, type] = {}
companions: dict[str, type] = {}
"""Classes by fingerprint, so that the loader finds the class behind a spec."""


class BaseEncoder(ABC):
    """The contract of one's own encoder. ``version`` renews its cached embeddings when changed."""

    name: str = ""
    target_sr: int = 16_000
    embedding_dim: int = 0
    version: str = ""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device

    @abstractmethod
    def encode(self, wav: torch.Tensor, sr: int) -> NDArray[np.floating]:
        """The clip vector ``(embedding_dim,)`` of a waveform ``(1, samples)`` at ``target_sr``."""


def register_encoder(name: str) -> Callable[[T], T]:
    """A class decorator that makes one's own encoder known under a name."""

    def register(own_class: T) -> T:
        registered[name] = own_class
        return own_class

    return register


def class_from_file(model: str) -> type:
    """The class behind ``path/to/file.py:Class``; the file is run, as Python files are."""
    place, _, class_name = model.rpartition(":")
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"There is no file {place}, named by the model {model!r}.")
    module_name = f"otadtk_own_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    loader = importlib.util.spec_from_file_location(module_name, path)
    assert loader is not None and loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    sys.modules[module_name] = module
    try:
        loader.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{place} does not run: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise UsageError(f"{place} has no class {class_name!r}.")
    return found


def spec_of(own_class: Any, model: str) -> EncoderSpec:
    """The spec of one's own class; its fingerprint follows the source file and ``version``."""
    rate, dim = getattr(own_class, "target_sr", 0), getattr(own_class, "embedding_dim", 0)
    if not (isinstance(own_class, type) and callable(getattr(own_class, "encode", None))):
        raise UsageError(f"The model {model!r} is not a class with a method encode(wav, sr).")
    if not (isinstance(rate, int) and rate > 0 and isinstance(dim, int) and dim > 0):
        raise UsageError(
            f"The model {model!r} must say its target_sr and embedding_dim as class attributes."
        )
    try:
        source = Path(inspect.getfile(own_class)).read_bytes()
    except (OSError, TypeError):
        source = b""
    version = str(getattr(own_class, "version", ""))
    identity = hashlib.sha256(source + b"\0" + version.encode()).hexdigest()
    spec = EncoderSpec(
        name=getattr(own_class, "name", "") or own_class.__name__.lower(),
        summary="one's own encoder",
        loader="otadtk.encoders.own:load",
        sample_rate=rate,
        dim=dim,
        preprocessing="own: soxr HQ, whole clips",
        licence="unknown",
        paper="none",
        training_data="unknown",
        identity=f"{own_class.__qualname__} {identity}",
    )
    companions[spec.fingerprint] = own_class
    return spec


class _OwnEncoder(Encoder):
    """Lets a class with ``encode(wav, sr)`` stand where an ``Encoder`` is asked for."""

    def __init__(self, spec: EncoderSpec, device: torch.device, inner: Any) -> None:
        super().__init__(spec, device)
        self._inner = inner

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        import numpy as np
        import torch

        encodings = []
        for segment in segments:
            vector = np.asarray(self._inner.encode(segment[None], self.spec.sample_rate))
            if vector.shape != (self.spec.dim,) or not np.isfinite(vector).all():
                raise UsageError(
                    f"The encoder {self.spec.name!r} gave an array of shape {vector.shape}; "
                    f"it must be ({self.spec.dim},) and finite."
                )
            frames = torch.from_numpy(vector.astype(np.float32))[None]
            encodings.append(Encoding(frames, torch.ones(1)))
        return encodings


def load(spec: EncoderSpec, device: torch.device, weights: Path | None = None) -> Encoder:
    """One's own encoder, built on the device if its constructor takes one."""
    own_class = companions[spec.fingerprint]
    takes_device = "device" in inspect.signature(own_class).parameters
    return _OwnEncoder(spec, device, own_class(device=str(device)) if takes_device else own_class())
