"""The values of kadtk and otadtk 0.1.2 for given embeddings; a script for a separate process.

    python peers.py KADTK_FOLDER OTADTK_FOLDER CASES.npz EPSILON

The folders hold the unpacked packages. The script must not import this package, because otadtk
0.1.2 has the same name. Imports of kadtk that the computation does not need are mocked.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
from unittest import mock


def main(kadtk: str, published: str, cases: str, epsilon: str) -> None:
    """Print a JSON object: for each case kad, otad and the costs c_j."""
    import numpy as np
    import torch

    torch.set_num_threads(1)
    absent = ("hypy_utils", "hypy_utils.tqdm_utils", "hypy_utils.nlp_utils", "torchaudio")
    for name in (*absent, "kadtk.emb_loader", "kadtk.model_loader"):
        sys.modules[name] = mock.MagicMock()
    package = types.ModuleType("kadtk")  # without its __init__, which imports every model
    package.__path__ = [f"{kadtk}/kadtk"]
    sys.modules["kadtk"] = package
    sys.path.insert(0, published)
    kernel = importlib.import_module("kadtk.kad").calc_kernel_audio_distance
    transport = importlib.import_module("otadtk.otad").compute_otad
    arrays = np.load(cases)
    found = {}
    for name in sorted({key.rpartition(" ")[0] for key in arrays.files}):
        x, y = arrays[f"{name} x"], arrays[f"{name} y"]
        kad = kernel(torch.from_numpy(x), torch.from_numpy(y), (None, None), "cpu")
        score, costs = transport(
            x, y, epsilon=float(epsilon), return_sample_costs=True, device="cpu"
        )
        found[name] = {"kad": float(kad), "otad": float(score), "cj": [float(c) for c in costs]}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
