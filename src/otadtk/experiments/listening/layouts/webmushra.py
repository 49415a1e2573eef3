"""The result files of webMUSHRA: MUSHRA pages and Likert pages, and which sound a stimulus is.

The results name a page (``trial_id``) and a stimulus (C1, …, ``reference``), not a file. With
``--sounds DIR`` a stimulus is looked for below DIR as TRIAL/STIMULUS, STIMULUS/TRIAL,
TRIAL_STIMULUS, STIMULUS_TRIAL, TRIAL-STIMULUS or STIMULUS-TRIAL, with any suffix of audio.
``--stimuli CSV`` names the files instead: trial_id, stimulus, file [, system, item, reference,
start, end, …].
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from otadtk.audio.find import find_audio
from otadtk.errors import UsageError
from otadtk.experiments.listening.layouts.csv_rows import (
    CsvRow,
    excerpt_of,
    named_rows,
    rating_of,
    read_lines,
    reference_of,
)
from otadtk.experiments.listening.sets import Excerpt, RatedClip, RatedSet

logger = logging.getLogger(__name__)

REFERENCE = "reference"
"""What webMUSHRA calls the hidden reference."""
_STIMULUS_AND_SCORE = (("rating_stimulus", "rating_score"), ("stimuli", "stimuli_rating"))
_PATTERNS = ("{0}/{1}", "{1}/{0}", "{0}_{1}", "{1}_{0}", "{0}-{1}", "{1}-{0}")
_SESSION = "session_uuid"

Judgements = dict[tuple[str, str], dict[str, list[float]]]
"""Ratings by (trial, stimulus) and listener."""


def is_webmushra(header: list[str]) -> bool:
    """Whether a header is that of webMUSHRA's results."""
    return {"session_test_id", "trial_id"} <= {name.lower() for name in header}


def read_webmushra(
    path: Path, lines: list[list[str]], sounds: Path | None, stimuli: Path | None
) -> RatedSet:
    """The test of a result file."""
    judgements = _judgements(path, lines)
    if stimuli is not None:
        clips = _by_table(path, judgements, stimuli)
    elif sounds is not None:
        clips = _by_name(path, judgements, sounds)
    else:
        raise UsageError(
            f"{path} is a result of webMUSHRA, which does not name its sounds: give --sounds DIR "
            f"or --stimuli CSV."
        )
    return RatedSet(path.stem, tuple(clips))


def _judgements(path: Path, lines: list[list[str]]) -> Judgements:
    rows = named_rows(path, lines)
    columns = rows[0][1].keys()
    pair = next((p for p in _STIMULUS_AND_SCORE if set(p) <= columns), None)
    if pair is None:
        raise UsageError(
            f"{path} has no ratings of single stimuli: taken are MUSHRA pages (rating_stimulus, "
            f"rating_score) and Likert pages (stimuli, stimuli_rating)."
        )
    names = list(columns)
    who = [_SESSION] if _SESSION in columns else names[1 : names.index("trial_id")]
    found: Judgements = {}
    for number, row in rows:
        score = rating_of(path, number, row[pair[1]])
        if score is None:
            continue
        given = found.setdefault((row["trial_id"], row[pair[0]]), {})
        # without names: sessions follow each other, so the k-th answer is the k-th listener's
        rater = " ".join(row[name] for name in who) if who else f"{len(given) + 1}"
        given.setdefault(rater, []).append(score)
    return found


def _by_name(path: Path, judgements: Judgements, sounds: Path) -> Iterator[RatedClip]:
    known = {
        file.relative_to(sounds).with_suffix("").as_posix(): file for file in find_audio(sounds)
    }

    def sound(trial: str, stimulus: str) -> Path | None:
        names = (pattern.format(trial, stimulus) for pattern in _PATTERNS)
        return next((known[name] for name in names if name in known), None)

    for (trial, stimulus), given in judgements.items():
        file = sound(trial, stimulus)
        if file is None:
            if stimulus.lower().startswith("anchor"):  # webMUSHRA makes these while it plays
                logger.info("%s: %s of %s has no file and is left out", path, stimulus, trial)
                continue
            raise UsageError(
                f"{path}: {sounds} has no sound for trial {trial!r}, stimulus {stimulus!r}, such "
                f"as {trial}/{stimulus}.wav or {trial}_{stimulus}.wav; name the files with "
                f"--stimuli CSV."
            )
        twin = sound(trial, REFERENCE)
        reference = None if twin is None else Excerpt(twin)
        yield _clip(Excerpt(file), stimulus, trial, reference, given)


def _by_table(path: Path, judgements: Judgements, stimuli: Path) -> Iterator[RatedClip]:
    table: dict[tuple[str, str], tuple[int, CsvRow]] = {}
    for number, row in named_rows(stimuli, read_lines(stimuli)):
        missing = [name for name in ("trial_id", "file") if not row.get(name)]
        if missing:
            raise UsageError(f"{stimuli}, row {number}: there is no {missing[0]}.")
        table[row["trial_id"], row.get("stimulus", "")] = number, row
    for (trial, stimulus), given in judgements.items():
        entry = table.get((trial, stimulus)) or table.get((trial, ""))
        if entry is None:
            raise UsageError(
                f"{stimuli} has no row for trial {trial!r}, stimulus {stimulus!r} of {path}."
            )
        line, cells = entry
        reference = reference_of(stimuli, line, cells)
        if reference is None and (trial, REFERENCE) in table:
            reference = excerpt_of(stimuli, *table[trial, REFERENCE], "file")
        excerpt = excerpt_of(stimuli, line, cells, "file")
        system, item = cells.get("system") or stimulus, cells.get("item") or trial
        yield _clip(excerpt, system, item, reference, given)


def _clip(
    excerpt: Excerpt, system: str, item: str, twin: Excerpt | None, given: dict[str, list[float]]
) -> RatedClip:
    ratings = {rater: sum(scores) / len(scores) for rater, scores in given.items()}
    return RatedClip(excerpt, system, item, twin, sum(ratings.values()) / len(ratings), ratings)
