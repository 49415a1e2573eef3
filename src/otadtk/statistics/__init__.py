"""Statistics of scores: resampling, jackknife, differences and rank statistics."""
