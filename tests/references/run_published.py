"""Prints as JSON what otadtk 0.1.2 computes with its own adapters on the cases of cases.py.

Its float32 arithmetic stops far from converged: one CPU's last bits can move its score by 2e-3, so
it is run where it is compared, with the same number of threads, instead of being written down once.

    python tests/references/run_published.py FOLDER_WITH_THE_PACKAGE
"""

import json
import sys
from pathlib import Path

sys.path[:0] = [sys.argv[1], str(Path(__file__).parent)]
from cases import ADAPTER_CASES, adapter_case  # noqa: E402
from otadtk.otad import compute_otad  # noqa: E402

from otadtk.adapter import load_adapter  # noqa: E402

values = {}
for name, (encoder, variant, _) in ADAPTER_CASES.items():
    adapter = load_adapter(encoder, variant)
    score, costs = compute_otad(
        *adapter_case(name), adapter=adapter, return_sample_costs=True, device="cpu"
    )
    values[name] = {"score": score, "cj": [float(c) for c in costs]}
print(json.dumps(values))
