"""``benchmarks/listening_sets.py`` on made-up checkouts: what it writes, the experiment reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from otadtk.experiments.listening.layouts.reading import Places, read_tests
from otadtk.experiments.listening.sets import DissimilaritySet, RatedSet
from tests.experiments.listening.conftest import write_csv

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "listening_sets.py"
CONDITIONS = {"orig": "Orig", "Algo27": "27", "Algo30": "30", "Algo32": "32"}


def convert(checkouts: Path, out: Path) -> list[Path]:
    command = [sys.executable, str(SCRIPT), str(checkouts), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if line.endswith(".csv")]


def separation(root: Path) -> None:
    base = root / "Data" / "SiSEC08_source_separation"
    rows = []
    for target, name in (("ebass", "Bass"), ("eguitar", "Lead"), ("aguitar", "Strum")):
        for place, (condition, end) in enumerate(CONDITIONS.items()):
            sound = base / "SourceSeparationStimuli" / f"{name}_{end}.wav"
            sound.parent.mkdir(parents=True, exist_ok=True)
            sound.touch()
            rows.append(("T", "L1", "music", "nodrums", target, condition, 100 - 10 * place))
            rows.append(("T", "L1", "music", "nodrums", target, "Algo8", 1))  # no sound of it
    head = ("Testname", "Listener", "Type", "Source", "Target", "Algorithm", "Ratingscore")
    write_csv(base / "SiSEC08_parsed.csv", head, rows)


def timbre(root: Path) -> np.ndarray:
    base = root / "timbremetrics"
    (base / "sounds" / "Study").mkdir(parents=True)
    (base / "true_dissim").mkdir()
    for name in "dbca":
        (base / "sounds" / "Study" / f"{name}.aiff").touch()
    upper = np.triu(np.arange(16.0).reshape(4, 4), 1)
    np.savetxt(base / "true_dissim" / "Study_dissimilarity_matrix.txt", upper)
    return upper


@pytest.mark.parametrize("bare", [False, True])
def test_checkouts_become_tests(bare: bool, tmp_path: Path) -> None:
    checkouts, out = tmp_path / "checkouts", tmp_path / "out"
    name = "Computational-Cognitive-Musicology-Lab+ISMIR2024_HumanSubjectTutorial"
    separation(checkouts / name)
    upper = timbre(checkouts / "timbremetrics")
    if bare:  # a git directory without its files
        git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(checkouts / name)]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
            subprocess.run([*git, *command], check=True)
        (checkouts / name / ".git").rename(checkouts / name / "repo")
        (checkouts / name / "Data").rename(tmp_path / "gone")
    written = convert(checkouts, out)
    assert {path.name for path in written} == {"Study.csv", "separation.csv"}
    study, separated = read_tests(written, Places())
    assert isinstance(study, DissimilaritySet) and isinstance(separated, RatedSet)
    assert [sound.file.stem for sound in study.sounds] == ["a", "b", "c", "d"]
    assert np.array_equal(study.matrix, upper + upper.T)
    assert separated.systems == ("Orig", "27", "30", "32")
    clip = separated.clips[1]
    assert clip.excerpt.start == 9.0 and clip.reference is not None
    assert clip.reference.file.name == "Bass_Orig.wav" and clip.reference.start == 9.0
    assert clip.ratings == {"L1": 90.0}
    assert not Path(
        (out / "separation.csv").read_text().splitlines()[1].split(",")[0]
    ).is_absolute()
