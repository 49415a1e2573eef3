"""Training of adapters: labelled clips, their spoilt versions, and what is learned from them."""
