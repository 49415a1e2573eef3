"""Every result of every protocol against the code of the tool that it follows, as a table.

    python benchmarks/protocols.py [--write docs/evidence/tables.md]

Runs the comparisons of tests/evaluation/test_protocols.py, whose values of the tools come from
tests/references, and writes the relative deviations between the two marks of the page.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from otadtk.evaluation.protocols.protocol import load_protocol, protocol_names

ROOT = Path(__file__).parents[1]
START, END = "<!-- deviations: benchmarks/protocols.py -->", "<!-- end of deviations -->"
HOW = {
    "audioldm-eval": "its dataset, PANNs, metrics; VGGish of torchvggish",
    "av-benchmark": "its dataset, networks, metrics; PaSST of hear21passt",
    "fadtk": "its command, clips of one channel at 16 kHz; VGGish of torchvggish",
    "kadtk": "its command, clips of one channel at 32 kHz; its PANNs",
    "otad-paper": "its command, its PANNs, its published adapter",
    "stable-audio-metrics": "its three functions; openl3 0.4.2 with TensorFlow, hear21passt, laion_clap",
}
REMARKS = {
    (
        "kadtk",
        "FAD",
    ): "FAD of its cached embeddings in float64: its own root, in float32, is below 0",
    ("stable-audio-metrics", "FD-OpenL3"): "resampling in float64 moves the tool's own FD by 3e-3",
    ("stable-audio-metrics", "FD-OpenL3-env"): "as above, with other weights",
    ("stable-audio-metrics", "KL-PaSST"): "one of twelve blocks",
    (
        "stable-audio-metrics",
        "CLAP",
    ): "one of twelve blocks of the text half; windows of long clips fixed",
    ("av-benchmark", "FD-PASST"): "one of twelve blocks",
    ("av-benchmark", "KL-PASST-softmax"): "one of twelve blocks",
    ("av-benchmark", "ISC-PASST"): "one of twelve blocks",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="the page to update")
    options = parser.parse_args()
    table = rows(deviations())
    print(table)
    if options.write is not None:
        text = options.write.read_text(encoding="utf-8")
        before, rest = text.split(START)
        after = rest.split(END)[1]
        options.write.write_text(
            f"{before}{START}\n\n{table}\n\n{END}{after}", encoding="utf-8", newline="\n"
        )


def deviations() -> dict[tuple[str, str], str]:
    """The relative deviation of each result, as the tests print them."""
    tests = ["tests/evaluation/test_protocols.py", "-k", "equals"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", *tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    found = re.findall(r"deviation (\S+) (\S+) (\S+)\n", done.stdout)
    return {(protocol, result): value for protocol, result, value in found}


def rows(found: Mapping[tuple[str, str], str]) -> str:
    """The table; a result that no test compares is named as such."""
    lines = ["| protocol | result | deviation | with what |", "|---|---|---|---|"]
    for name in protocol_names():
        for number, result in enumerate(load_protocol(name).results):
            remark = REMARKS.get((name, result.name), "")
            how = "; ".join(text for text in (HOW[name] if number == 0 else "", remark) if text)
            deviation = found.get((name, result.name), "not compared")
            lines.append(f"| `{name}` | {result.name} | {deviation} | {how} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
