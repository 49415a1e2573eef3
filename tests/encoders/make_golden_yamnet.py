"""Writes golden_yamnet.json: every 16th dimension of YAMNet's vector of each golden clip.

.venv/bin/python tests/encoders/make_golden_yamnet.py
"""

import json
from pathlib import Path

from golden_clips import CLIPS, golden_clip

from otadtk import get_encoder

yamnet = get_encoder("yamnet", device="cpu")
golden = {
    name: [round(float(v), 7) for v in yamnet.encode(golden_clip(name), 16_000)[::16]]
    for name in CLIPS
}
(Path(__file__).parent / "golden_yamnet.json").write_text(json.dumps(golden, indent=1) + "\n")
