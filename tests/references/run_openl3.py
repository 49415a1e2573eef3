"""Writes as JSON the FDs on OpenL3, music and environmental, that stable-audio-metrics computes.

    python tests/references/run_openl3.py STABLE_AUDIO_METRICS OPENL3 OUTPUT.json

OPENL3 is the unpacked source of openl3 0.4.2; TensorFlow 2.15, kapre 0.3.7, resampy 0.2.2, librosa,
soxr and pyloudnorm must be there. The tool's own code reads the audio and computes the distance.
Replaced are the weights, which are seeded, and packages for images. So few frames make a singular
covariance, whose root the tool refuses for imaginary parts of rounding; they are left out.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

HERE = Path(__file__).parent
REFERENCES = HERE.parent / "encoders" / "references"
sys.path[:0] = [str(HERE), str(REFERENCES), *(str(Path(p).resolve()) for p in sys.argv[1:3])]
for unused in ("skimage", "skimage.transform", "moviepy", "moviepy.editor", "moviepy.video"):
    sys.modules[unused] = mock.MagicMock()
from seeded import OTHER_WEIGHTS, state  # noqa: E402
from table_clips import write_clips  # noqa: E402

content = "music"


def seed_weights(model, _path=None):
    """Give a Keras model the seeded weights of the torch checkpoint of the same network."""
    with np.load(REFERENCES / "openl3.npz") as fixture:
        shapes = json.loads(str(fixture["shapes"]))
    first = OTHER_WEIGHTS["openl3_env"] if content == "env" else ""
    found = state({first + name: tuple(shape) for name, shape in shapes.items()})
    weights = {name.removeprefix(first): value for name, value in found.items()}
    convolutions = norms = 0
    for layer in model.layers:
        kind = type(layer).__name__
        if kind == "Conv2D":
            convolutions += 1
            last = layer.name == "audio_embedding_layer"
            name = layer.name if last else f"conv2d_{convolutions}"
            kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)
            layer.set_weights([kernel, weights[f"{name}.bias"]])
        elif kind == "BatchNormalization":
            norms += 1
            parts = ("weight", "bias", "running_mean", "running_var")
            layer.set_weights([weights[f"batch_normalization_{norms}.{part}"] for part in parts])
    assert (convolutions, norms) == (8, 8)


if __name__ == "__main__":
    output = Path(sys.argv[3]).resolve()
    import tensorflow as tf

    from src import openl3_fd as tool

    root = tool.linalg.sqrtm
    tool.linalg.sqrtm = lambda matrix, disp: (root(matrix, disp=disp)[0].real, None)
    distances = {}
    with (
        tempfile.TemporaryDirectory() as work,
        mock.patch.object(tf.keras.Model, "load_weights", seed_weights),
    ):
        reference, evaluated = write_clips(Path(work) / "clips", few=True, long=False)
        os.chdir(work)
        for content, name in (("music", "fd_openl3"), ("env", "fd_openl3_env")):
            distances[name] = float(
                tool.openl3_fd(
                    2, 44100, content, 0.5, str(evaluated), ref_path=str(reference), batching=4
                )
            )
            output.write_text(json.dumps({"stable_audio_openl3": distances}) + "\n")
