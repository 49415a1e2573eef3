"""A short run of the fuzzer: every reader survives mutated files."""

from __future__ import annotations

from pathlib import Path

from tests.fuzzing import fuzz, seeds


def test_readers_survive(tmp_path: Path) -> None:
    for name, content, read in seeds(tmp_path):
        fuzz(name, content, read, tmp_path, examples=10, number=1)
