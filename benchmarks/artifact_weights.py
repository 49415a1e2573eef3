"""Measures the effect of the artifact adapter's two weights on held-out classes.

    python benchmarks/artifact_weights.py SOUNDS ADAPTER [--csv TABLE]

ADAPTER was trained on SOUNDS by otadtk-train --variant artifact; embeddings come from the store.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import torch

from otadtk.adapter.artifact import ArtifactAdapter
from otadtk.adapter.files import read_adapter
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.training.config import TrainingConfig
from otadtk.training.datasets import read_dataset
from otadtk.training.evaluation import find_faults
from otadtk.training.recipes import TRAINED, ArtifactRecipe, Material
from otadtk.training.split import held_out
from otadtk.training.versions import UNSEEN, embed_versions, plan_versions

WEIGHTS = (
    (0.0, 0.0),
    (0.0, 0.05),
    (0.0, 0.1),
    (0.0, 0.2),
    (0.2, 0.0),
    (0.4, 0.0),
    (0.8, 0.0),
    (0.3, 0.05),
    (0.3, 0.1),
    (0.3, 0.15),
    (0.4, 0.15),
    (0.8, 0.15),
    (0.4, 0.3),
)


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sounds", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("--model", default="yamnet")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    loaded = read_adapter(options.adapter, get_spec(options.model))
    network = loaded.network
    assert isinstance(network, ArtifactAdapter)
    config = TrainingConfig(**loaded.card.training)
    clips = read_dataset(options.sounds)
    train, validation = held_out(clips, config.seed)
    plan = plan_versions(clips, config.seed, config.other_kinds, validation.tolist())
    versions = embed_versions(clips, plan, LazyEncoder(loaded.spec), EmbeddingStore())
    recipe = ArtifactRecipe(config, Material(loaded.spec, clips, versions, train, validation))
    recipe.network = network
    rows = []
    for fault, feature in WEIGHTS:
        network.fault_weight.fill_(fault)
        network.feature_weight.fill_(feature)
        points = recipe.points().numpy()
        means = [
            np.mean(
                list(
                    find_faults(
                        points, clips, versions, validation, kinds,
                        draws=2, seed=config.seed, exact=True,
                    ).values()
                )
            )
            for kinds in (TRAINED, UNSEEN)
        ]  # fmt: skip
        rows.append((fault, feature, *means, recipe.nearest_class(points)))
        print("alpha {:g}, beta {:g}: trained {:.3f}, unseen {:.3f}, 1-NN {:.3f}".format(*rows[-1]))
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["alpha", "beta", "trained", "unseen", "class 1-nn"])
            writer.writerows([f"{value:.4g}" for value in row] for row in rows)


if __name__ == "__main__":
    main()
