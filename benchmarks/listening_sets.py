"""Converts public listening tests from local checkouts into the layouts of `otadtk-experiments listening`.

    python benchmarks/listening_sets.py CHECKOUTS OUT
    otadtk-experiments listening --ratings OUT/*.csv OUT/timbre/*.csv --out results

CHECKOUTS is a folder that holds the repositories below as folders named by the repository, or as
owner+repository; those that are missing are left out. Bare git directories (owner+repository/repo)
serve too: their files are unpacked into OUT/files. OUT gets CSV files that name the sounds by
relative paths, and nothing else. The sets are their authors'; look at their licences.

    tiianhk/timbremetrics                              timbre/*.csv, 21 dissimilarity studies
    lucacoma/DiffTransfer                              transfer.csv
    SiarheiBarysenka/inter-component-phase-speech-enhancement-MUSHRA   enhancement.csv
    yangarbiter/webMUSHRA                              vocoders.csv
    Computational-Cognitive-Musicology-Lab/ISMIR2024_HumanSubjectTutorial   separation.csv
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

HEADER = ("file", "system", "item", "reference", "rating", "rater")
Line = Sequence[object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    for repository, (folders, convert) in SETS.items():
        root = find(options.checkouts, repository, folders, options.out)
        if root is None:
            print(f"{repository}: not in {options.checkouts}, left out")
            continue
        for path in convert(root, options.out):
            print(path)


def find(checkouts: Path, repository: str, folders: Sequence[str], out: Path) -> Path | None:
    """The checkout of a repository, unpacked first if only its git directory is there."""
    for name in (repository.replace("/", "+"), repository.split("/")[1]):
        place = checkouts / name
        for bare in (place, place / "repo"):
            if (bare / "objects").is_dir():
                return unpack(bare, out / "files" / repository.split("/")[1], folders)
        if place.is_dir():
            return place
    return None


def unpack(bare: Path, target: Path, folders: Sequence[str]) -> Path:
    """The files of some folders out of a git directory; blobs that it lacks are left out."""
    git = ("git", "--git-dir", str(bare))
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "HEAD", "--", *folders], capture_output=True, check=True
    )
    for line in listing.stdout.decode().split("\0"):
        if not line:
            continue
        head, name = line.split("\t", 1)
        file = target / name
        if file.is_file():
            continue
        found = subprocess.run([*git, "cat-file", "blob", head.split()[2]], capture_output=True)
        if found.returncode == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(found.stdout)
    return target


def write(path: Path, lines: Iterable[Line], header: Sequence[str] = HEADER) -> Path:
    """Write a CSV; paths in it are relative to its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for line in lines:
            cells = [os.path.relpath(c, path.parent) if isinstance(c, Path) else c for c in line]
            writer.writerow(cells)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def timbre(root: Path, out: Path) -> Iterable[Path]:
    """Each study's matrix with the names of its sounds, which are its rows in sorted order."""
    base = root / "timbremetrics"
    end = "_dissimilarity_matrix.txt"
    for file in sorted((base / "true_dissim").glob(f"*{end}")):
        study = file.name.removesuffix(end)
        sounds = sorted((base / "sounds" / study).glob("*.aiff"))
        upper = np.triu(np.loadtxt(file), 1)
        names = [os.path.relpath(sound, out / "timbre") for sound in sounds]
        matrix = (upper + upper.T).tolist()
        lines = [[name, *row] for name, row in zip(names, matrix, strict=True)]
        yield write(out / "timbre" / f"{study}.csv", lines, ["", *names])


def transfer(root: Path, out: Path) -> Iterable[Path]:
    """Four systems of timbre transfer; listeners rated tracks that the results do not name.

    So a listener's rating is that of a system as a whole: a row without a file. One folder calls
    what sounds like the target .3 of a track .0 and the other way round; its twins are exchanged.
    """
    audio = root / "docs" / "audio"
    systems = {
        "C1": "est_diffusion/separate_model",
        "C2": "est_music_net/separate_model",
        "C3": "est_diffusion/mixture_model",
        "C4": "est_music_net/mixture_model",
    }
    exchanged = {"0": "3", "3": "0"}
    lines: list[Line] = []
    for key, folder in systems.items():
        for track in range(1, 11):
            for part in ("0", "3"):
                source = exchanged[part] if key == "C2" else part
                clip = audio / folder / f"{track:03d}.{source}.wav"
                truth = audio / "music_star_test" / f"{track:03d}.{part}.wav"
                lines.append((clip, folder, f"{track:03d}.{part}", truth, "", ""))
    for row in rows_of(root / "eval" / "listening_test_results.csv"):
        if row["trial_id"] and "single" not in row["trial_id"]:
            system = systems[row["rating_stimulus"]]
            lines.append(("", system, "", "", row["rating_score"], row["session_uuid"]))
    yield write(out / "transfer.csv", lines)


