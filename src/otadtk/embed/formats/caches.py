"""The caches of kadtk, fadtk and otadtk 0.1.2: read beside the audio, and kadtk's written.

kadtk and fadtk use the same path, ``<folder>/embeddings/<model>/<stem>.npy``, and pool some models
differently. Their files cannot be told apart, so the user names the tool.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from otadtk.audio.find import find_audio
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.names import FADTK_NAMES, KADTK_NAMES, OTADTK_NAMES, plain_name
from otadtk.embed.formats.npy import load_npy
from otadtk.embed.formats.precomputed import check_vectors, precomputed_clips
from otadtk.encoders import EncoderSpec
from otadtk.encoders.precomputed import GIVEN
from otadtk.errors import AudioError, UsageError
from otadtk.files.atomic import replacing

logger = logging.getLogger(__name__)

_LAYOUTS = {
    # tool: (folder of the cache, its names of the models, whether it holds frames)
    "kadtk": ("embeddings", KADTK_NAMES, True),
    "fadtk": ("embeddings", FADTK_NAMES, True),
    "otadtk-0.1.2": ("embedding", OTADTK_NAMES, False),
}
CACHES = tuple(_LAYOUTS)
_KADTK_STATISTICS = ("fad_stats", "kernel_stats")
_SHOWN = 5


def read_cache(path: Path, spec: EncoderSpec, tool: str, *, recursive: bool = True) -> EmbeddingSet:
    """The set that a tool cached for the audio of a folder; every clip must be there, once."""
    folder, model, by_frames = _layout(spec, tool)
    files = find_audio(path, recursive=recursive, caches_expected=True)
    entries = _entries(files, folder, model)
    missing = [file for file, entry in entries.items() if not entry.is_file()]
    if missing:
        raise AudioError(
            f"{tool} has cached {len(files) - len(missing)} of {len(files)} clips of {path} for "
            f"{model!r}; not there: {_some(missing)}."
        )
    older = [f for f, entry in entries.items() if entry.stat().st_mtime < f.stat().st_mtime]
    if older:
        logger.warning(
            "%d cached embeddings are older than their audio: %s", len(older), _some(older)
        )
    clips = []
    for entry in entries.values():
        array = load_npy(entry)
        if array.ndim != (2 if by_frames else 1):
            raise AudioError(f"{entry} is not as {tool} writes it: its shape is {array.shape}.")
        clips.append(check_vectors(np.atleast_2d(array), entry, spec))
    names = [str(file.relative_to(path)) if path.is_dir() else file.name for file in files]
    root = path if path.is_dir() else path.parent
    return precomputed_clips(root, names, clips, tool if by_frames else None)


def write_kadtk_layout(embedded: EmbeddingSet, spec: EncoderSpec) -> list[Path]:
    """Write the frames of each clip where kadtk looks for them, as float16; gives these files."""
    folder, model, _ = _layout(spec, "kadtk")
    entries = _entries(embedded.files, folder, model)
    for entry, frames in zip(entries.values(), embedded.frames_by_clip(), strict=True):
        content = io.BytesIO()
        np.save(content, frames.astype(np.float16), allow_pickle=False)
        entry.parent.mkdir(parents=True, exist_ok=True)
        with replacing(entry) as file:
            file.write(content.getvalue())
    for folder_of_clips in dict.fromkeys(file.parent for file in embedded.files):
        kept = [folder_of_clips / kind / model for kind in _KADTK_STATISTICS]
        if older := [str(path) for path in kept if path.exists()]:
            logger.warning(
                "kadtk scores from what it kept of earlier embeddings, not from these, until you "
                "remove %s",
                " and ".join(older),
            )
    return list(entries.values())


def _layout(spec: EncoderSpec, tool: str) -> tuple[str, str, bool]:
    if tool not in _LAYOUTS:
        raise UsageError(f"Unknown cache {tool!r}; choose from {', '.join(CACHES)}.")
    folder, names, by_frames = _LAYOUTS[tool]
    plain = plain_name(spec)
    if plain not in names:
        raise UsageError(
            f"{tool} has no cache for {plain!r}; it shares with otadtk: "
            f"{', '.join(sorted(names))}."
            + (f" The model {GIVEN.name!r} reads files, not caches." if plain == GIVEN.name else "")
        )
    return folder, names[plain], by_frames


def _entries(files: Sequence[Path], folder: str, model: str) -> dict[Path, Path]:
    """Where the tool keeps each file's embedding; files that would share one are an error."""
    entries = {file: file.parent / folder / model / f"{file.stem}.npy" for file in files}
    owners: dict[Path, Path] = {}
    for file, entry in entries.items():
        if entry in owners:
            raise AudioError(f"{owners[entry]} and {file} share one place in the cache: {entry}.")
        owners[entry] = file
    return entries


def _some(files: Sequence[Path]) -> str:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(str(file) for file in files[:_SHOWN]) + more
