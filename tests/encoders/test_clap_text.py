"""CLAP's text half: equal to transformers on seeded weights, and clear about captions."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch

from otadtk.encoders.checkpoints.matching import arrange, fill, on_meta
from otadtk.encoders.networks.clap import text
from otadtk.encoders.networks.clap.text import ClapText, ClapTextNetwork
from otadtk.errors import UsageError

from .seeded_checkpoints import REFERENCES, official_tensors


def seeded(model: str) -> ClapTextNetwork:
    torch.set_num_threads(1)
    published = text.PUBLISHED[model]
    empty = on_meta(lambda: ClapTextNetwork(published.epsilon))
    names = partial(text._published_name, published)
    return fill(model, empty, arrange(model, official_tensors(f"{model}_text"), empty, names))


@pytest.mark.parametrize("model", ["clap", "clap_fused"])
def test_equals_transformers(model: str) -> None:
    network = seeded(model)
    with np.load(REFERENCES / f"{model}_text.npz") as known, torch.inference_mode():
        for name in known.files:
            if name != "shapes":
                found = network(torch.tensor([json.loads(name)]))[0].numpy()
                assert found == pytest.approx(known[name], abs=2e-6)


class Letters:
    """Stands for a tokenizer: every letter is a token."""

    class Encoding:
        def __init__(self, ids: list[int]) -> None:
            self.ids = ids

    def encode(self, caption: str) -> Letters.Encoding:
        return Letters.Encoding([0, *(ord(letter) for letter in caption), 2])


def test_captions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LAYERS", 1)
    torch.manual_seed(0)
    network = ClapTextNetwork(1e-5).eval()
    clap = ClapText(network, Letters())  # type: ignore[arg-type]
    both = clap.encode(["a dog barks", "rain"])
    assert both.shape == (2, 512)
    assert both.norm(dim=1).numpy() == pytest.approx(np.ones(2), rel=1e-5)
    assert torch.equal(both[1], clap.encode(["rain"])[0])
    with pytest.raises(UsageError, match="empty"):
        clap.encode(["rain", "  "])
    with pytest.raises(UsageError, match="has 82 tokens, and CLAP reads 77 at most"):
        clap.encode([80 * "a"])
    cut = clap.encode([80 * "a"], cut=True)
    assert torch.equal(cut, clap.encode([75 * "a"]))
    assert not torch.equal(cut, clap.encode([74 * "a"]))