def enhancement(root: Path, out: Path) -> Iterable[Path]:
    """Noisy and enhanced speech: seven conditions, six noises, fourteen listeners."""
    import scipy.io

    with warnings.catch_warnings():  # the file holds Matlab strings, which are not read
        warnings.simplefilter("ignore")
        data = scipy.io.loadmat(root / "matlab" / "icpr_mushra_data.mat")["data"]
    ends = ("noisy", "pe-se-bvm", "pe-bh-blw", "mmse", "mmse-se-bvm", "mmse-bh-blw", "clean")
    noises = ("mod-pink-5", "mod-pink-10", "factory-5", "factory-10", "babble-5", "babble-10")
    audio = root / "gui" / "configs" / "resources" / "audio"
    lines: list[Line] = []
    for condition, end in enumerate(ends):
        for number, noise in enumerate(noises):
            (noisy,) = audio.glob(f"*-{noise}-{'noisy' if end == 'clean' else end}.wav")
            clean = audio / f"{noisy.name.split('-')[0]}-clean.wav"
            clip = clean if end == "clean" else noisy
            for listener, rating in enumerate(data[condition, number]):
                lines.append((clip, end, noise, clean, float(rating), f"listener {listener}"))
    yield write(out / "enhancement.csv", lines)


def vocoders(root: Path, out: Path) -> Iterable[Path]:
    """Natural speech and four vocoders; two of these speak other sentences and have no twins."""
    folder = root / "configs" / "resources" / "samples_stereo_subset"
    files = {file.name: file for file in sorted(folder.glob("subset_*/method_a/*.wav"))}
    lines: list[Line] = []
    for row in rows_of(root / "results" / "subjective_evalaution" / "lss.csv"):
        name = row["trial_id"].removeprefix("method_a_")
        match = re.fullmatch(r"(.*)_(\d+)\.wav", name)
        assert match is not None, name
        other = "fatchord" in name  # numbers of another list of sentences
        item = f"other {match[2]}" if other else match[2]
        reference = "" if other else files[f"original_{match[2]}.wav"]
        rating = row["stimuli_rating"].strip()
        lines.append((files[name], match[1], item, reference, rating, row["name"]))
    yield write(out / "vocoders.csv", lines)


def separation(root: Path, out: Path) -> Iterable[Path]:
    """Three separated instruments by four conditions; the separated part starts at 9 s."""
    base = root / "Data" / "SiSEC08_source_separation"
    stimuli = base / "SourceSeparationStimuli"
    targets = {"ebass": "Bass", "eguitar": "Lead", "aguitar": "Strum"}
    conditions = {"orig": "Orig", "Algo27": "27", "Algo30": "30", "Algo32": "32"}
    lines: list[Line] = []
    for row in rows_of(base / "SiSEC08_parsed.csv"):
        target, condition = targets.get(row["Target"]), conditions.get(row["Algorithm"])
        if target is None or condition is None or row["Source"] != "nodrums":
            continue
        clip, truth = (stimuli / f"{target}_{end}.wav" for end in (condition, "Orig"))
        rated = (row["Ratingscore"], row["Listener"])
        lines.append((clip, condition, row["Target"], truth, *rated, 9))
    yield write(out / "separation.csv", lines, (*HEADER, "start"))


SETS = {
    "tiianhk/timbremetrics": (["timbremetrics/sounds", "timbremetrics/true_dissim"], timbre),
    "lucacoma/DiffTransfer": (["docs/audio", "eval"], transfer),
    "SiarheiBarysenka/inter-component-phase-speech-enhancement-MUSHRA": (
        ["gui/configs/resources/audio", "matlab"],
        enhancement,
    ),
    "yangarbiter/webMUSHRA": (
        ["configs/resources/samples_stereo_subset", "results/subjective_evalaution"],
        vocoders,
    ),
    "Computational-Cognitive-Musicology-Lab/ISMIR2024_HumanSubjectTutorial": (
        ["Data/SiSEC08_source_separation"],
        separation,
    ),
}


if __name__ == "__main__":
    main()
