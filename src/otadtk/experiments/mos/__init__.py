"""Correlation of distances with human ratings, by system and category (5.5, B.3)."""
