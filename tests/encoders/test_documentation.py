"""The table of encoders in the documentation agrees with the specs."""

from __future__ import annotations

from pathlib import Path

import pytest

import otadtk.audio.decode
from otadtk.encoders.networks import BUILT_IN

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "encoders.md"


@pytest.mark.parametrize("spec", BUILT_IN.values(), ids=list(BUILT_IN))
def test_documentation_has_the_facts(spec: otadtk.encoders.EncoderSpec) -> None:
    use = "yes" if spec.commercial_use else "no"
    row = (
        f"| `{spec.name}` | {spec.dim} | {spec.sample_rate} | {spec.licence} | {use} "
        f"| {spec.training_data} | {spec.paper} |"
    )
    text = DOCUMENT.read_text(encoding="utf-8")
    assert row in text.splitlines()
    at_least = spec.minimum_samples / spec.sample_rate
    shown = f"{1000 * at_least:g} ms" if at_least < 0.1 else f"{at_least:g} s"
    assert f"| `{spec.name}` | {shown} |" in text
