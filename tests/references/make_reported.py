"""Writes reported.json: what prdc, vendi-score and torch-fidelity say of the sets in cases.py.

Run it where the three packages are installed (prdc 0.2, vendi-score 0.0.3, torch-fidelity 0.4.0):

    PYTHONPATH=PACKAGES python tests/references/make_reported.py
"""

import importlib.util
import json
import sys
import types
from pathlib import Path
from unittest import mock

import torch

here = Path(__file__).parent
sys.path.insert(0, str(here))
# torch-fidelity without its __init__, which imports every network
home = importlib.util.find_spec("torch_fidelity")
package = types.ModuleType("torch_fidelity")
package.__path__ = list(home.submodule_search_locations)
sys.modules["torch_fidelity"] = package
sys.modules["torch_fidelity.utils"] = mock.MagicMock()

from cases import REPORTED_CASES, logits_case, reported_case  # noqa: E402
from prdc import compute_prdc  # noqa: E402
from torch_fidelity.metric_isc import isc_features_to_metric  # noqa: E402
from torch_fidelity.metric_kid import kid_features_to_metric  # noqa: E402
from vendi_score import vendi  # noqa: E402

values = {}
for name in REPORTED_CASES:
    x, y = reported_case(name)
    kid = kid_features_to_metric(
        torch.from_numpy(y), torch.from_numpy(x), kid_subsets=10, kid_subset_size=60, verbose=False
    )
    values[name] = {
        **{f"{what} {k}": float(v) for k in (3, 5) for what, v in compute_prdc(x, y, k).items()},
        "vendi": float(vendi.score_X(y.astype(float), normalize=True)),
        "kid": float(kid["kernel_inception_distance_mean"]),
        "kid deviation": float(kid["kernel_inception_distance_std"]),
    }
logits = torch.from_numpy(logits_case()[1])
values["logits"] = {}
for splits in (1, 10):
    found = isc_features_to_metric(logits, splits=splits, shuffle=True, rng_seed=2020)
    values["logits"][f"is {splits}"] = found["inception_score_mean"]
    values["logits"][f"is {splits} deviation"] = found["inception_score_std"]
(here / "reported.json").write_text(json.dumps(values, indent=1) + "\n")
