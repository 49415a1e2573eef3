"""Detection of bad clips by the transport costs c_j, with twins in the reference and without (5.4)."""
