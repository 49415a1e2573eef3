"""Our KAD against kadtk, our OTAD against otadtk 0.1.2, on the same embeddings (B.3)."""
