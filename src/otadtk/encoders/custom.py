"""Custom encoders: a small class, registered by name or given as ``path/to/file.py:Class``.

The class needs a name, a rate, a dimension and one method:

    class MyEncoder(BaseEncoder):
        name, target_sr, embedding_dim = "mine", 16000, 2

        def encode(self, wav, sr):           # wav: float32 tensor (1, samples) at target_sr
            return np.array([float(wav.mean()), float(wav.std())])

Its cached embeddings are renewed when its file, its ``version`` or its vector of a fixed test signal
changes (``probe.py``); the last follows weights that the class loads from elsewhere.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

T = TypeVar("T", bound=type)

registered: dict[str, type] = {}
"""The classes that this program registered, by name."""
_probed: WeakKeyDictionary[type, Any] = WeakKeyDictionary()
"""The object that was built on the CPU to probe a class; ``load`` uses it instead of another."""


class BaseEncoder(ABC):
    """The interface of a custom encoder. A new ``version`` renews its cached embeddings.

    ``target_sr`` is the rate of the waveforms in Hz, ``embedding_dim`` the length of the vectors. Any
    class with these attributes and ``encode`` will do; it need not be a subclass.

    Examples:
        >>> import numpy as np
        >>> from otadtk import OTAD, BaseEncoder, register_encoder
        >>> @register_encoder("loudness")
        ... class Loudness(BaseEncoder):
        ...     name, target_sr, embedding_dim = "loudness", 16_000, 1
        ...     def encode(self, wav, sr):
        ...         return np.array([float(wav.abs().mean())])
        >>> OTAD("loudness").score("real/", "real/")
        0.0
    """

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
    """A class decorator that makes a custom encoder known under a name, in this program.

    The class needs ``target_sr``, ``embedding_dim`` and ``encode(wav, sr)``, as in ``BaseEncoder``.

    Examples:
        >>> import numpy as np
        >>> from otadtk import list_models, register_encoder
        >>> @register_encoder("peak")
        ... class Peak:
        ...     name, target_sr, embedding_dim = "peak", 16_000, 1
        ...     def encode(self, wav, sr):
        ...         return np.array([float(wav.abs().max())])
        >>> "peak" in list_models()
        True
    """

    def register(custom_class: T) -> T:
        registered[name] = custom_class
        return custom_class

    return register


def class_from_file(model: str) -> type:
    """The class behind ``path/to/file.py:Class``; the file is run, as Python files are."""
    file, _, class_name = model.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"There is no file {file}, named by the model {model!r}.")
    # the Ray engine knows the prefix: such a module cannot be imported elsewhere
    name = f"otadtk_custom_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{file} does not run: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise UsageError(f"{file} has no class {class_name!r}.")
    return found


def spec_of(custom_class: Any, model: str) -> EncoderSpec:
    """The spec of a custom class; its fingerprint follows its source, its ``version`` and a probe.

    The class is built on the CPU for that, so a broken one is refused before any clip is read.
    """
    rate, dim = getattr(custom_class, "target_sr", 0), getattr(custom_class, "embedding_dim", 0)
    if not (isinstance(custom_class, type) and callable(getattr(custom_class, "encode", None))):
        raise UsageError(f"The model {model!r} is not a class with a method encode(wav, sr).")
    if not (isinstance(rate, int) and rate > 0 and isinstance(dim, int) and dim > 0):
        raise UsageError(
            f"The model {model!r} must say its target_sr and embedding_dim as class attributes."
        )
    try:
        source = Path(inspect.getfile(custom_class)).read_bytes()
    except (OSError, TypeError):
        source = b""
    version = str(getattr(custom_class, "version", ""))
    identity = hashlib.sha256(source + b"\0" + version.encode()).hexdigest()
    spec = EncoderSpec(
        name=getattr(custom_class, "name", "") or custom_class.__name__.lower(),
        summary="custom encoder",
        loader="otadtk.encoders.custom:load",
        sample_rate=rate,
        dim=dim,
        preprocessing="own: soxr HQ, whole clips",  # part of fingerprints: never reword it
        licence="unknown",
        paper="none",
        training_data="unknown",
        identity=f"{custom_class.__qualname__} {identity}",
        custom_class=custom_class,
    )
    return replace(spec, identity=f"{spec.identity} {_probe(spec)}")


def _probe(spec: EncoderSpec) -> str:
    import torch

    from otadtk.encoders.probe import probe

    assert spec.custom_class is not None
    device = torch.device("cpu")
    custom = _build(spec, device)
    found = probe(_CustomEncoder(spec, device, custom))
    _probed[spec.custom_class] = custom
    return found


class _CustomEncoder(Encoder):
    """An ``Encoder`` around an object with ``encode(wav, sr)``."""

    def __init__(self, spec: EncoderSpec, device: torch.device, custom: Any) -> None:
        super().__init__(spec, device)
        self._custom = custom

    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        import torch

        return [
            Encoding(torch.from_numpy(self._vector(segment))[None], torch.ones(1))
            for segment in segments
        ]

    def _vector(self, segment: torch.Tensor) -> NDArray[np.float32]:
        """The clip vector; an AudioError, which names no clip yet, if the class fails."""
        import numpy as np

        spec = self.spec
        try:
            vector = np.asarray(self._custom.encode(segment[None], spec.sample_rate))
            with np.errstate(over="ignore"):
                found = vector.astype(np.float32)
        except Exception as error:
            raise AudioError(f"the encoder {spec.name!r} raises {_one_line(error)}") from error
        if found.shape != (spec.dim,) or not np.isfinite(found).all():
            raise AudioError(
                f"the encoder {spec.name!r} gives an array of shape {found.shape}; "
                f"it must be ({spec.dim},) and finite"
            )
        return found


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """The custom encoder of a spec, built on the device if its constructor takes one."""
    build = spec.custom_class
    assert build is not None, f"the spec {spec.name!r} has no class"
    custom = _probed.pop(build, None) if device.type == "cpu" else None
    return _CustomEncoder(spec, device, _build(spec, device) if custom is None else custom)


def _build(spec: EncoderSpec, device: torch.device) -> Any:
    """An object of the custom class."""
    build = spec.custom_class
    assert build is not None, f"the spec {spec.name!r} has no class"
    try:
        takes_device = "device" in inspect.signature(build).parameters
        return build(device=str(device)) if takes_device else build()
    except Exception as error:
        raise UsageError(
            f"The encoder {spec.name!r} cannot be built: {_one_line(error)}"
        ) from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
