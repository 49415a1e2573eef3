"""Writes clap_text.npz: what transformers makes of a few captions' tokens with seeded weights.

PYTHONPATH=PACKAGES python tests/encoders/references/make_clap_text.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from seeded import state
from transformers import ClapTextConfig, ClapTextModelWithProjection

CAPTIONS = ([0, 250, 2335, 31246, 2], [0, 2], [0, *range(1000, 1075), 2])

with torch.device("meta"):
    model = ClapTextModelWithProjection(ClapTextConfig())
shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
shapes = {name: shape for name, shape in shapes.items() if not name.endswith("_ids")}
model = ClapTextModelWithProjection(ClapTextConfig()).eval()
values = {name: torch.from_numpy(np.asarray(value)) for name, value in state(shapes).items()}
missing, unknown = model.load_state_dict(values, strict=False)
assert not unknown, unknown
assert all(name.endswith("_ids") for name in missing), missing
with torch.inference_mode():
    found = [
        torch.nn.functional.normalize(model(torch.tensor([tokens])).text_embeds, dim=-1)[0].numpy()
        for tokens in CAPTIONS
    ]
np.savez_compressed(
    Path(__file__).with_name("clap_text.npz"),
    shapes=np.array(json.dumps({name: list(shape) for name, shape in shapes.items()})),
    **{json.dumps(tokens): vector for tokens, vector in zip(CAPTIONS, found, strict=True)},
)
print([float(np.abs(vector).max()) for vector in found])
