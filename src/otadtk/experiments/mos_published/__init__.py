"""Correlations of published distances with published ratings, as a check of the code (B.3)."""
