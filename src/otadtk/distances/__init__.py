"""Distances between two sets of embeddings: pure functions of tensors, without files or state."""
