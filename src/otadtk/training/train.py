"""Trains an adapter: embed the clips, fit, keep the best epoch, write the file."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import LoadedAdapter, adapter_for, read_adapter, save_adapter
from otadtk.adapter.network import RiemannianAdapter
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import EncoderSpec, get_spec
from otadtk.encoders.wrappers import wrap
from otadtk.engine import LocalEngine
from otadtk.engine.progress import progress_bar
from otadtk.errors import UsageError
from otadtk.files.atomic import replacing
from otadtk.training.config import TrainingConfig
from otadtk.training.curve import draw_curve
from otadtk.training.datasets import LabelledClip, read_dataset
from otadtk.training.fault_plan import training_plan, validation_plan
from otadtk.training.losses import is_finite
from otadtk.training.perceptual import PerceptualRecipe, suffixes_for
from otadtk.training.recipes import (
    AgnosticRecipe,
    ArtifactRecipe,
    Material,
    NativeRecipe,
    Recipe,
)
from otadtk.training.split import held_out
from otadtk.training.spoil import OwnFaults, check_own_faults
from otadtk.training.versions import embed_versions, plan_versions

logger = logging.getLogger(__name__)

Row = dict[str, float]


@dataclass(frozen=True)
class Trained:
    """The results of a run: the adapter's path and card, the log of epochs and the curve."""

    path: Path
    card: AdapterCard
    log: Path
    picture: Path


def train_adapter(
    model: str,
    data: Path | str,
    out: Path | str,
    config: TrainingConfig | None = None,
    *,
    labels: Path | str | None = None,
    start: Path | str | None = None,
    licence: str = "unknown",
    faults: OwnFaults | None = None,
    device: str | None = None,
    weights: Path | None = None,
    cache_dir: Path | None = None,
    workers: int | None = None,
) -> Trained:
    """Train an adapter of ``model`` on the clips below ``data`` and write it to ``out``.

    ``labels`` is a CSV with the columns file and label; without it the class is the folder. The
    native variant continues from ``start``, or else from the encoder's agnostic adapter. The log
    (.csv) and the curve (.svg) are written beside ``out``. The same call resumes a killed run.
    ``out`` is written only at the end.

    ``faults`` are kinds of fault of your own by name, for the artifact variant: functions of (mono
    waveform, sample rate, random generator, strength from 0 to 1) that return the faulty waveform.
    They are trained on beside the built-in kinds.
    """
    config = config or TrainingConfig()
    target = Path(out)
    if not isinstance(licence, str) or licence != licence.encode(errors="replace").decode():
        raise UsageError(f"The licence (--licence) must be valid text, not {licence!r}.")
    beginning = _starting_adapter(config, model, start)
    material = prepare(
        model, data, config,
        labels=labels, device=device, weights=weights, cache_dir=cache_dir, workers=workers,
        faults=faults,
    )  # fmt: skip
    spec = material.spec
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        recipe = _recipe(config, material, beginning)
        history = fit(recipe, config, target)
        recipe.network.eval().requires_grad_(False)
        figures = recipe.figures()
    card = AdapterCard(
        spec.name,
        spec.fingerprint,
        config.variant,
        network=recipe.network_kind,
        input_normalisation=recipe.input_normalisation,
        training=config.to_card() | ({"own_faults": list(faults)} if faults else {}),
        data=describe(material.clips, material.train, material.validation),
        seed=config.seed,
        validation=figures,
        licence=licence,
        origin="trained by otadtk-train"
        + (f" from the adapter with content {beginning.card.content}" if beginning else ""),
    )
    card = save_adapter(recipe.network, target, spec, config.variant, card)
    log, picture = target.with_suffix(".csv"), target.with_suffix(".svg")
    _write(log, _table(history))
    _write(picture, draw_curve(history, f"{spec.name}, {config.variant}"))
    _resume_path(target).unlink(missing_ok=True)
    return Trained(target, card, log, picture)


