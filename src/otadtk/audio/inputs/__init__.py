"""What a user may name as clips: folders, files, globs, lists, manifests, shards, waveforms.

    clip.py       Clip: where the bytes of a clip are, which part is heard, and what is known of it
    resolve.py    from what the user names to clips
    manifest.py   CSV and JSONL with a row for each clip, and lists of files
    tar.py        clips inside tar shards (WebDataset)
    compressed.py compressed shards, read forwards
    parquet.py    clips inside Parquet tables (Hugging Face datasets)
    waveforms.py  arrays in memory

A reader opens a clip by ``opened`` and hears its ``excerpt``.
"""

from __future__ import annotations

from otadtk.audio.inputs.clip import COLUMNS, Clip, each_channel, opened
from otadtk.audio.inputs.compressed import COMPRESSED
from otadtk.audio.inputs.resolve import find_clips, may_have_columns

__all__ = [
    "COLUMNS",
    "COMPRESSED",
    "Clip",
    "each_channel",
    "find_clips",
    "may_have_columns",
    "opened",
]
