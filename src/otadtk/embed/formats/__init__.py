"""Sets of embeddings in files: one module for each format, and the table of all.

table          which suffix is read and written by what; export
npy, npz       numpy arrays and archives
array_folder   one .npy file for each clip
parquet, pack  tables and reference packs
moments        a mean and a covariance
caches         the caches of other tools (names: what they call the encoders)
precomputed    checks that all formats have in common
"""
