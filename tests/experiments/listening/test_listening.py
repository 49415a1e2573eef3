"""``otadtk-experiments listening`` as a user runs it, on sounds that get noisier and noisier."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk.cli.experiments import main
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_encoder, get_spec
from otadtk.experiments.listening.experiment import tasks
from otadtk.experiments.listening.levels import APART, CLIP, LEVELS, PAIRED, SETS, WITHIN
from otadtk.experiments.listening.sets import Excerpt
from otadtk.experiments.listening.show import mean_of_studies
from otadtk.experiments.listening.sounds import Sounds
from otadtk.experiments.rows import Row, distinct, read_rows, select
from otadtk.experiments.run import Request, Source
from tests.experiments.listening.conftest import ITEMS, RATE, SYSTEMS


def quick(out: Path, *arguments: object) -> int:
    options = ["--model", "logmel", "--quick", "--out", str(out), "--workers", "1", "-q"]
    return main(["listening", *map(str, arguments), *options])


def matrix_of(sounds: Path, folder: Path) -> Path:
    """How different the noisy versions of one sound are, by their noise; and the sounds."""
    (folder / "study").mkdir(parents=True)
    levels = {"reference": 0.0, **SYSTEMS}
    for place, system in enumerate(levels):
        clip, rate = soundfile.read(sounds / system / f"{ITEMS[0]}.wav")
        soundfile.write(folder / "study" / f"{place}.wav", clip, rate, subtype="FLOAT")
    values = np.array(list(levels.values()))
    np.savetxt(folder / "study.txt", np.triu(np.abs(values[:, None] - values[None])))
    return folder / "study.txt"


def test_the_whole_way(
    ratings: Path, sounds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert quick(out, "--ratings", ratings, matrix_of(sounds, tmp_path / "more")) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in out.iterdir()} == {path.name for path in written}
    assert {path.suffix for path in written} == {".csv", ".json", ".md", ".tex", ".svg", ".pdf"}
    rows = read_rows(out / "listening.csv")
    agreement = select(rows, part="agreement", metric="OTAD", set="noise")
    assert distinct(agreement, "level") == [PAIRED, CLIP, WITHIN, SETS, APART]
    for level in (PAIRED, SETS, WITHIN):
        (row,) = select(agreement, level=level)
        assert row["spearman"] == row["kendall"] == 1
    (paired,) = select(agreement, level=PAIRED)
    assert (paired["n"], paired["orders"]) == (4, "all")
    assert paired["p"] == pytest.approx(1 / 24, abs=1e-6)
    assert select(agreement, level=APART)[0]["n"] == 5  # the hidden reference, too
    for metric in ("FAD", "KAD"):
        own = select(rows, part="agreement", metric=metric)
        assert distinct(own, "level") == [SETS, APART]  # they compare sets alone
    (study,) = select(rows, part="agreement", set="study")
    assert study["kind"] == "dissimilarity"
    assert float(study["spearman"]) > 0.8
    limits = select(rows, part="ceiling")
    assert [row["raters"] for row in limits] == [3, 3, 3]
    assert [row["ceiling"] for row in limits] == [1, 1, 1]
    values = select(rows, part="value", metric="OTAD", level=PAIRED)
    assert [row["system"] for row in values] == list(SYSTEMS)
    assert sorted(values, key=lambda row: float(row["value"])) == values
    page = (out / "listening.md").read_text()
    assert "| logmel, OTAD-raw | 1.000 (1.00, 1.00) | 1.000 |" in page
    record = json.loads((out / "listening.json").read_text())
    assert set(record["inputs"]) == {"noise.csv", "study.txt"}
    assert str(tmp_path) not in (out / "listening.json").read_text()


def test_a_second_run_gives_the_same_files(ratings: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert quick(tmp_path / folder, "--ratings", ratings) == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_reference_sounds_that_are_no_twins(ratings: Path, sounds: Path, tmp_path: Path) -> None:
    lines = [line.split(",") for line in ratings.read_text().splitlines()]
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(",".join([*row[:3], *row[4:]]) for row in lines) + "\n")
    assert quick(tmp_path, "--ratings", bare, "--reference", sounds / "reference") == 0
    rows = select(read_rows(tmp_path / "listening.csv"), part="agreement")
    assert distinct(rows, "level") == [APART]
    assert distinct(rows, "n") == [5]
    assert json.loads((tmp_path / "listening.json").read_text())["reference"] == "reference"


@pytest.mark.weights
def test_variants_take_part(ratings: Path, tmp_path: Path) -> None:
    options = ("--variant", "raw", "artifact", "--model", "yamnet", "--no-figures")
    arguments = ["listening", "--ratings", str(ratings), *options, "--quick", "--workers", "1"]
    assert main([*arguments, "--out", str(tmp_path / "out"), "-q"]) == 0
    rows = read_rows(tmp_path / "out" / "listening.csv")
    assert distinct(select(rows, metric="OTAD"), "variant") == ["raw", "artifact"]
    record = json.loads((tmp_path / "out" / "listening.json").read_text())
    assert record["variants"] == ["raw", "artifact"]


class TestSounds:
    def source(self, tmp_path: Path) -> Source:
        return Source(Request(tmp_path, cache_dir=tmp_path / "store"))

    def test_an_excerpt_is_the_part_of_the_decoded_file(self, sounds: Path, tmp_path: Path) -> None:
        file = sounds / "fine" / f"{ITEMS[1]}.wav"
        samples, _ = soundfile.read(file, dtype="float32")
        excerpts = [Excerpt(file), Excerpt(file, 0.25, 1.0), Excerpt(file, 0.5)]
        found = Sounds([*excerpts, *excerpts], self.source(tmp_path), tmp_path)
        spec, encoder = get_spec("logmel"), get_encoder("logmel")
        found.embed(spec)
        parts = (samples, samples[RATE // 4 : RATE], samples[RATE // 2 :])
        expected = np.stack([encoder.encode(part, RATE) for part in parts])
        assert found.vectors(spec, excerpts) == pytest.approx(expected, abs=1e-5)
        assert found.digest(excerpts[:1]) != found.digest(excerpts[1:2])

    def test_an_excerpt_is_known_again(self, sounds: Path, tmp_path: Path) -> None:
        excerpt = Excerpt(sounds / "fine" / f"{ITEMS[1]}.wav", 0.25, 1.0)
        digests = []
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
            found = Sounds([excerpt], self.source(tmp_path), tmp_path / folder)
            found.embed(get_spec("logmel"))
            digests.append(found.digest([excerpt]))
        assert digests[0] == digests[1]
        assert len(list((EmbeddingStore(tmp_path / "store").root).rglob("*.*"))) == 1

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("short.wav", None, "ends before 9 s"),
            ("text.wav", b"no audio", "No excerpt can be cut"),
        ],
    )
    def test_excerpts_that_are_not_there(
        self, name: str, content: bytes | None, message: str, sounds: Path, tmp_path: Path
    ) -> None:
        clip = (sounds / "fine" / f"{ITEMS[0]}.wav").read_bytes()
        (tmp_path / name).write_bytes(clip if content is None else content)
        with pytest.raises(ValueError, match=message):
            Sounds([Excerpt(tmp_path / name, 9.0)], self.source(tmp_path), tmp_path)


def test_tasks_are_named_by_the_content_of_their_sounds(
    ratings: Path, sounds: Path, tmp_path: Path
) -> None:
    """A killed run does not go on with the rows of sounds that have been exchanged."""
    request = Request(tmp_path, models=("logmel",), ratings=(ratings,), cache_dir=tmp_path / "s")
    source = Source(request)
    with source.closing:
        before = [task.name for task in tasks(None, source)[1:]]  # type: ignore[arg-type]
    file = sounds / "bad" / f"{ITEMS[0]}.wav"
    clip, rate = soundfile.read(file)
    soundfile.write(file, 0.9 * clip, rate, subtype="FLOAT")
    source = Source(request)
    try:
        with source.closing:
            after = [task.name for task in tasks(None, source)[1:]]  # type: ignore[arg-type]
    finally:
        soundfile.write(file, clip, rate, subtype="FLOAT")
    assert not set(before) & set(after)


def test_the_mean_of_studies_has_an_interval_over_studies() -> None:
    rows: list[Row] = [{"spearman": value} for value in (0.2, 0.4, 0.6)]
    mean, low, high = mean_of_studies(rows)
    assert mean == pytest.approx(0.4)
    assert 0.2 <= low < mean < high <= 0.6
    assert np.isnan(mean_of_studies(rows[:2])[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "listening needs --ratings FILE"),
        (["--ratings", "no.csv"], "There is no file no.csv"),
        (["--ratings", "{ratings}", "--stimuli", "no.csv"], "There is no file no.csv"),
        (["--ratings", "{ratings}", "--variant", "best"], "Unknown variant 'best'"),
        (["--ratings", "{ratings}", "--variant", "artifact"], "None of logmel has the variant"),
        (["--ratings", "{ratings}", "--sounds", "nowhere"], "There is no folder nowhere"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    ratings: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = [argument.format(ratings=ratings) for argument in arguments]
    assert quick(tmp_path / "out", *filled) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.glob("out/*.csv"))


def test_every_level_has_a_table_and_a_panel() -> None:
    from otadtk.experiments.listening.show import draw, tables

    row: Row = {"part": "agreement", "set": "t", "kind": "ratings", "model": "m", "metric": "OTAD"}
    row |= {"variant": "raw", "n": 4, "spearman": 0.5, "kendall": 0.4, "pearson": 0.3}
    rows = [row | {"level": level} for level in LEVELS]
    assert len(tables(rows)) == len(LEVELS) + 1
    (figure,) = draw(rows).values()
    assert [place.get_title(loc="left") for place in figure.axes] == list(LEVELS)
