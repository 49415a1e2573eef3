"""The names of encoders in other tools, where the network and the weights are the same."""

from __future__ import annotations

from otadtk.encoders import EncoderSpec

FADTK_NAMES = {"vggish": "vggish", "encodec": "encodec-emb", "clap": "clap-laion-audio"}
KADTK_NAMES = {
    **FADTK_NAMES,
    "openl3": "openl3-mel256-music",
    "panns": "panns-cnn14-32k",
    "panns_wglm": "panns-wavegram-logmel",
}
OTADTK_NAMES = {
    name: name for name in ("vggish", "encodec", "clap", "openl3", "ast", "panns", "panns_wglm")
}
"""otadtk 0.1.2 has ``audiomae`` and ``beats`` too, but runs other networks under these names."""


def plain_name(spec: EncoderSpec) -> str:
    """The encoder's name without the suffix for frames: "vggish" of "vggish@kadtk"."""
    return spec.name.partition("@")[0]
