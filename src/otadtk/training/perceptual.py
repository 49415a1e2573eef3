"""The perceptual recipe: blocks on the scale of the clean clips, and a network that hears faults."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from otadtk.adapter.perceptual import PerceptualAdapter
from otadtk.encoders import EncoderSpec
from otadtk.encoders.features import full_band
from otadtk.encoders.features.measured import network_spec, parts_of
from otadtk.encoders.wrappers import split_suffixes
from otadtk.training.clean import tone_features
from otadtk.training.config import TrainingConfig
from otadtk.training.evaluation import find_faults
from otadtk.training.fault_plan import NAMES, family_of, strengths
from otadtk.training.recipes import Material, Recipe
from otadtk.training.spoil import EXCERPT
from otadtk.training.versions import VersionSet

SUFFIXES = ("+layers", "+signal", "+texture", "+spectrum", "+fullband")
"""The features beside the embedding, each a block of the metric."""
_GAINS = {
    "reconstruction": 2.0,
    "codec": 1.5,
    "stretching": 0.5,
    "denoising": 0.5,
    "timing": 0.6,
    "additive": 2.0,
}
"""How much the output of a family counts; 1 for others. What a denoiser leaves annoys listeners less
than the noise it took away, and clean speech is easily taken for stretched."""
_CLEAN_SHARE = 0.4
_JITTER = 0.1
_INPUT_DROPOUT = 0.1
_SMALLEST_SPREAD = 0.1
"""Of the median spread of a block: hardly varying channels do not count more than others."""
_FULL_BAND_SCALE = 4.0
"""The full-band features are of order one by design; the 16 kHz training sounds have none."""


def suffixes_for(spec: EncoderSpec) -> tuple[str, ...]:
    """The features that an encoder can have: layers if it names some, the full band if it divides."""
    able = {"+layers": bool(spec.layers), "+fullband": full_band.RATE % spec.sample_rate == 0}
    return tuple(suffix for suffix in SUFFIXES if able.get(suffix, True))


class PerceptualRecipe(Recipe):
    """Trains which family of faults is heard, from weight-free features of clean and spoilt clips."""

    network: PerceptualAdapter
    network_kind = "perceptual"

    def __init__(self, config: TrainingConfig, material: Material) -> None:
        super().__init__(config, material)
        assert material.faults is not None, "the perceptual variant needs versions with faults"
        spec = material.spec
        inner = network_spec(spec)
        parts = [part.dim for part, _ in parts_of(spec)]
        layers = parts[0] - inner.dim
        blocks = (inner.dim, *([layers] if layers else []), *parts[1:])
        # it listens to signal and texture features, not to what the sound is
        heard = (len(blocks) - len(parts) + 1, len(blocks) - len(parts) + 3)
        unit = not inner.unit_norm
        self.input_normalisation = "unit" if unit else "none"
        self.network = PerceptualAdapter(
            blocks, len(NAMES), config.hidden, config.dropout, heard=heard, unit_input=unit
        )
        self._scale(config)
        kept = self._kept(material.faults, config.leave_out)
        self._spoilt = self._listened(material.faults.vectors[kept])
        excerpts = material.faults.vectors[material.faults.kind == EXCERPT]
        clean = self.vectors[self.clean_train][:, parts[0] :].numpy()
        measurements = [one for _, one in parts_of(spec) if one is not None and one.rate is None]
        tones = tone_features(measurements, inner.sample_rate, config.seed)
        tones = np.pad(tones, ((0, 0), (0, clean.shape[1] - tones.shape[1])))
        self._clean = self._listened(np.concatenate([clean, excerpts, tones]))
        wanted = strengths(material.faults)[kept]
        self._targets = torch.from_numpy(np.clip(wanted / config.audible, 0.0, 1.0))
        families = [family_of(chain) for chain in material.versions.chains]
        kinds = [f or kind for f, kind in zip(families, material.versions.kind, strict=True)]
        self._by_family = replace(material.versions, kind=np.array(kinds))

    def _listened(self, measured: np.ndarray) -> Tensor:
        """What the network hears of measured features: zeros stand for the rest of a vector."""
        features = torch.from_numpy(measured)
        rest = features.new_zeros(len(features), self.network.input_dim - features.shape[1])
        standard = self.network.standard(torch.cat([rest, features], dim=1))
        return self.network.listened(standard)

    @staticmethod
    def _kept(faults: VersionSet, leave_out: str) -> np.ndarray:
        """The rows with faults, but with none of the family that is left out."""
        spoilt = faults.kind != EXCERPT
        if leave_out:
            spoilt &= strengths(faults)[:, NAMES.index(leave_out)] == 0
        return np.flatnonzero(spoilt)

    def _scale(self, config: TrainingConfig) -> None:
        """Mean, spread and scale of the features over the clean clips that are trained on."""
        network, clean = self.network, self.vectors[self.clean_train]
        embedding, *beside = network.blocks
        network.mean.copy_(clean.mean(dim=0))
        start = embedding
        for size in beside:
            spread = clean[:, start : start + size].std(dim=0)
            least = _SMALLEST_SPREAD * float(spread.median())
            network.spread[start : start + size] = spread.clamp_min(max(least, 1e-6))
            start += size
        suffixes = split_suffixes(self.material.spec.name)[1]
        full = "+fullband" in suffixes
        if full:
            network.mean[-full_band.COUNT :] = 0.0
            network.spread[-full_band.COUNT :] = 1.0
        standard = torch.split(network.standard(clean), network.blocks, dim=1)
        scales = [float(2.0 * z.var(dim=0, correction=0).sum()) ** 0.5 for z in standard]
        if full:
            scales[-1] = _FULL_BAND_SCALE
        network.scales.copy_(torch.tensor(scales).clamp_min(1e-6))
        weights = dict(zip(("", *SUFFIXES), config.block_weights, strict=True))
        network.weights.copy_(torch.tensor([weights[name] for name in ("", *suffixes)]))
        network.fault_weight.fill_(config.fault_weight)
        network.clip_weights.copy_(config.clip_block_share * network.weights)
        if "+signal" in suffixes:
            network.clip_weights[1 + suffixes.index("+signal")] = config.clip_signal_weight
        network.clip_fault_weight.fill_(config.clip_fault_weight)
        network.fault_gains.copy_(torch.tensor([_GAINS.get(name, 1.0) for name in NAMES]))

    def loss(self, rng: np.random.Generator) -> Tensor:
        """Binary cross-entropy over the families; weak faults have targets below 1."""
        batch = self.config.batch
        count = round(_CLEAN_SHARE * batch)
        clean = torch.from_numpy(rng.integers(len(self._clean), size=count))
        spoilt = torch.from_numpy(rng.integers(len(self._spoilt), size=batch - count))
        features = torch.cat([self._clean[clean], self._spoilt[spoilt]])
        features = features + _JITTER * torch.randn_like(features)
        features = functional.dropout(features, _INPUT_DROPOUT)
        heard = self._targets[spoilt]
        targets = torch.cat([heard.new_zeros(count, heard.shape[1]), heard])
        logits = self.network.hears(features)
        return functional.binary_cross_entropy_with_logits(logits, targets)

    def validate(self) -> dict[str, float]:
        """Detection of every family by the nearest reference, and 1-NN accuracy."""
        points = self.points()
        found = self._families(points.numpy(), exact=False)
        mean = float(np.mean(list(found.values()))) if found else 0.5
        return {"score": mean, "class 1-nn": self.nearest_class(points.numpy()), **found}

    def _families(self, points: np.ndarray, *, exact: bool) -> dict[str, float]:
        m = self.material
        return find_faults(
            points, m.clips, self._by_family, m.validation, NAMES,
            draws=2, seed=self.config.seed, exact=exact,
        )  # fmt: skip

    def _figures(self, points: Tensor) -> dict[str, float]:
        figures = super()._figures(points)
        families = self._families(points.numpy(), exact=True)
        figures.update({f"auroc {name}": value for name, value in families.items()})
        if families:
            figures["auroc, families"] = float(np.mean(list(families.values())))
        return figures
