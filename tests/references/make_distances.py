"""Writes distances.json: what kadtk 1.1 and otadtk 0.1.2 say of the cases in cases.py.

Run it in an environment of its own with torch, numpy and scipy, where the two packages lie unpacked
(pip download --no-deps kadtk==1.1.0; pip install --no-deps --target DIR otadtk==0.1.2):

    PUBLISHED=DIR KADTK=UNPACKED python tests/references/make_distances.py
"""

import json
import os
import sys
import types
from pathlib import Path
from unittest import mock

import torch

here = Path(__file__).parent
sys.path[:0] = [str(here), os.environ["KADTK"]]
from cases import KERNEL_CASES, TRANSPORT_CASES, kernel_case, transport_case  # noqa: E402

for missing in ("hypy_utils", "hypy_utils.tqdm_utils", "hypy_utils.nlp_utils", "torchaudio"):
    sys.modules[missing] = mock.MagicMock()
package = types.ModuleType("kadtk")  # without its __init__, which imports every model
package.__path__ = [os.environ["KADTK"] + "/kadtk"]
sys.modules["kadtk"] = package
for unused in ("kadtk.emb_loader", "kadtk.model_loader"):
    sys.modules[unused] = mock.MagicMock()
from kadtk.kad import calc_kernel_audio_distance  # noqa: E402

sys.path.insert(0, os.environ["PUBLISHED"])
from otadtk.otad import compute_otad  # noqa: E402

values = {"kadtk 1.1": {}, "otadtk 0.1.2": {}}
for name in KERNEL_CASES:
    x, y = (torch.from_numpy(side) for side in kernel_case(name))
    distance = calc_kernel_audio_distance(x, y, (None, None), "cpu")
    values["kadtk 1.1"][name] = float(distance)
for name in TRANSPORT_CASES:
    x, y, epsilon = transport_case(name)
    score, costs = compute_otad(x, y, epsilon=epsilon, return_sample_costs=True, device="cpu")
    values["otadtk 0.1.2"][name] = {"score": score, "cj": [float(c) for c in costs]}
(here / "distances.json").write_text(json.dumps(values, indent=1) + "\n")
