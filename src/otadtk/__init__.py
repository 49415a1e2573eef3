"""otadtk: the Optimal Transport Audio Distance Toolkit."""

__version__ = "0.2.0.dev0"