def prepare(
    model: str,
    data: Path | str,
    config: TrainingConfig,
    *,
    labels: Path | str | None = None,
    device: str | None = None,
    weights: Path | None = None,
    cache_dir: Path | None = None,
    workers: int | None = None,
    faults: OwnFaults | None = None,
) -> Material:
    """The clips and their versions for a run, embedded; the arguments are those of ``train_adapter``."""
    own = dict(faults or {})
    check_own_faults(own)
    if own and config.variant != "artifact":
        raise UsageError(f"Own faults are for the artifact variant, not {config.variant!r}.")
    clips = read_dataset(Path(data), Path(labels) if labels is not None else None)
    train, validation = held_out(clips, config.seed)
    plain = get_spec(model)
    spec = wrap(plain, _suffixes(config.variant, plain))
    encoder = LazyEncoder(spec, device, weights)
    store = EmbeddingStore(Path(cache_dir) if cache_dir is not None else None)
    engine = LocalEngine(workers)
    spoilt = None
    if config.variant == "perceptual":
        plan = validation_plan(clips, validation, config.seed)
        spoilt = embed_versions(
            clips, training_plan(clips, train, config.seed, config.single_faults), encoder, store,
            engine=engine, measured_only=True,
        )  # fmt: skip
    else:
        plan = plan_versions(clips, config.seed, config.other_kinds, validation.tolist(), list(own))
    versions = embed_versions(clips, plan, encoder, store, engine=engine, own=own)
    if not np.isfinite(versions.vectors).all():
        raise UsageError(f"{model!r} gives vectors that are not finite; it cannot be trained on.")
    return Material(spec, clips, versions, train, validation, spoilt, tuple(own))


def _suffixes(variant: str, spec: EncoderSpec) -> Sequence[str]:
    """The features beside the embedding that the adapters of a variant take."""
    if variant == "perceptual":
        return suffixes_for(spec)
    return ["+signal"] if variant == "artifact" else []


def describe(clips: Sequence[LabelledClip], train: Any, validation: Any) -> str:
    """One sentence on the data for the card, without paths."""
    sources = Counter(clip.source for clip in clips)
    named = ", ".join(f"{name} {count}" for name, count in sources.most_common())
    classes = len({clip.label for clip in clips})
    held = len({clip.label for clip, one in zip(clips, validation, strict=True) if one})
    return (
        f"{len(clips)} clips of {classes} classes ({named}); {int(train.sum())} trained on, "
        f"{int(validation.sum())} of {held} classes held out"
    )


def _starting_adapter(
    config: TrainingConfig, model: str, start: Path | str | None
) -> LoadedAdapter | None:
    """The agnostic adapter that a native run continues; ``None`` for other variants."""
    if config.variant != "native":
        if start is not None:
            raise UsageError("Only the native variant continues from an adapter.")
        return None
    spec = get_spec(model)
    loaded = read_adapter(Path(start), spec) if start else adapter_for(spec, "agnostic")
    if loaded is None or not isinstance(loaded.network, RiemannianAdapter):
        raise UsageError(f"A native adapter continues from an agnostic one, not {start}.")
    return loaded


def _recipe(config: TrainingConfig, material: Material, start: LoadedAdapter | None) -> Recipe:
    if config.variant == "artifact":
        return ArtifactRecipe(config, material)
    if config.variant == "perceptual":
        return PerceptualRecipe(config, material)
    if start is not None and isinstance(start.network, RiemannianAdapter):
        return NativeRecipe(config, material, start.network)
    return AgnosticRecipe(config, material)


