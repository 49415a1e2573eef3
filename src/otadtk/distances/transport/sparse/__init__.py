"""Solvers for plans that live on few pairs: the sharp regime and exact transport."""
