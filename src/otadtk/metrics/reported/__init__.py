"""The metrics that papers report beside FAD: PRDC, Vendi Score, KID, KL, Inception Score and more."""
