"""Training of adapters on labelled clips and degraded versions of them."""
