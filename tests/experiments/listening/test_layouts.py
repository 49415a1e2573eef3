"""Layouts of listening tests: the general CSV, results of webMUSHRA, matrices; and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from otadtk.errors import UsageError
from otadtk.experiments.listening.layouts.reading import Places, read_tests
from otadtk.experiments.listening.sets import DissimilaritySet, Excerpt, RatedSet
from tests.experiments.listening.conftest import ITEMS, SYSTEMS, write_csv

NAMES = ("reference", *SYSTEMS)


def read_one(path: Path, **places: object) -> RatedSet:
    (test,) = read_tests([path], Places(**places))  # type: ignore[arg-type]
    assert isinstance(test, RatedSet)
    return test


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return folder


class TestGeneral:
    def test_a_row_per_listener(self, ratings: Path, sounds: Path) -> None:
        test = read_one(ratings)
        assert test.name == "noise"
        assert test.systems == NAMES
        assert test.items == ITEMS
        first = test.clips[5]
        assert (first.system, first.item) == ("fine", ITEMS[0])
        assert first.excerpt.file.samefile(sounds / "fine" / f"{ITEMS[0]}.wav")
        assert first.ratings == {"listener 0": 85.0, "listener 1": 88.0, "listener 2": 91.0}
        assert first.rating == 88.0
        assert [clip.hidden for clip in test.clips] == [True] * 5 + [False] * 20

    @pytest.mark.parametrize(
        ("header", "cells", "rating", "by_rater"),
        [
            (["rating"], ["7"], 7.0, {}),
            (["rating", "raters"], ["7", "12"], 7.0, {}),
            (["rating", "raters"], ["", "6;7;9.5"], 7.5, {"0": 6.0, "1": 7.0, "2": 9.5}),
            (["rater_a", "rater_b"], ["6", "9"], 7.5, {"rater_a": 6.0, "rater_b": 9.0}),
            (["rater_a", "rater_b"], ["6", "NA"], 6.0, {"rater_a": 6.0}),
            (["rating", "rater_a"], ["7.1", "6"], 7.1, {"rater_a": 6.0}),
        ],
    )
    def test_ratings_of_a_row(
        self,
        header: list[str],
        cells: list[str],
        rating: float,
        by_rater: dict[str, float],
        tmp_path: Path,
    ) -> None:
        touch(tmp_path, "a.wav", "r.wav")
        rows = [["a.wav", system, "i", "r.wav", *cells] for system in "xyz"]
        path = write_csv(tmp_path / "t.csv", ["file", "system", "item", "reference", *header], rows)
        for clip in read_one(path).clips:
            assert clip.rating == pytest.approx(rating)
            assert clip.ratings == by_rater

    def test_what_may_be_left_out(self, tmp_path: Path) -> None:
        """Neither items nor references: names of files are the items, --reference has the rest."""
        touch(tmp_path, "x/1.wav", "y/1.wav", "z/1.wav", "real/8.wav", "real/9.wav")
        rows = [[f"{system}/1.wav", system, number] for number, system in enumerate("xyz")]
        path = write_csv(tmp_path / "t.csv", ["File", "System", "Rating"], rows)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as a spreadsheet writes it
        test = read_one(path, reference=str(tmp_path / "real"))
        assert test.items == ("1",)
        assert [e.file.name for e in test.references] == ["8.wav", "9.wav"]
        by_system = read_one(path, reference="x")
        assert [clip.hidden for clip in by_system.clips] == [True, False, False]
        assert by_system.clips[2].reference == by_system.clips[0].excerpt

    def test_excerpts(self, tmp_path: Path) -> None:
        touch(tmp_path, "a.wav", "r.wav")
        head = ["file", "system", "reference", "rating", "start", "end"]
        rows = [["a.wav", system, "r.wav", 1, 9, ""] for system in "xyz"]
        clip = read_one(write_csv(tmp_path / "same.csv", head, rows)).clips[0]
        assert clip.excerpt == Excerpt(tmp_path / "a.wav", 9.0, None)
        assert clip.reference == Excerpt(tmp_path / "r.wav", 9.0, None)
        rows = [[*row, 0.5, 2] for row in rows]
        head += ["reference_start", "reference_end"]
        clip = read_one(write_csv(tmp_path / "own.csv", head, rows)).clips[0]
        assert clip.reference == Excerpt(tmp_path / "r.wav", 0.5, 2.0)

    def test_a_row_without_a_file_rates_a_system(self, tmp_path: Path) -> None:
        touch(tmp_path, "a.wav", "r.wav")
        head = ["file", "system", "reference", "rating", "rater"]
        rows: list[list[object]] = [["a.wav", system, "r.wav", "", ""] for system in "xyz"]
        rows += [
            ["", system, "", 10 * n + r, f"r{r}"] for n, system in enumerate("xyz") for r in (1, 2)
        ]
        test = read_one(write_csv(tmp_path / "t.csv", head, rows))
        assert test.system_ratings["y"] == {"r1": 11.0, "r2": 12.0}
        assert all(clip.rating is None for clip in test.clips)


class TestWebMushra:
    HEAD = ("session_test_id", "session_uuid", "trial_id", "rating_stimulus", "rating_score")

    def rows(self) -> list[tuple[object, ...]]:
        return [
            ("t", f"u{rater}", item, name, 100 - 20 * place - rater)
            for rater in range(2)
            for item in ITEMS
            for place, name in enumerate(NAMES)
        ]

    @pytest.mark.parametrize(
        "pattern", ["{0}/{1}.wav", "{1}/{0}.flac", "{0}_{1}.wav", "deep-{1}/../{0}-{1}.ogg"]
    )
    def test_sounds_by_name(self, pattern: str, tmp_path: Path) -> None:
        names = [pattern.split("../")[-1].format(item, name) for item in ITEMS for name in NAMES]
        touch(tmp_path / "sounds", *names)
        path = write_csv(tmp_path / "mushra.csv", self.HEAD, self.rows())
        test = read_one(path, sounds=tmp_path / "sounds")
        assert test.systems == NAMES
        assert test.items == ITEMS
        clip = test.clips[1]
        assert clip.ratings == {"u0": 80.0, "u1": 79.0}
        assert clip.reference == test.clips[0].excerpt
        assert test.clips[0].hidden

    def test_anchors_that_have_no_file_are_left_out(self, sounds: Path, tmp_path: Path) -> None:
        rows = [*self.rows(), ("t", "u0", ITEMS[0], "anchor35", 5)]
        path = write_csv(tmp_path / "mushra.csv", self.HEAD, rows)
        assert read_one(path, sounds=sounds).systems == NAMES

    def test_a_table_of_stimuli(self, sounds: Path, tmp_path: Path) -> None:
        codes = {name: f"C{number}" for number, name in enumerate(NAMES)}
        rows = [("t", "u0", item, codes[name], 50) for item in ITEMS for name in NAMES]
        path = write_csv(tmp_path / "mushra.csv", self.HEAD, rows)
        table = write_csv(
            tmp_path / "stimuli.csv",
            ["trial_id", "stimulus", "file", "system", "reference"],
            [
                (
                    item,
                    codes[name],
                    sounds / name / f"{item}.wav",
                    name,
                    sounds / "reference" / f"{item}.wav",
                )
                for item in ITEMS
                for name in NAMES
            ],
        )
        test = read_one(path, stimuli=table)
        assert test.systems == NAMES
        assert test.items == ITEMS
        assert test.clips[1].excerpt.file.samefile(sounds / "fine" / f"{ITEMS[0]}.wav")

    def test_likert_pages_of_one_sound_each(self, tmp_path: Path) -> None:
        touch(tmp_path, "a.wav", "b.wav", "c.wav")
        head = ("session_test_id", "name", "age", "trial_id", "stimuli_rating", "stimuli")
        scores = {"ann": " 4 ", "bob": " NA "}
        rows = [("t", n, 30, f"p{s}", score, "C1") for n, score in scores.items() for s in "abc"]
        rows += [("t", "cid", 31, "pa", " 1 ", "C1")]
        path = write_csv(tmp_path / "lss.csv", head, rows)
        table = write_csv(
            tmp_path / "s.csv",
            ["trial_id", "file", "system"],
            [(f"p{name}", f"{name}.wav", name) for name in "abc"],
        )
        test = read_one(path, stimuli=table, reference="a")
        assert test.clips[0].ratings == {"ann 30": 4.0, "cid 31": 1.0}
        assert test.clips[1].ratings == {"ann 30": 4.0}

    def test_listeners_without_names_follow_each_other(self, sounds: Path, tmp_path: Path) -> None:
        head = [name for name in self.HEAD if name != "session_uuid"]
        rows = [(row[0], *row[2:]) for row in self.rows()]
        test = read_one(write_csv(tmp_path / "m.csv", head, rows), sounds=sounds)
        assert test.clips[1].ratings == {"1": 80.0, "2": 79.0}


class TestMatrices:
    FULL = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], dtype=float)

    def read(self, path: Path, sounds: Path | None = None) -> DissimilaritySet:
        (test,) = read_tests([path], Places(sounds=sounds))
        assert isinstance(test, DissimilaritySet)
        return test

    @pytest.mark.parametrize("delimiter", ["\t", ",", " "])
    @pytest.mark.parametrize("triangle", [np.triu, np.tril, np.asarray])
    def test_rows_are_the_sorted_sounds(
        self, delimiter: str, triangle: type, tmp_path: Path
    ) -> None:
        touch(tmp_path / "study", "b.wav", "B.wav", "a.wav", "c.aiff", "notes.txt")
        np.savetxt(tmp_path / "study.txt", triangle(self.FULL), delimiter=delimiter)
        test = self.read(tmp_path / "study.txt")
        assert [e.file.name for e in test.sounds] == ["B.wav", "a.wav", "b.wav", "c.aiff"]
        assert np.array_equal(test.matrix, self.FULL)
        assert test.name == "study"

    def test_a_folder_that_is_given(self, tmp_path: Path) -> None:
        names = ("1.wav", "2.wav", "3.wav", "4.wav")
        np.savetxt(tmp_path / "m.txt", self.FULL)
        assert self.read(tmp_path / "m.txt", touch(tmp_path / "all", *names)).matrix.shape == (4, 4)
        touch(tmp_path / "all" / "m", *names, "5.wav")
        with pytest.raises(UsageError, match=r"has 4 rows, but .*all/m has 5 sounds"):
            self.read(tmp_path / "m.txt", tmp_path / "all")

    def test_names_in_the_matrix(self, tmp_path: Path) -> None:
        touch(tmp_path, "s/x.wav", "s/y.wav", "s/z.wav", "s/w.wav")
        names = ["s/z.wav", "s/y", "s/x.wav", "s/w"]
        rows = [[name, *row] for name, row in zip(names, self.FULL.tolist(), strict=True)]
        test = self.read(write_csv(tmp_path / "m.csv", ["", *names], rows))
        assert [e.file.name for e in test.sounds] == ["z.wav", "y.wav", "x.wav", "w.wav"]


GENERAL = "file,system,item,reference,rating,rater\n"
THREE = "".join(f"a.wav,{s},i,r.wav,1,r\n" for s in "xyz")
MUSHRA = "session_test_id,trial_id,rating_stimulus,rating_score\nt,p1,C1,5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("colour,taste\nred,sweet\n", "is not a listening test: it must be a CSV with the columns"),
        ("submission,alg,category,criterion,mos\nx,y,z,w,1\n", "is not a listening test"),
        (GENERAL, "has a header and no row"),
        ("file,system\na.wav,x\n", "has no ratings: it needs the column rating"),
        ("file,system,rating,rating\na.wav,x,1,1\n", "has the column 'rating' twice"),
        (GENERAL + THREE + "gone.wav,x,j,r.wav,1,r\n", "1 sounds are missing, as .*gone.wav"),
        (GENERAL + THREE + "a.wav,x,j,no.wav,1,r\n", "1 sounds are missing, as .*no.wav"),
        (GENERAL + THREE + "a.wav,x,j,r.wav,good,r\n", "row 5: the rating 'good' is not a number"),
        (GENERAL + THREE + "a.wav,x,j,r.wav,inf,r\n", "row 5: the rating 'inf' is not a number"),
        (GENERAL + THREE + "a.wav,x,j,r.wav,,\n", "a.wav has no rating"),
        (GENERAL + THREE + "a.wav,,j,r.wav,1,r\n", "row 5: there is no system"),
        (GENERAL + THREE + "a.wav,x,i,a.wav,1,q\n", "row 5: a.wav has two references"),
        (GENERAL + THREE + ",x,,,1,q\n", "rates both clips and whole systems"),
        (GENERAL + THREE + "a.wav,x,i,r.wav,1,q,9\n", "row 5: 7 cells for 6 columns"),
        (GENERAL + "a.wav,x,i,r.wav,1,r\na.wav,y,i,r.wav,1,r\n", r"has 2 systems \(x, y\); a rank"),
        (
            GENERAL + "".join(f"a.wav,{s},i,,1,r\n" for s in "xyz"),
            "the system 'x' has no reference; fill the column reference, or give --reference",
        ),
        (
            "file,system,reference,rating\n"
            + "".join(f"a.wav,{s},r.wav,\n" for s in "xyz")
            + ",x,,1\n,y,,2\n",
            "the system 'z' has no rating",
        ),
        (
            "file,system,reference,rating,start,end\n" + "a.wav,x,r.wav,1,3,2\n",
            r"row 2: the excerpt from 3.0 s to 2.0 s is empty",
        ),
        ("file,system,rating,start\na.wav,x,1,early\n", "the start 'early' is not a number"),
        (MUSHRA, "does not name its sounds: give --sounds DIR or --stimuli CSV"),
        ("session_test_id,trial_id,choice\nt,p,a\n", "has no ratings of single stimuli"),
        ("0 1 2\n1 0 3\n2 3 0\n", "has 3 sounds; a comparison needs 4"),
        ("0 1 2 3\n1 0 3 4\n2 3 0 5\n", "has 3 rows, but a row of another length"),
        ("0 1 2 3\n9 0 3 4\n2 3 0 5\n3 4 5 0\n", "is not symmetric"),
        ("0 1 2 3\n1 0 x 4\n2 3 0 5\n3 4 5 0\n", "row 2: the dissimilarity 'x' is not a number"),
        ("0 1 2 3\n1 0 3 4\n2 3 0 5\n3 4 5 0\n", "names no sounds: put them into the folder t"),
        (
            ",a,b,c,gone\na,0,1,2,3\nb,1,0,3,4\nc,2,3,0,5\ngone,3,4,5,0\n",
            "there is no sound 'b' in",
        ),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    touch(tmp_path, "a.wav", "r.wav")
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as raised:
        read_tests([path], Places())
    assert "\n" not in str(raised.value)


def test_bad_places(ratings: Path, sounds: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(MUSHRA)
    with pytest.raises(UsageError, match="There is no folder nowhere"):
        read_tests([path], Places(sounds=Path("nowhere")))
    with pytest.raises(UsageError, match="no sound for trial 'p1', stimulus 'C1', such as p1/C1"):
        read_tests([path], Places(sounds=sounds))
    table = write_csv(tmp_path / "s.csv", ["trial_id", "stimulus", "file"], [("p2", "C1", "a.wav")])
    with pytest.raises(UsageError, match="has no row for trial 'p1', stimulus 'C1'"):
        read_tests([path], Places(stimuli=table))
    table = write_csv(tmp_path / "s.csv", ["trial_id", "stimulus", "file"], [("p1", "C1", "")])
    with pytest.raises(UsageError, match="row 2: there is no file"):
        read_tests([path], Places(stimuli=table))
    with pytest.raises(UsageError, match="Two files of --ratings are called 'noise'"):
        read_tests([ratings, ratings], Places())
    lines = [line.split(",") for line in ratings.read_text().splitlines()]
    bare = write_csv(tmp_path / "b.csv", lines[0], [[*r[:3], "", *r[4:]] for r in lines[1:]])
    with pytest.raises(UsageError, match="neither a folder nor a system of b, which has reference"):
        read_tests([bare], Places(reference="nobody"))
