"""Bounds of the true value around every solution."""
