"""Proves an encoder by FAD scores that others published with its real weights.

The source distribution of fadtk 1.1.0 holds 23 music clips, the FAD of each against the statistics
``fma_pop``, and these statistics. An encoder with the right network, front end and weights gives the
same scores.
"""

from __future__ import annotations

import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.encoders import Encoder, EncoderSpec, load_encoder
from otadtk.errors import UsageError
from otadtk.weights import PackageMember, extract_folder, obtain_package

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

TOLERANCE = 0.05
"""fadtk's own: the largest difference, as a share of the mean score."""
_ROOT = "fadtk-1.1.0/fadtk"
FADTK = PackageMember(
    distribution="fadtk",
    version="1.1.0",
    archive="fadtk-1.1.0.tar.gz",
    archive_digest="sha256:8f419d90ad0a88887921ff744e6f9269b508d3aa28943fb80fe4df1664328766",
    member=f"{_ROOT}/stats/fma_pop.npz",
)
_ALL = "all"
"""The row of the table that is of all clips together."""


@dataclass(frozen=True)
class Verification:
    """The scores of one encoder beside the published ones."""

    clips: tuple[str, ...]
    ours: tuple[float, ...]
    published: tuple[float, ...]

    @property
    def deviations(self) -> tuple[float, ...]:
        """The difference of each score, as a share of the mean of the published ones."""
        mean = sum(self.published) / len(self.published)
        return tuple(abs(a - b) / mean for a, b in zip(self.ours, self.published, strict=True))

    @property
    def passed(self) -> bool:
        """Whether no score deviates by more than the tolerance."""
        return max(self.deviations) <= TOLERANCE

    @property
    def summary(self) -> str:
        """One line: pass or fail, and the largest deviation."""
        worst = max(range(len(self.clips)), key=self.deviations.__getitem__)
        return (
            f"{'pass' if self.passed else 'FAIL'}: {len(self.clips)} published FAD scores, largest "
            f"deviation {100 * self.deviations[worst]:.2g} % of their mean ({self.clips[worst]}: "
            f"{self.ours[worst]:.4g} here, {self.published[worst]:.4g} published; "
            f"{100 * TOLERANCE:g} % allowed)"
        )


def verify(spec: EncoderSpec, device: torch.device, weights: Path | None = None) -> Verification:
    """The FAD scores of an encoder on fadtk's clips, beside the published ones."""
    from otadtk.encoders.frames import with_frames

    if not spec.published_scores:
        raise UsageError(f"No scores are published for {spec.name!r}: it cannot be verified.")
    encoder = load_encoder(with_frames(spec, "fadtk"), device, weights)
    archive = obtain_package("fadtk's published scores", FADTK)
    with tempfile.TemporaryDirectory() as scratch:
        folder = extract_folder(archive, _ROOT, Path(scratch))
        published = _published(folder / "test" / "samples_FAD_scores.csv", spec.published_scores)
        frames = {
            name: _frames(encoder, folder / "test" / "samples" / f"{name}.opus")
            for name in published
            if name != _ALL
        }
        ours = _scores(folder / "stats" / "fma_pop.npz", spec.published_scores, frames)
    return Verification(
        tuple(published), tuple(ours[name] for name in published), tuple(published.values())
    )


def _published(path: Path, name: str) -> dict[str, float]:
    column = f"FAD_{name.replace('-', '_')}_fma_pop"
    with path.open(newline="", encoding="utf-8") as file:
        return {
            row["song_id"].rpartition("/")[2]: float(row[column]) for row in csv.DictReader(file)
        }


def _frames(encoder: Encoder, path: Path) -> NDArray[np.float32]:
    import torch

    from otadtk.audio.decode import AudioReader
    from otadtk.encoders.pooling import join, split

    blocks = AudioReader(path, encoder.spec.sample_rate)
    segments = [torch.from_numpy(segment) for segment in split(blocks, encoder.spec)]
    frames: NDArray[np.float32] = join(encoder.encode_segments(segments)).frames.cpu().numpy()
    return frames


def _scores(
    statistics: Path, name: str, frames: dict[str, NDArray[np.float32]]
) -> dict[str, float]:
    import numpy as np

    from otadtk.distances.frechet import frechet_distance
    from otadtk.distances.moments import Moments, moments

    with np.load(statistics) as file:
        reference = Moments(None, file[f"{name}.mu"], covariance=file[f"{name}.cov"])
    scores = {clip: frechet_distance(reference, moments(f)) for clip, f in frames.items()}
    together = np.concatenate(list(frames.values()))
    return {**scores, _ALL: frechet_distance(reference, moments(together))}
