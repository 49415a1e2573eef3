"""Layouts in which listening tests come: general CSV, results of webMUSHRA, matrices."""
