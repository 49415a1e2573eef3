"""Fuzzes all targets, or those named, in turn until the time is over."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch

from tests.fuzzing import targets

EXAMPLES = 50


def main() -> int:
    """The exit code: 1 if something was found."""
    torch.set_num_threads(1)
    end = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60"))
    number, found, runs = int(os.environ.get("FUZZ_SEED", "0")), 0, 0
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as temporary:
        named = set(sys.argv[1:])
        chosen = [t for t in targets(Path(temporary)) if not named or t.name in named]
        while time.monotonic() < end:
            for target in chosen:
                if time.monotonic() >= end:
                    break
                try:
                    target.fuzz(EXAMPLES, number)
                except Exception:
                    found += 1
                    print(
                        f"{target.name}, seed {number}:\n{traceback.format_exc(limit=-4)}",
                        flush=True,
                    )
                    if target.kept is not None:
                        kept = here / f"fuzz-{number}-{target.name}"
                        kept.write_bytes(target.kept.read_bytes())
                        print(f"see {kept}")
                runs += EXAMPLES
            number += 1
    print(f"fuzz: {runs} examples, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
