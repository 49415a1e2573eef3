"""Puts every kind of fault on one scale of strength, and writes the page about them.

python benchmarks/calibrate_faults.py SOUNDS           measures and prints
python benchmarks/calibrate_faults.py SOUNDS --write   writes the table of the package as well
python benchmarks/calibrate_faults.py --page           writes docs/reference/faults.md from that table

SOUNDS is a folder with one folder of clips per class. One clip each of ``--clips`` classes, cut to
two seconds, is spoilt by every kind at ``--steps`` values of its parameter; the median over the
clips of ``otadtk.audio.faults.difference`` is that kind's curve. Strength s gets the value at which
the curve reaches the target 0.01 + 0.39 s^1.5. A kind that starts above 0.01 or ends below 0.4 has
the same curve between its own ends. Kinds that move the clip in time are scaled by their parameter.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from otadtk.audio.faults import ALL_FAULTS, FAMILIES, FAULTS, Fault, apply_value, value_of
from otadtk.audio.faults.difference import audible_difference
from otadtk.audio.faults.table import CALIBRATION, calibration

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "faults.md"
INAUDIBLE, GROSS, POWER = 0.01, 0.4, 1.5
STRENGTHS = np.linspace(0.0, 1.0, 11)
TARGET = INAUDIBLE + (GROSS - INAUDIBLE) * STRENGTHS**POWER
SECONDS, SEED = 2.0, 0
Clip = tuple[NDArray[np.float32], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sounds", type=Path, nargs="?")
    parser.add_argument("--clips", type=int, default=60)
    parser.add_argument("--steps", type=int, default=17)
    parser.add_argument("--kinds", nargs="*", default=[], help="only these, the rest as it was")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.sounds:
        clips = chosen_clips(options.sounds, options.clips)
        rows = json.loads(CALIBRATION.read_text(encoding="utf-8"))["kinds"] if options.kinds else {}
        for name in options.kinds or FAULTS:
            began = time.perf_counter()
            rows[name] = calibrated(FAULTS[name], clips, options.steps)
            print(name, rows[name], f"{time.perf_counter() - began:.1f} s", flush=True)
        if options.write:
            ordered = {name: rows[name] for name in ALL_FAULTS if name in rows}
            about = {"clips": len(clips), "steps": options.steps, "seconds": SECONDS, "seed": SEED}
            write_table(ordered, about, yardsticks(clips))
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")


def chosen_clips(sounds: Path, count: int) -> list[Clip]:
    """One clip from each of ``count`` classes, cut short."""
    rng = np.random.default_rng(SEED)
    classes = sorted(path for path in sounds.iterdir() if path.is_dir())
    clips = []
    for index in rng.permutation(len(classes))[:count]:
        files = sorted(path for path in classes[index].iterdir() if path.is_file())
        waveform, rate = soundfile.read(files[int(rng.integers(len(files)))], dtype="float32")
        clips.append((waveform[: int(SECONDS * rate)], rate))
    return clips


def curve_at(fault: Fault, clips: list[Clip], value: float) -> float:
    """The median difference that a fault makes at one value of its parameter."""
    differences = []
    for seed, (waveform, rate) in enumerate(clips):
        rng = np.random.default_rng([SEED, seed])
        spoilt = apply_value(fault, waveform, rate, rng, value)
        differences.append(audible_difference(waveform, spoilt, rate))
    return float(np.median(differences))


def calibrated(fault: Fault, clips: list[Clip], steps: int) -> dict[str, object]:
    """The way from mild to gross at every strength, and the differences at strengths 0 and 1."""
    if not fault.aligned:
        return {"travel": STRENGTHS.round(4).tolist(), "low": None, "high": None}
    ways: list[float] = []
    heights: list[float] = []
    for way in np.linspace(0.0, 1.0, steps):
        ways.append(float(way))
        heights.append(curve_at(fault, clips, fault.value(float(way))))
        if heights[-1] > 1.25 * GROSS:
            break
    # where the curve is flat, the mildest value of the parameter is taken
    rising = np.maximum.accumulate(heights) + 1e-9 * np.arange(len(heights))
    low, high = max(heights[0], INAUDIBLE), min(float(rising[-1]), GROSS)
    wanted = low + (high - low) * (TARGET - INAUDIBLE) / (GROSS - INAUDIBLE)
    travel = np.interp(wanted, rising, ways)
    return {"travel": travel.round(4).tolist(), "low": round(low, 3), "high": round(high, 3)}


def yardsticks(clips: list[Clip]) -> dict[str, float]:
    """Median differences of two changes that everybody knows."""
    known = {"gain of 1 dB": ("gain", 1.0), "noise at 20 dB": ("noise", -20.0)}
    return {
        name: round(curve_at(FAULTS[kind], clips, value), 3)
        for name, (kind, value) in known.items()
    }


def write_table(
    rows: dict[str, dict[str, object]], about: dict[str, float], known: dict[str, float]
) -> None:
    """The table of the package: a line for every kind."""
    scale = {"inaudible": INAUDIBLE, "gross": GROSS, "power": POWER}
    kinds = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    CALIBRATION.write_text(
        f'{{\n  "made": {json.dumps(about)},\n  "scale": {json.dumps(scale)},\n'
        f'  "yardsticks": {json.dumps(known)},\n  "kinds": {{\n{kinds}\n  }}\n}}\n',
        encoding="utf-8",
    )


def page() -> str:
    """The page about the faults, from the table and the kinds themselves."""
    table = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    rows = [
        "| kind | what is done | parameter | at 0 | at 0.5 | at 1 | difference at 0 and 1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for family in FAMILIES:
        kinds = [fault for fault in ALL_FAULTS.values() if fault.family == family]
        rows.append(f"| **{family}** ({len(kinds)}) | | | | | | |")
        for fault in kinds:
            place = calibration()[fault.name]
            values = [f"{value_of(fault.name, strength):.3g}" for strength in (0.0, 0.5, 1.0)]
            reach = "own parameter"
            if place.low is not None and place.high is not None:
                reach = f"{place.low:.2f} – {place.high:.2f}"
            cells = (f"`{fault.name}`", fault.about, fault.parameter, *values, reach)
            rows.append(f"| {' | '.join(cells)} |")
    return TEXT.format(
        table="\n".join(rows),
        kinds=len(ALL_FAULTS),
        families=len(FAMILIES),
        span=GROSS - INAUDIBLE,
        gain=table["yardsticks"]["gain of 1 dB"],
        noise=table["yardsticks"]["noise at 20 dB"],
        **table["made"],
        **table["scale"],
    )


TEXT = """# Faults on one scale

