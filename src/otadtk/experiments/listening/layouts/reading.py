"""Reads listening tests in any of the layouts, and finds the references that clips do not name."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from otadtk.audio.find import find_audio
from otadtk.errors import UsageError
from otadtk.experiments.listening.layouts.csv_rows import read_lines
from otadtk.experiments.listening.layouts.general import is_general, read_general
from otadtk.experiments.listening.layouts.matrices import is_matrix, read_matrix
from otadtk.experiments.listening.layouts.webmushra import is_webmushra, read_webmushra
from otadtk.experiments.listening.sets import (
    Excerpt,
    ListeningSet,
    RatedSet,
    check_sounds,
    checked,
)

LAYOUTS = (
    "a CSV with the columns file, system, rating; a result file of webMUSHRA (session_test_id, "
    "trial_id, …); or a dissimilarity matrix"
)


@dataclass(frozen=True)
class Places:
    """Where the sounds are that the files of ratings do not name."""

    sounds: Path | None = None
    """Folder of the sounds of a webMUSHRA test or of a matrix."""
    stimuli: Path | None = None
    """CSV that names the file of each stimulus of a webMUSHRA test."""
    reference: str | None = None
    """Folder of reference sounds, or the system whose clips are the references."""


def read_tests(files: Sequence[Path], places: Places) -> list[ListeningSet]:
    """The tests of all files, each with a name of its own, and all of their sounds at hand."""
    if places.sounds is not None and not places.sounds.is_dir():
        raise UsageError(f"There is no folder {places.sounds}.")
    tests = [_read(path, places) for path in files]
    names = [test.name for test in tests]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"Two files of --ratings are called {twice[0]!r}; rename one.")
    for test in tests:
        check_sounds(test.name, test.excerpts())
    return tests


def _read(path: Path, places: Places) -> ListeningSet:
    lines = read_lines(path)
    header = lines[0]
    if is_general(header):
        test = read_general(path, lines)
    elif is_webmushra(header):
        test = read_webmushra(path, lines, places.sounds, places.stimuli)
    elif is_matrix(lines):
        return read_matrix(path, lines, places.sounds)
    else:
        raise UsageError(f"{path} is not a listening test: it must be {LAYOUTS}.")
    return checked(_with_references(test, places.reference))


def _with_references(test: RatedSet, reference: str | None) -> RatedSet:
    """The test with references for the clips that have none: of a folder, or of a system."""
    if reference is None or all(clip.reference is not None for clip in test.clips):
        return test
    if reference in test.systems:
        of_item = {clip.item: clip.excerpt for clip in test.clips if clip.system == reference}
        clips = tuple(
            clip
            if clip.reference is not None
            else dataclasses.replace(clip, reference=of_item.get(clip.item))
            for clip in test.clips
        )
        return dataclasses.replace(test, clips=clips)
    if Path(reference).is_dir():
        sounds = tuple(Excerpt(file) for file in find_audio(Path(reference)))
        return dataclasses.replace(test, references=sounds)
    raise UsageError(
        f"--reference {reference} is neither a folder nor a system of {test.name}, which has "
        f"{', '.join(test.systems)}."
    )
