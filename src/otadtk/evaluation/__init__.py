"""Scores and audits sets of clips: two sets, or several systems against one reference."""
