"""A short run of the fuzzer: whatever is handed in is answered or refused."""

from __future__ import annotations

from pathlib import Path

from tests.fuzzing import targets


def test_everything_survives(tmp_path: Path) -> None:
    for target in targets(tmp_path):
        target.fuzz(5, 1)
        target.fuzz(5, 2)  # as `make fuzz` does: one seed after the other
