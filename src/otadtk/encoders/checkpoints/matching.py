"""Reads published checkpoints without running their code, and matches them tensor by tensor."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.fusion import fuse_conv_bn_eval

from otadtk import weights
from otadtk.encoders.spec import EncoderSpec
from otadtk.errors import WeightsError
from otadtk.weights import Tensors

N = TypeVar("N", bound=nn.Module)
Names = Callable[[str], str | Sequence[str]]
"""From a tensor of our network to its published name, or to several that ours stacks."""

_MOST_NAMED = 8
_COUNTER = "num_batches_tracked"
"""Batch norm counts its training batches; some publishers leave the count out, and none needs it."""


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a published file, safetensors or pickled; a pickle cannot run code here."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        content = _unpickled(path)
    except pickle.UnpicklingError as error:
        raise WeightsError(
            f"{path} is refused: it holds more than tensors and plain values, and reading it could "
            f"run code ({_first_line(error)})."
        ) from error
    except Exception as error:  # torch and safetensors raise many kinds for a corrupted file
        raise WeightsError(
            f"{path} is not a readable checkpoint ({_first_line(error)})."
        ) from error
    if not isinstance(content, dict):
        raise WeightsError(f"{path} holds no table of tensors but a {type(content).__name__}.")
    return content


def _unpickled(path: Path) -> Any:
    """The content of a pickled file, by torch's safe reader, or by ours if it is an old file."""
    try:
        with torch.serialization.safe_globals(_numpy_scalars()):
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        from otadtk.encoders.checkpoints.legacy import is_legacy, read_legacy

        if not is_legacy(path):
            raise
        return read_legacy(path)


def _numpy_scalars() -> list[Any]:
    """What numbers of NumPy are made of, as in a count of epochs; NumPy 1 had other names."""
    made = np.float64(0.0).__reduce__()[0]
    names = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
    kinds = [type(np.dtype(kind)) for kind in "?bhilqBHILQfd"]
    return [*((made, name) for name in names), np.dtype, *dict.fromkeys(kinds)]


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0][:200]


def arrange(
    model: str,
    published: Mapping[str, Any],
    network: nn.Module,
    names: Names = lambda name: name,
    left_out: Iterable[str] = (),
    also_named: Mapping[str, str] | None = None,
) -> Tensors:
    """The tensors of our network, from a published checkpoint; all of them, or an error.

    ``names`` translates ours to theirs; ``left_out`` are patterns of published tensors that an
    embedding does not need; ``also_named`` gives the usual name for patterns of rarer ones.
    Whatever is missing, of another shape, or unknown is an error that names it.
    """
    for pattern, usual in (also_named or {}).items():
        published = {re.sub(pattern, usual, name): value for name, value in published.items()}
    arranged: Tensors = {}
    used: set[str] = set()
    missing, misshaped = [], []
    for name, wanted in network.state_dict().items():
        if name.endswith(_COUNTER):
            arranged[name] = torch.zeros((), dtype=wanted.dtype)
            continue
        theirs = names(name)
        parts = [theirs] if isinstance(theirs, str) else list(theirs)
        shape = (wanted.shape[0] // len(parts), *wanted.shape[1:]) if len(parts) > 1 else None
        used.update(parts)
        found = []
        for part in parts:
            tensor = published.get(part)
            expected = torch.Size(shape) if shape is not None else wanted.shape
            if not isinstance(tensor, torch.Tensor):
                missing.append(part)
            elif tensor.shape != expected:
                misshaped.append(f"{part} is {tuple(tensor.shape)}, not {tuple(expected)}")
            else:
                found.append(tensor.to(wanted.dtype))
        if len(found) == len(parts):
            arranged[name] = found[0].contiguous() if len(found) == 1 else torch.cat(found)
    ignored = re.compile("|".join([*left_out, rf".*{_COUNTER}"]))
    extra = [name for name in published if name not in used and not ignored.fullmatch(name)]
    _refuse(model, missing, misshaped, extra)
    return arranged


def _refuse(
    model: str, missing: Sequence[str], misshaped: Sequence[str], extra: Sequence[str]
) -> None:
    faults = (("missing", missing), ("of another shape", misshaped), ("unknown", extra))
    said = [f"{fault}: {_listed(names)}" for fault, names in faults if names]
    if said:
        raise WeightsError(f"This is not the checkpoint of {model!r}; tensors {'; '.join(said)}.")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def load_network(
    spec: EncoderSpec,
    user_copy: Path | None,
    build: Callable[[], N],
    *,
    names: Names = lambda name: name,
    left_out: Iterable[str] = (),
    also_named: Mapping[str, str] | None = None,
    inside: str | None = None,
    amended: Callable[[dict[str, Any]], dict[str, Any]] = lambda table: table,
) -> N:
    """The network of a spec whose weights are one published file, ready for inference on the CPU.

    ``inside`` is the key under which the file keeps its tensors, if it keeps more than them.
    ``amended`` adds what our layers have and the published ones do not, such as biases of zero.
    """

    def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
        (path,) = files.values()
        table = amended(table_inside(path, inside))
        return arrange(spec.name, table, on_meta(build), names, left_out, also_named), {}

    tensors, _ = weights.load_converted(spec.weights_name, spec.weights, convert, user_copy)
    try:
        return fill(spec.name, on_meta(build), tensors)
    except WeightsError:
        stale = weights.find_converted(spec.weights_name, spec.weights)
        if stale is None or weights.is_bundled(stale):
            raise
        stale.unlink()  # the conversion of another version, whose network had other names
        tensors, _ = weights.load_converted(spec.weights_name, spec.weights, convert, user_copy)
        return fill(spec.name, on_meta(build), tensors)


def table_inside(path: Path, key: str | None) -> dict[str, Any]:
    """The tensors of a published file, or of the table that it keeps under a key."""
    content = read_checkpoint(path)
    if key is None:
        return content
    inner = content.get(key)
    if not isinstance(inner, dict):
        raise WeightsError(f"{path} has no table {key!r} of tensors.")
    return inner


def fill(model: str, network: N, tensors: Tensors) -> N:
    """The network with these tensors, which must fit exactly; in evaluation mode, without gradients."""
    arranged = arrange(model, tensors, network)
    network.load_state_dict(arranged, assign=True)
    return network.eval().requires_grad_(False)


def on_meta(build: Callable[[], N]) -> N:
    """A network without memory: its weights are assigned later, so nothing is initialised."""
    with torch.device("meta"):
        return build()


WEIGHT_NORM_NAMES = {
    r"\.parametrizations\.weight\.original0$": ".weight_g",
    r"\.parametrizations\.weight\.original1$": ".weight_v",
}
"""Newer torch saves the two halves of a weight norm under the names on the left."""


def fold_weight_norms(network: nn.Module) -> None:
    """Replace every weight-normed weight by its value: g · v / |v| once instead of every call."""
    for module in list(network.modules()):
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight")
    network.requires_grad_(False)


def fused(convolution: nn.Module, norm: nn.Module) -> nn.Module:
    """One convolution that does what a convolution and the batch norm behind it do."""
    assert isinstance(convolution, (nn.Conv1d, nn.Conv2d))
    assert isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d))
    one: nn.Module = fuse_conv_bn_eval(convolution, norm)
    return one.requires_grad_(False)


def put_channels_last(network: nn.Module) -> None:
    """Lay the kernels of two-dimensional convolutions out with the channels last."""
    for parameter in network.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
