"""Builds the documentation: generated pages, equations, pictures and the gallery."""
