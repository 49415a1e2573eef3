"""Writes adapters.json: what otadtk 0.1.2 computes with its own adapters on the cases below.

Run it in an environment of its own with torch, numpy and scipy, where the package lies unpacked
(pip install --no-deps --target DIR otadtk==0.1.2):

    PUBLISHED=DIR python tests/references/make_adapters.py
"""

import json
import os
import sys
from pathlib import Path

here = Path(__file__).parent
sys.path.insert(0, str(here))
from cases import ADAPTER_CASES, adapter_case  # noqa: E402

sys.path.insert(0, os.environ["PUBLISHED"])
from otadtk.otad import compute_otad  # noqa: E402

from otadtk.adapter import load_adapter  # noqa: E402

values = {}
for name, (encoder, variant, _) in ADAPTER_CASES.items():
    x, y = adapter_case(name)
    adapter = load_adapter(encoder, variant)
    score, costs = compute_otad(x, y, adapter=adapter, return_sample_costs=True, device="cpu")
    values[name] = {"score": score, "cj": [float(c) for c in costs]}
(here / "adapters.json").write_text(json.dumps(values, indent=1) + "\n")
