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
    lines = []
    for family in FAMILIES:
        kinds = [fault for fault in ALL_FAULTS.values() if fault.family == family]
        lines += [
            "",
            f"### {family.capitalize()}",
            "",
            f'`FAMILIES["{family}"]`, {len(kinds)} kinds.',
            "",
        ]
        lines += ["| kind | what is done | parameter | at 0 | at 0.5 | at 1 | difference |"]
        lines += ["|---|---|---|---|---|---|---|", *map(row, kinds)]
    return TEXT.format(
        table="\n".join(lines).lstrip(),
        kinds=len(ALL_FAULTS),
        families=len(FAMILIES),
        span=GROSS - INAUDIBLE,
        gain=table["yardsticks"]["gain of 1 dB"],
        noise=table["yardsticks"]["noise at 20 dB"],
        **table["made"],
        **table["scale"],
    )


def row(fault: Fault) -> str:
    """The line of a kind: its parameter at three strengths, and how different they sound."""
    place = calibration()[fault.name]
    values = [f"{value_of(fault.name, strength):.3g}" for strength in (0.0, 0.5, 1.0)]
    reach = "own parameter"
    if place.low is not None and place.high is not None:
        reach = f"{place.low:.2f} – {place.high:.2f}"
    return f"| {' | '.join((f'`{fault.name}`', fault.about, fault.parameter, *values, reach))} |"


TEXT = """# Faults on one scale

This page lists the faults that otadtk can plant in a clip: {kinds} kinds in {families} families. They
do what generators and their pipelines do to sound. Use them to train a metric, or to test whether a
metric notices a fault.

- [How to plant a fault](#how-to-plant-a-fault)
- [What a strength means](#what-a-strength-means)
- [All kinds](#all-kinds)

## How to plant a fault

```python
from otadtk.audio.faults import FAMILIES, apply_fault, random_chain

spoilt = apply_fault("mel_griffin_lim", waveform, rate, rng, strength=0.6)
spoilt, chain = random_chain(waveform, rate, rng, kinds=FAMILIES["codec"], longest=3)
```

`apply_fault` plants one fault. `random_chain` plants one to `longest` faults, one after the other, and
says which. Training draws such chains; validation holds out whole families.

This holds for every kind:

- **Input**: mono, any sample rate, any length. Errors between channels appear as they sound in a
  mixdown (`delayed_sum`, `polarity`).
- **Output**: float32, of the same length.
- **Chance**: the same state of `rng` gives the same sound. Sizes of frames, delays, pitches and places
  are drawn anew each time, so that no kind leaves one fingerprint.
- **Loud results**: a clip that exceeds full scale and its own former peak is turned down as a whole.
- **Short clips**: silence is added where a frame reaches over an end, and codecs get at least 4096
  samples. Pieces, delays and fragments are at most a quarter to a half of the clip. A clip of fewer
  than some hundred samples may come back unchanged.

Some kinds need more software:

| kind | needs |
|---|---|
| `aac` | PyAV: `pip install "otadtk-audio[av]"` |
| `vorbis`, `opus`, `mp3` | soundfile 0.13 or later |

`otadtk.audio.faults.UNAVAILABLE` lists what cannot run on your machine and why. `FAULTS` and `FAMILIES`
leave these kinds out.

`otadtk.audio.perturb` is older: thirteen kinds with a scale of their own. The demo, the paper's
experiments and the `artifact` adapter are made with it, so it stays as it is.

## What a strength means

Strength 0 is a fault that nobody hears. Strength 1 is a gross fault. In between, equal strengths sound
about equally different from the clean clip, whatever the kind. At strength s the audible difference is

```math
D(s) = {inaudible} + {span:.2f} \\, s^{{{power}}}
```

The difference is 0 for the same sound and 1 for one as different as silence. Two examples:

| change | difference |
|---|---|
| a gain of 1 dB, up or down | {gain:.2f} |
| white noise 20 dB below the clip | {noise:.2f} |

**The measure** is the share of loudness that the clean and the spoilt clip do not have in common
([difference.py](../../src/otadtk/audio/faults/difference.py)). Loudness is the energy in ERB bands
above the threshold of hearing, spread to neighbouring bands, to the power of 0.25. It is compared in
frames of 32 ms and in frames of 4 ms.

**The scale was measured** on {clips} clips of as many classes, {seconds:g} s each. D is their median.

**What the scale cannot do:**

- It is a yardstick of ours, not a listening test. Not every ear finds equal strengths equal.
- Some kinds start above {inaudible}: even their mildest form is heard (a speech codec).
- Some kinds end below {gross}: there is no more of them (phases can only be random). Both follow the
  same curve between their own ends, which the last column of the tables names. Their strengths lie
  closer together than those of other kinds.
- `loop` and `slips` move the clip in time, where a comparison frame by frame means nothing. Their
  strength follows their own parameter.

## All kinds

The tables show the parameter at strengths 0, 0.5 and 1, and the audible difference at both ends of the
scale. Where a parameter goes from 0 to 1 between two frequencies, its steps are equal in octaves.

```sh
python benchmarks/calibrate_faults.py SOUNDS --clips {clips} --steps {steps} --write --page
```

{table}
"""


if __name__ == "__main__":
    main()
