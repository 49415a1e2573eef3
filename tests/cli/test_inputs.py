"""Commands take manifests, and use what their columns say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otadtk import OTAD, evaluate
from otadtk.cli.compare import main as compare
from otadtk.cli.score import main as score
from otadtk.report.user_csv import find_groupings, find_labels

WriteClips = Callable[..., list[Path]]
QUICK = ["--variant", "raw", "--epsilon", "10"]


@pytest.fixture
def tables(tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets of eight clips with manifests whose rows have another order than the names."""
    monkeypatch.chdir(tmp_path)
    for side, seed in (("ref", 0), ("gen", 100)):
        files = write_clips(Path(side), 8, first_seed=seed, seconds=0.5)
        order = files if side == "ref" else files[::-1]
        lines = [
            f"{file},g{int(file.stem) % 2},p{file.stem},{'hum' if file.stem < '002' else 'ok'}"
            for file in order
        ]
        Path(f"{side}.csv").write_text("\n".join(["file,group,pair,label", *lines]) + "\n")
    rows = [
        {"file": f"gen/{k:03d}.wav", "system": name, "pair": k, "end": end}
        for name, end in (("long", 0.5), ("short", 0.3))
        for k in (range(8) if name == "long" else range(7, -1, -1))
    ]
    Path("systems.jsonl").write_text("\n".join(map(json.dumps, rows)))


def run(arguments: list[str]) -> dict[str, Any]:
    assert score(["logmel", *arguments, *QUICK, "--json", "run.json", "-q"]) == 0
    found: dict[str, Any] = json.loads(Path("run.json").read_text())["results"][0]
    return found


def test_columns_take_the_place_of_tables(tables: None) -> None:
    """Groups, labels and pairs of the manifests do what those of CSV files do."""
    Path("pairs.csv").write_text(
        "reference,evaluated\n" + "".join(f"ref/{k:03d}.wav,gen/{k:03d}.wav\n" for k in range(8))
    )
    by_table = run(["ref", "gen", "--paired", "pairs.csv", "--null", "20"])
    by_column = run(["ref.csv", "gen.csv", "--paired", "--null", "20"])
    assert by_column["score"] == pytest.approx(by_table["score"], rel=1e-6)
    paired = (by_table["statistics"]["paired"], by_column["statistics"]["paired"])
    assert sorted(paired[0]["costs"]) == pytest.approx(sorted(paired[1]["costs"]))
    for side in ("ref", "gen"):  # without groups, pairs count by themselves
        Path(f"{side}2.csv").write_text(Path(f"{side}.csv").read_text().replace("group", "x", 1))
    swapped = run(["ref2.csv", "gen2.csv", "--null", "20"])
    assert swapped["statistics"]["floor"] == by_column["statistics"]["floor"]
    assert swapped["clips"][0]["pair"] == "p007"
    grouped = run(["ref.csv", "gen.csv", "--null", "20"])
    assert grouped["statistics"]["floor"]["design"] == "strata"
    found = evaluate(OTAD("logmel", variant="raw", epsilon=10), "ref.csv", "gen.csv", null=20)
    assert found.statistics.floor is not None and found.statistics.floor.design == "strata"
    assert find_labels(None, found.evaluated) == ("",) * 6 + ("hum", "hum")
    (grouping,) = find_groupings(None, found.evaluated, found.reference)
    assert (grouping.title, grouping.reference) == ("group", ("g0", "g1") * 4)


def test_systems_of_one_manifest(tables: None, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["logmel", "ref", "systems.jsonl", *QUICK, "--no-null"]
    assert compare([*command, "--json", "paired.json"]) == 0
    said = capsys.readouterr()
    assert "the manifests name 8 pairs" in said.err and "names differ" not in said.err
    assert " long " in said.out and " short " in said.out
    rows = Path("systems.jsonl").read_text().split("\n")
    Path("free.jsonl").write_text("\n".join(row.replace("pair", "prompt") for row in rows))
    assert compare([*command[:2], "free.jsonl", *command[3:], "--json", "free.json"]) == 0
    said = capsys.readouterr()
    assert "not used are its columns prompt" in said.err
    free, paired = (
        json.loads(Path(f"{name}.json").read_text())["results"][0]["differences"][0]
        for name in ("free", "paired")
    )
    assert free["value"] == pytest.approx(paired["value"])
    assert paired["high"] - paired["low"] < free["high"] - free["low"]
    Path("systems.jsonl").write_text("\n".join(rows[:-1]))
    assert compare([*command, "--paired"]) == 2
    assert "long and short do not both have the pair '0'" in capsys.readouterr().err


def test_bad_manifest_is_one_line(tables: None, capsys: pytest.CaptureFixture[str]) -> None:
    """And it comes before the reference is embedded."""
    Path("bad.csv").write_text("file,start,end\ngen/000.wav,3,1\n")
    cases = {
        "bad.csv": "bad.csv, line 2: the end, 1 s, is not after the start, 3 s.\n",
        "nothing": "There is no file or folder nothing.\n",
        "gen/*.mp3": "No file matches gen/*.mp3.\n",
        "@nothing.txt": "nothing.txt cannot be read: No such file or directory.\n",
    }
    for source, words in cases.items():
        for command, systems in ((score, [source]), (compare, ["gen", source])):
            assert command(["logmel", "ref", *systems, "--cache-dir", "store"]) == 3
            found = capsys.readouterr().err
            assert found.partition(": error: ")[2].startswith(words), found
            assert found.count("\n") == 1
    assert not Path("store").exists()


def test_page_of_clips_inside_a_shard(
    tables: None, write_clips: WriteClips, tmp_path: Path
) -> None:
    """Their sound is in the page, and no link leads into the shard."""
    import tarfile

    with tarfile.open("gen.tar", "w") as shard:
        for file in sorted(Path("gen").iterdir()):
            shard.add(file, arcname=file.name)
    assert score(["logmel", "ref.csv", "gen.tar", *QUICK, "-q", "--report", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert 'id="sound-e0"' in page
    found = json.loads(page.split('type="application/json"')[1].split(">", 1)[1].split("</")[0])
    assert set(found["evaluated"]["links"].values()) == {""}
