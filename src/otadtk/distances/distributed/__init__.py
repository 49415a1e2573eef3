"""The same distances with their work spread over an engine."""
