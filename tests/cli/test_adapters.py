"""``otadtk-adapters``: list, verify, import, info."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from otadtk import OTAD, RiemannianAdapter
from otadtk.adapter.files import save_adapter
from otadtk.cli.adapters import main
from otadtk.encoders import get_spec

LOGMEL = get_spec("logmel")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.safetensors"
    save_adapter(RiemannianAdapter(128), path, LOGMEL, "native")
    return path


def test_list(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    assert main(["list"]) == 0
    assert "wav2vec2-base-960h" in capsys.readouterr().out
    assert main(["import", str(file)]) == 0
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["encoder"] == "logmel"
    assert sum(row.get("member", "") != "" for row in rows) == 18


def test_import_puts_it_where_it_is_found(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(file)]) == 0
    assert Path(capsys.readouterr().out.strip()).read_bytes() == file.read_bytes()
    assert OTAD("logmel", variant="native").adapter is not None
    assert main(["import", str(file)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["import", str(file), "--force"]) == 0


def test_import_of_the_old_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.pt"
    torch.save({"adapter_state_dict": RiemannianAdapter(128).state_dict()}, path)
    assert main(["import", str(path)]) == 2
    options = ["--model", "logmel", "--variant", "agnostic"]
    assert main(["import", str(path), *options]) == 0
    card = OTAD("logmel", variant="agnostic").card
    assert card is not None and "old.pt" in card.origin
    torch.save({"adapter_state_dict": RiemannianAdapter(64).state_dict()}, path)
    assert main(["import", str(path), *options, "--force"]) == 4
    torch.save({"adapter_state_dict": main}, path)  # a function: reading it would run code
    assert main(["import", str(path), *options, "--force"]) == 4
    assert "could run code" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "none.pt"), *options]) == 4


def test_verify(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file)]) == 0
    assert "ok" in capsys.readouterr().out
    file.write_bytes(file.read_bytes()[:-4] + b"\1\1\1\1")
    assert main(["verify", str(file)]) == 4
    assert "WRONG" in capsys.readouterr().out
    assert main(["verify"]) == 0
    assert "not here yet" in capsys.readouterr().out


def test_info(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(file)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["fingerprint"] == LOGMEL.fingerprint
    assert shown["sha256"].startswith("sha256:")
    assert main(["info", "panns/native"]) == 0
    assert json.loads(capsys.readouterr().out)["licence"] == "CC-BY-4.0"
    assert main(["info", "panns/best"]) == 2
    assert "neither a file nor" in capsys.readouterr().err


def test_import_refuses_what_is_no_adapter(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    assert main(["import", str(tmp_path / "x.safetensors")]) == 4
    assert main(["import", str(file), "--model", "logmel"]) == 2
    assert "belong to .pt files" in capsys.readouterr().err


def test_an_import_in_place_of_a_bundled_one_is_named_and_removed(
    file: Path, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The warning, the printed score and the document name the file and its content."""
    from otadtk.adapter import known_adapter
    from otadtk.cli.score import main as score

    bundled = known_adapter("yamnet", "artifact")
    assert bundled is not None
    assert main(["import", str(bundled.path)]) == 0
    said = capsys.readouterr()
    assert "in place of the one that comes with otadtk" in said.err
    assert main(["remove", "yamnet/artifact"]) == 0
    assert not Path(said.out.strip()).exists()
    assert "counts again" in capsys.readouterr().err
    assert main(["import", str(file)]) == 0
    place = capsys.readouterr().out.strip()
    run = ["logmel", *map(str, folders), "--variant", "native", "--no-null", "-q"]
    assert score([*run, "--json", str(tmp_path / "run.json")]) == 0
    card = OTAD("logmel", variant="native").card
    assert card is not None
    assert f"adapter: {card.content[:12]} of {place}" in capsys.readouterr().out
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["results"][0]["adapter"]["file"] == place
    for wrong, words in {
        "logmel": "is not ENCODER/VARIANT",
        "yamnet/native": "no imported",
    }.items():
        assert main(["remove", wrong]) == 2
        assert words in capsys.readouterr().err
