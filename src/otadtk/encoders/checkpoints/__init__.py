"""Reads published checkpoints without running code from them."""
