"""Cost and coupling, corrected alone and together, on four axes (5.3, B.2)."""
