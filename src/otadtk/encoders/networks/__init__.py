"""The built-in encoders: one folder each, its spec beside its network.

Importing this imports the specs only, neither torch nor any network.
"""

from __future__ import annotations

from importlib import import_module

from otadtk.encoders.spec import EncoderSpec

_FOLDERS = (
    "yamnet",
    "logmel",
    "vggish",
    "encodec",
    "clap",
    "openl3",
    "audiomae",
    "ast",
    "beats",
    "panns",
    "wav2vec2",
    "whisper",
    "musicnn",
    "ecapa",
    "cdpam",
    "passt",
)
"""Each folder names its specs in ``SPECS``; their loaders name the network's module."""


def _specs(folder: str) -> tuple[EncoderSpec, ...]:
    specs: tuple[EncoderSpec, ...] = import_module(f"otadtk.encoders.networks.{folder}").SPECS
    return specs


BUILT_IN: dict[str, EncoderSpec] = {spec.name: spec for f in _FOLDERS for spec in _specs(f)}
"""Every built-in encoder by name."""