def fit(recipe: Recipe, config: TrainingConfig, target: Path) -> list[Row]:
    """Train until validation stops improving; keeps the best network and returns all epochs."""
    optimiser = torch.optim.AdamW(
        recipe.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    state = _Progress.load(_resume_path(target), _identity(recipe, config))
    if state is not None:
        recipe.network.load_state_dict(state.network)
        optimiser.load_state_dict(state.optimiser)
        logger.info("resuming after epoch %d", len(state.history))
    history = list(state.history) if state is not None else []
    best = state.best if state is not None else _copy(recipe)
    total = config.epochs * config.steps
    bar = progress_bar(total=total, desc=config.variant, unit="step")
    bar.update(len(history) * config.steps)
    with bar:
        for epoch in range(len(history), config.epochs):
            if _exhausted(history, config.patience):
                break
            # seed every epoch, so that a resumed run gives the same result as an unbroken one
            rng = np.random.default_rng([config.seed, 5, epoch])
            torch.manual_seed(config.seed * 100_003 + epoch)
            losses = []
            recipe.network.train()
            for step in range(config.steps):
                _set_rate(optimiser, config, epoch * config.steps + step, total)
                loss = recipe.loss(rng)
                if not is_finite(loss):
                    raise UsageError(
                        f"The loss is {float(loss.detach())} in epoch {epoch + 1}, step "
                        f"{step + 1}: training diverges; lower --learning-rate "
                        f"({config.learning_rate:g}). Nothing was written."
                    )
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(recipe.network.parameters(), 1.0)
                optimiser.step()
                losses.append(float(loss.detach()))
                bar.update()
            recipe.network.eval()
            row = {"epoch": float(epoch + 1), "loss": float(np.mean(losses)), **recipe.validate()}
            history.append(row)
            bar.set_postfix(loss=f"{row['loss']:.4f}", score=f"{row['score']:.4f}")
            if row["score"] >= max(one["score"] for one in history):
                best = _copy(recipe)
            _Progress(
                _identity(recipe, config), recipe.network.state_dict(), optimiser.state_dict(),
                best, history,
            ).save(_resume_path(target))  # fmt: skip
    recipe.network.load_state_dict(best)
    return history


def _set_rate(
    optimiser: torch.optim.Optimizer, config: TrainingConfig, step: int, total: int
) -> None:
    """A short warm-up, then a linear decay to a twentieth."""
    warm = min(1.0, (step + 1) / max(1, total // 20))
    for group in optimiser.param_groups:
        group["lr"] = config.learning_rate * warm * max(0.05, 1.0 - step / total)


def _exhausted(history: Sequence[Row], patience: int) -> bool:
    if len(history) <= patience:
        return False
    scores = [row["score"] for row in history]
    return max(scores[-patience:]) <= max(scores[:-patience])


def _copy(recipe: Recipe) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in recipe.network.state_dict().items()}


def _resume_path(target: Path) -> Path:
    return target.with_name(target.name + ".resume")


def _identity(recipe: Recipe, config: TrainingConfig) -> str:
    """A hash of configuration, encoder and vectors; a resumed run must have the same."""
    digest = hashlib.sha256(json.dumps(config.to_card(), sort_keys=True).encode())
    digest.update(recipe.material.spec.fingerprint.encode())
    digest.update(recipe.vectors.numpy().tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class _Progress:
    """The state of a run after an epoch."""

    identity: str
    network: dict[str, torch.Tensor]
    optimiser: dict[str, Any]
    best: dict[str, torch.Tensor]
    history: list[Row]

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        torch.save({f.name: getattr(self, f.name) for f in dataclasses.fields(self)}, buffer)
        _write(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path, identity: str) -> _Progress | None:
        """The state of a killed run; ``None`` if there is none, it is corrupted, or not the same."""
        if not path.is_file():
            return None
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
            progress = cls(**content)
        except Exception as error:  # torch raises many kinds for a corrupted file
            logger.warning("%s cannot be read (%s); training restarts", path, error)
            return None
        if progress.identity != identity:
            logger.warning("%s belongs to another run; training restarts", path)
            return None
        return progress


def _table(history: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(history[0]), lineterminator="\n", restval="")
    writer.writeheader()
    for row in history:
        writer.writerow({name: f"{value:.6g}" for name, value in row.items()})
    return text.getvalue().encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
