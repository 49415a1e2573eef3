"""Options, checks and output that several commands share."""
