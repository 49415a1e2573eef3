"""Squared Euclidean costs between points, in tiles, and what is kept of them."""
