"""The score against the regularisation ε, absolute and relative to the mean cost (5.6)."""
