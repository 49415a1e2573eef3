"""Distances between two sets of vectors: pure functions of tensors, no files, no logging."""
