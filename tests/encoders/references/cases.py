"""Which clips each encoder is compared on: kind and length in samples at the encoder's rate."""

from __future__ import annotations

CASES: dict[str, tuple[tuple[str, int], ...]] = {
    # below the minimum; on and beside whole examples; long; silent
    "vggish": (
        *(("noise", 6_000), ("voice", 17_600), ("clicks", 30_960), ("noise", 30_959)),
        *(("voice", 80_000), ("silence", 80_000), ("noise", 510_000)),
        *(("saw", 48_000), ("bassoon", 17_000)),
    ),
    "encodec": (
        *(("noise", 9_000), ("voice", 36_000), ("clicks", 48_001), ("voice", 120_000)),
        *(("silence", 48_000), ("noise", 730_000)),
        *(("saw", 72_000), ("bassoon", 30_011)),
    ),
    # below the minimum; two whole repetitions; a repetition and a half; exact; two windows
    "clap": (
        *(("noise", 20_000), ("voice", 240_000), ("clicks", 300_001), ("voice", 480_000)),
        *(("silence", 240_000), ("noise", 600_000)),
        *(("saw", 240_001), ("bassoon", 60_000)),
    ),
    "openl3": (
        ("noise", 20_000),
        ("voice", 76_800),
        ("clicks", 90_001),
        ("silence", 72_000),
        ("saw", 72_000),
        ("bassoon", 50_001),
    ),
    "audiomae": (
        *(("noise", 7_000), ("voice", 80_000), ("clicks", 164_080), ("silence", 40_000)),
        ("noise", 200_000),
        *(("saw", 80_000), ("bassoon", 24_000)),
    ),
    "ast": (
        *(("noise", 7_000), ("voice", 80_000), ("silence", 40_000), ("noise", 200_000)),
        ("clicks", 164_080),
        *(("saw", 80_000), ("bassoon", 24_000)),
    ),
    "beats": (
        *(("noise", 7_000), ("voice", 80_000), ("clicks", 61_234), ("silence", 40_000)),
        ("noise", 500_000),
        *(("saw", 80_000), ("bassoon", 24_000)),
    ),
    "panns": (
        *(("noise", 10_000), ("voice", 160_000), ("clicks", 100_001), ("silence", 64_000)),
        ("noise", 1_000_000),
        *(("saw", 160_000), ("bassoon", 40_000)),
    ),
    # an even number of hops: the original network fails on an odd one
    "panns_wglm": (
        *(("noise", 10_000), ("voice", 160_000), ("clicks", 102_500), ("silence", 64_000)),
        ("noise", 1_000_320),
        *(("saw", 160_000), ("bassoon", 64_000)),
    ),
    "wav2vec2": (
        *(("noise", 7_000), ("voice", 80_000), ("clicks", 61_234), ("silence", 40_000)),
        ("noise", 500_000),
        *(("saw", 80_000), ("bassoon", 24_000)),
    ),
}
