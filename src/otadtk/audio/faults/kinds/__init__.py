"""The kinds of fault, one module for each family."""
