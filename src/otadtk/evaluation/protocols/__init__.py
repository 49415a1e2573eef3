"""Protocols: which numbers a tool or a paper reports, and how exactly each is computed."""
