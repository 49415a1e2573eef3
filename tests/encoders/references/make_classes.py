"""Writes class_scores.npz: the class scores of the originals for one clip, with seeded weights.

Run it like make.py:

    build/originals/environment/bin/python tests/encoders/references/make_classes.py build/originals

PANNs give probabilities, AST gives logits.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from originals_convolutional import seed_weights
from originals_transformer import _from_pretrained
from seeded import clip

ORIGINALS = Path(sys.argv[1])
PANNS = {
    "panns": ("Cnn14", 32_000),
    "panns_16k": ("Cnn14_16k", 16_000),
    "panns_wglm": ("Wavegram_Logmel_Cnn14", 32_000),
}


def panns(name: str) -> np.ndarray:
    sys.path.insert(0, str(ORIGINALS))
    import panns_models

    network_class, rate = PANNS[name]
    highest = 14_000 if rate == 32_000 else 8_000
    network = getattr(panns_models, network_class)(
        rate, rate // 1000 * 32, rate // 100, 64, 50, highest, 527
    )
    seed_weights(network, keep=("spectrogram_extractor",))
    waveform = torch.from_numpy(clip("voice", 5 * rate, rate))[None]
    return network(waveform)["clipwise_output"][0].numpy()


def ast() -> np.ndarray:
    from transformers import ASTConfig, ASTFeatureExtractor, ASTForAudioClassification

    with np.load(Path(__file__).with_name("ast.npz")) as known:
        shapes = {k: tuple(v) for k, v in json.loads(str(known["shapes"])).items()}
    model = _from_pretrained(ASTForAudioClassification, ASTConfig(num_labels=527), shapes)
    waveform = clip("voice", 80_000, 16_000)
    inputs = ASTFeatureExtractor()(waveform, sampling_rate=16_000, return_tensors="pt")
    return model(**inputs).logits[0].numpy()


with torch.inference_mode():
    found = {name: panns(name) for name in PANNS}
    found["ast"] = ast()
np.savez_compressed(Path(__file__).with_name("class_scores.npz"), **found)
print({name: (float(v.min()), float(v.max())) for name, v in found.items()})
