"""What commands know of their inputs: systems, pairs, and how clips are prepared."""