This page lists the faults that otadtk can plant in a clip, to train and to test metrics.
`otadtk.audio.faults` does what generators and their pipelines do to sound: {kinds} kinds in
{families} families. Training draws from it, and validation holds out whole families.

```python
from otadtk.audio.faults import FAMILIES, apply_fault, random_chain

spoilt = apply_fault("mel_griffin_lim", waveform, rate, rng, strength=0.6)
spoilt, chain = random_chain(waveform, rate, rng, kinds=FAMILIES["codec"], longest=3)
```

Every kind works at any rate and length, keeps the length, gives float32, and is the same for the
same state of the generator. Each draws its side conditions (sizes of frames, delays, pitches,
places) at random, so that no kind is one fingerprint. Clips are mono; errors between channels
appear as they sound in a mixdown (`delayed_sum`, `polarity`).

**One scale.** Strength 0 is what nobody hears, strength 1 is gross. Between them a strength stands
for an audible difference, whatever the kind: {inaudible} + {span:.2f} s^{power}, in the median over
{clips} clips of as many classes ({seconds:g} s each). The measure
([difference.py](../../src/otadtk/audio/faults/difference.py)) is the share of loudness that the clean
and the spoilt clip do not have in common: energies in ERB bands, spread to the neighbours, over the
threshold of hearing, to a power of 0.25; once in frames of 32 ms, once in frames of 4 ms. 0 is the same
sound and 1 is as different as silence; a gain of 1 dB, up or down, makes {gain:.2f}, white noise at a
ratio of 20 dB {noise:.2f}. It is a yardstick of ours, not a listening test: what is equal on it need
not be equal to every ear.

**Where the scale does not reach.** The last column has the difference at strengths 0 and 1. Some
kinds start above {inaudible}, because even their mildest form is heard (a speech codec). Some end below
{gross}, because there is no more of them (phases can only be random). They have the same curve
between their own ends, so that equal strengths of these kinds are less different than others.
`loop` and `slips` shift the clip in time; a comparison frame by frame means nothing there, and
strength follows their own parameter.

**Short clips.** Frames reach over the ends with silence. Codecs get at least 4096 samples, padded
with silence. Pieces, delays and fragments are at most a quarter to a half of the clip. Below some
hundred samples a kind may find nothing to do, and gives the clip back as it was.

**Loud results.** What exceeds full scale, and the peak of the input, is turned down as a whole.

**What is needed.** `aac` needs PyAV (`pip install "otadtk-audio[av]"`); `vorbis`, `opus` and `mp3` need
soundfile 0.13 or later. `otadtk.audio.faults.UNAVAILABLE` lists what cannot run and why; `FAULTS` and
`FAMILIES` leave it out.

`otadtk.audio.perturb` with its thirteen kinds and its own scale stays as it is: the demo, the paper's
experiments and the `artifact` adapter are made with it.

{table}

Made by `python benchmarks/calibrate_faults.py SOUNDS --clips {clips} --steps {steps} --write --page`.
"""


if __name__ == "__main__":
    main()
