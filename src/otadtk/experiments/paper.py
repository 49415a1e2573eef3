"""The paper's numbers, shown beside ours (arXiv 2605.05554, tables of Sections 5 and B)."""

from __future__ import annotations

RANK_ONE = {
    "VGGish": (128, 0.9, 23.8, 2.4, 41.5),
    "EnCodec": (128, 0.2, 50.1, 0.4, 48.9),
    "OpenL3": (512, 0.5, 25.1, 1.6, 44.8),
    "CLAP": (512, 0.5, 17.4, 1.0, 21.0),
    "AudioMAE": (768, 0.1, 22.2, 0.5, 43.0),
    "AST": (768, 0.2, 23.1, 0.6, 42.3),
    "BEATs": (768, 0.4, 36.4, 0.9, 43.9),
    "PANNs": (2048, 0.3, 21.5, 1.0, 39.3),
}
"""d, FAD R1/FR, FAD/EOT, Sinkhorn R1/FR, Sinkhorn/EOT, in percent (Table rank1-fr)."""

FACTORS = {
    "VGGish": ("0.11–0.33", "0.02–0.09", "0.04–0.17", "cost (3/4)"),
    "EnCodec": ("0.22–0.69", "0.02–0.08", "0.03–0.17", "cost (4/4)"),
    "CLAP": ("0.00–0.17", "0.00–0.08", "0.03–0.16", "cost (3/4)"),
    "OpenL3": ("0.02–0.33", "0.00–0.10", "0.01–0.21", "cost (3/4)"),
    "AudioMAE": ("0.00–0.04", "0.00–0.03", "0.02–0.06", "synergy (3/4)"),
    "AST": ("0.00–0.09", "0.00–0.02", "0.00–0.05", "mixed (2/4)"),
    "BEATs": ("0.36–0.59", "0.05–0.16", "0.10–0.32", "cost (4/4)"),
    "PANNs": ("0.03–0.07", "0.02–0.06", "0.03–0.12", "synergy (4/4)"),
}
"""Ranges of |Δ| of cost, measure and synergy over four axes, and the dominant factor (agnostic)."""

NATIVE_RECALL = {
    "VGGish": (-0.56, -0.14, -0.28, -42, -73),
    "CLAP": (-0.78, -0.22, -0.44, -56, -100),
    "PANNs": (-0.59, 0.00, 0.00, -70, -81),
    "AudioMAE": (-0.33, -0.02, -0.04, -42, -62),
}
"""Δ of cost, measure and synergy, and the change of FAD and Sinkhorn in percent (Table of B.2)."""

PER_SAMPLE = {
    "VGGish": (1.0, 1428.53, 0.9969, 63.82, 1.0, 119.58),
    "EnCodec": (1.0, 320575.96, 0.9642, 35.93, 1.0, 14581.02),
    "CLAP": (1.0, 450.84, 0.9951, 10.04, 1.0, 22.16),
    "AudioMAE": (1.0, 115228.23, 0.8632, 53.42, 1.0, 59318.63),
    "PANNs": (1.0, 15841.46, 0.8966, 43.25, 1.0, 6503.23),
}
"""AUROC and separation ratio of Gaussian, cross-class and silence (Table explain-auroc)."""

REGULARISATION = {0.01: 0.04786, 0.05: 0.03761, 0.1: 0.01652, 0.5: 0.00025, 1.0: 0.00012}
"""Sinkhorn divergence by ε_reg on CLAP, agnostic, semantic axis (Table eps-sweep)."""

MOS_QUALITY = {
    ("system", "VGGish"): (0.367, 0.350, 0.450, 0.600, 0.250),
    ("system", "PANNs-CNN14"): (0.800, 0.483, 0.850, 0.850, 0.717),
    ("system", "PANNs-WGLM"): (0.800, 0.733, 0.817, 0.817, 0.350),
    ("system", "CLAP"): (0.733, 0.750, 0.800, 0.917, 0.733),
    ("system", "AudioMAE"): (0.733, 0.683, 0.817, 0.867, 0.667),
    ("system", "EnCodec"): (-0.083, -0.083, -0.017, -0.117, -0.117),
    ("category", "VGGish"): (0.113, 0.075, 0.117, 0.266, 0.087),
    ("category", "PANNs-CNN14"): (0.451, 0.375, 0.554, 0.671, 0.266),
    ("category", "PANNs-WGLM"): (0.542, 0.394, 0.635, 0.628, 0.182),
    ("category", "CLAP"): (0.677, 0.314, 0.705, 0.684, 0.518),
    ("category", "AudioMAE"): (0.697, 0.389, 0.715, 0.761, 0.545),
    ("category", "EnCodec"): (0.059, -0.120, 0.069, 0.025, 0.068),
}
"""−ρ of FAD, KAD and OTAD raw, agnostic, native with audio quality."""
MOS_FIT = {
    "system": (0.687, 0.620, 0.750, 0.793, 0.517),
    "category": (0.497, 0.296, 0.542, 0.622, 0.280),
}
"""The same with category fit: means over the five encoders without EnCodec."""
MOS_BACKBONE = {
    ("system", "CNN14"): (0.80, 0.48, 0.85, 0.85),
    ("system", "WGLM"): (0.80, 0.73, 0.82, 0.82),
    ("category", "CNN14"): (0.45, 0.37, 0.55, 0.67),
    ("category", "WGLM"): (0.54, 0.39, 0.63, 0.63),
}
"""−ρ of FAD, KAD, OTAD raw and agnostic with audio quality on two PANNs (Table of B.3)."""
