"""Writes clap_text.npz and clap_fused_text.npz: captions' tokens as transformers sees them.

The first is its ClapTextModelWithProjection. The second is its RobertaModel, configured as
roberta-base is, with laion_clap's projection; both have seeded weights.

    PYTHONPATH=PACKAGES python tests/encoders/references/make_clap_text.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from seeded import state
from transformers import ClapTextConfig, ClapTextModelWithProjection, RobertaConfig, RobertaModel

CAPTIONS = ([0, 250, 2335, 31246, 2], [0, 2], [0, *range(1000, 1075), 2])


def write(name: str, model: torch.nn.Module, embed: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Write what a model says of the captions with seeded weights, and the names of its tensors."""
    shapes = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    shapes = {key: shape for key, shape in shapes.items() if not key.endswith("_ids")}
    values = {key: torch.from_numpy(np.asarray(value)) for key, value in state(shapes).items()}
    missing, unknown = model.load_state_dict(values, strict=False)
    assert not unknown, unknown
    assert all(key.endswith("_ids") for key in missing), missing
    model.eval()
    with torch.inference_mode():
        found = [
            torch.nn.functional.normalize(embed(torch.tensor([tokens])), dim=-1)[0].numpy()
            for tokens in CAPTIONS
        ]
    np.savez_compressed(
        Path(__file__).with_name(f"{name}.npz"),
        shapes=np.array(json.dumps({key: list(shape) for key, shape in shapes.items()})),
        **{json.dumps(tokens): vector for tokens, vector in zip(CAPTIONS, found, strict=True)},
    )
    print(name, [float(np.abs(vector).max()) for vector in found])


class LaionText(torch.nn.Module):
    """The text half of laion_clap."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"vocab_size": 50_265, "max_position_embeddings": 514, "type_vocab_size": 1}
        self.text_branch = RobertaModel(RobertaConfig(**sizes, layer_norm_eps=1e-5))
        self.text_projection = torch.nn.Sequential(
            torch.nn.Linear(768, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)
        )


model = ClapTextModelWithProjection(ClapTextConfig())
write("clap_text", model, lambda tokens: model(tokens).text_embeds)
laion = LaionText()
write(
    "clap_fused_text",
    laion,
    lambda tokens: laion.text_projection(laion.text_branch(tokens)["pooler_output"]),
)
