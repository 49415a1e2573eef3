"""Writes distillmos.json: what the package says of seeded clips with seeded weights.

    PYTHONPATH=FOLDER_OF_distillmos_AND_xls_r_sqa python tests/quality/make_reference.py

Made with distillmos 0.9.1 and xls-r-sqa 0.1.0.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "encoders" / "references"))
sys.modules["torchaudio"] = MagicMock()  # it is for its command line only

from seeded import clip, state  # noqa: E402

CASES = (("voice", 20_000), ("saw", 122_880), ("noise", 130_000), ("silence", 30_000))


def main() -> None:
    from distillmos.sqa import ConvTransformerSQAModel

    network = ConvTransformerSQAModel(load_weights=False)
    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    network.load_state_dict({n: torch.from_numpy(v) for n, v in state(shapes).items()})
    network.eval()
    with torch.inference_mode():
        scores = {
            f"{kind} {samples}": float(network(torch.from_numpy(clip(kind, samples, 16_000))[None]))
            for kind, samples in CASES
        }
    print(scores)
    (HERE / "distillmos.json").write_text(json.dumps({"shapes": shapes, "scores": scores}))


if __name__ == "__main__":
    main()
