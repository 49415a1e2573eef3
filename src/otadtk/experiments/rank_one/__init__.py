"""Response of each metric to rank-1 outliers (one point) and full-rank outliers (5.2)."""
