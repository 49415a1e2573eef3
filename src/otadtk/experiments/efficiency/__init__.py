"""Time and memory of the metrics against the number of clips, one thread each (5.6)."""
