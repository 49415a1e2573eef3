"""Predicted quality of single speech clips, without a reference.

    measures    what can be predicted, by name, and the ratings of files
    dnsmos      DNSMOS P.835: speech, background and overall quality
    distillmos  DistillMOS: overall quality

These are columns beside the costs of clips. No distance uses them.
"""

from __future__ import annotations

from otadtk.quality.measures import MEASURES, parse_measures, rate_clips

__all__ = ["MEASURES", "parse_measures", "rate_clips"]
