"""The record of a run as JSON, and as a methods paragraph with references."""
