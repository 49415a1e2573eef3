"""``otadtk-experiments`` as a user runs it: quick versions, resumed runs, bad input, the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from otadtk.cli.experiments import main
from otadtk.experiments import EXPERIMENTS
from otadtk.experiments.page import refresh
from otadtk.experiments.rank_one.experiment import QUICK
from otadtk.experiments.rows import distinct, read_rows
from otadtk.experiments.run import Experiment, Request, Source, Task, run

DOCS = Path(__file__).parents[2] / "docs" / "evidence"


def quick(out: Path, *arguments: str) -> int:
    return main([*arguments, "--quick", "--out", str(out), "--workers", "1", "-q"])


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)


@pytest.mark.parametrize(
    "name",
    ["rank-one", "factorial", "per-sample", "mos", "regularisation", "invariance", "efficiency"],
)
def test_every_experiment_runs_through(
    name: str, esc: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quick(tmp_path, name, "--data", str(esc), "--model", "logmel") == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in written}
    assert {path.suffix for path in written} == {".csv", ".json", ".md", ".tex", ".svg", ".pdf"}
    assert all(path.stat().st_size > 100 for path in written)
    assert distinct(read_rows(tmp_path / f"{name}.csv"), "model") == ["logmel"]
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["experiment"] == name
    assert str(tmp_path) not in (tmp_path / f"{name}.json").read_text()


@pytest.mark.weights
def test_adapters_take_part(esc: Path, tmp_path: Path) -> None:
    assert quick(tmp_path, "per-sample", "--data", str(esc), "--model", "yamnet") == 0
    rows = read_rows(tmp_path / "per-sample.csv")
    assert distinct(rows, "variant") == ["raw", "agnostic", "native", "artifact", "perceptual"]
    costs = distinct(rows, "cost")
    assert {"c_j, Sinkhorn", "c_j, exact", "nearest", "FAD", "kernel", "supervised"} == set(costs)
    assert all(0.0 <= float(row["auroc"]) <= 1.0 for row in rows)


def test_a_second_run_gives_the_same_files(esc: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert quick(tmp_path / folder, "rank-one", "--data", str(esc), "--model", "logmel") == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    computed: list[str] = []
    fail = True

    def tasks(config: object, source: Source) -> list[Task]:
        def compute(name: str) -> Task:
            def rows() -> list[dict[str, str | int | float]]:
                if name == "third" and fail:
                    raise KeyboardInterrupt
                computed.append(name)
                return [{"name": name}]

            return Task(name, rows)

        return [compute(name) for name in ("first", "second", "third")]

    experiment = Experiment(
        "mos", QUICK, QUICK, tasks, lambda rows: [], lambda rows: {}, needs_data=False
    )
    request = Request(tmp_path, models=(), workers=1)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, request)
    assert not (tmp_path / "mos.csv").exists()
    fail = False
    run(experiment, request)
    assert computed == ["first", "second", "third"]
    assert [row["name"] for row in read_rows(tmp_path / "mos.csv")] == computed
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_published_distances(tmp_path: Path) -> None:
    ratings = ["submission,alg,category,criterion,mos"]
    distances = ["encoder,alg,category,fad"]
    for number in range(4):
        distances.append(f"vggish,S{number},rain,{10 * number}")
        for criterion in ("audio_quality", "category_fit"):
            ratings.append(f"x{number},S{number},rain,{criterion},{9 - number}")
    for name, lines in (("r.csv", ratings), ("d.csv", distances)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    files = ("--ratings", str(tmp_path / "r.csv"), "--distances", str(tmp_path / "d.csv"))
    assert quick(tmp_path / "out", "mos-published", *files) == 0
    table = (tmp_path / "out" / "mos-published.md").read_text()
    assert "| encoder | audio quality, n = 4 |" in table
    assert "| vggish | -1.000 " in table
    rows = read_rows(tmp_path / "out" / "mos-published.csv")
    assert [row["rho"] for row in rows] == [-1, -1, -1, -1]
    assert "value" not in rows[0]  # the published figures themselves are not passed on


KADTK = "def calc_kernel_audio_distance(x, y, cached, device): return 1.25\n"
OTADTK = """
def compute_otad(x, y, *, epsilon, return_sample_costs, device):
    return 2.0, [1.0 / len(y)] * len(y)
"""


class TestEquivalence:
    def test_asks_the_packages_it_finds(self, tmp_path: Path) -> None:
        for place, text in (("a/kadtk/kad.py", KADTK), ("b/otadtk/otad.py", OTADTK)):
            file = tmp_path / place
            file.parent.mkdir(parents=True)
            file.write_text(text)
            (file.parent / "__init__.py").touch()
        assert quick(tmp_path / "out", "equivalence", "--peers", str(tmp_path)) == 0
        rows = read_rows(tmp_path / "out" / "equivalence.csv")
        assert [row["theirs"] for row in rows] == [1.25, 2, 2]
        for row in rows:
            theirs, ours = float(row["theirs"]), float(row["ours"])
            expected = abs(ours - theirs) / theirs
            assert float(row["relative_difference"]) == pytest.approx(expected, rel=1e-4)

    def test_says_what_is_missing(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert quick(tmp_path, "equivalence") == 2
        assert "equivalence needs --peers DIR with kadtk 1.1" in capsys.readouterr().err
        assert quick(tmp_path, "equivalence", "--peers", str(tmp_path)) == 2
        assert "has no kadtk 1.1: neither kadtk/kad.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rank-two"], "Unknown experiment 'rank-two'; choose from rank-one"),
        (["rank-one"], "needs labelled clips: --data path/to/ESC-50"),
        (["rank-one", "--data", "nowhere"], "There is no folder nowhere"),
        (["mos", "--foley", "nowhere"], "--foley needs the ratings"),
        (["mos-published"], "mos-published needs --distances CSV"),
        (["mos-published", "--distances", "no.csv", "--ratings", "no.csv"], "no file no.csv"),
        (["show", "rank-one"], "run otadtk-experiments rank-one first"),
        (["page"], "Name one page"),
        (["page", "no.md"], "no.md cannot be read"),
        (["rank-one", "--model", "pans", "--data", "."], "Unknown model 'pans'"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--out", "results", "-q"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.glob("results/*.csv"))


class TestPage:
    def test_blocks_are_filled_and_prose_is_kept(self, tmp_path: Path) -> None:
        results = tmp_path / "results"
        results.mkdir()
        (results / "mos.md").write_text("**T**\n\n| a |\n")
        (results / "mos-curve.svg").touch()
        (results / "mos-published-curve.svg").touch()
        page = tmp_path / "page.md"
        page.write_text("before\n<!-- results: mos -->\nold\n<!-- end -->\nafter\n")
        assert refresh(page, results) == ["mos"]
        text = page.read_text()
        assert text.startswith("before\n") and text.endswith("<!-- end -->\nafter\n")
        assert "old" not in text
        assert "<summary>T</summary>\n\n| a |\n\n</details>" in text
        assert "![mos-curve](results/mos-curve.svg)" in text
        assert "published" not in text
        refresh(page, results)
        assert page.read_text() == text


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "model,metric\nyamnet,otad\n"])
def test_rows_of_another_shape_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (tmp_path / "mos.csv").write_text(content)
    assert main(["show", "mos", "--out", str(tmp_path)]) == 2
    assert "does not hold the rows of 'mos'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mos.csv"]
