"""Solvers for plans in which every pair counts: the smooth regime."""
