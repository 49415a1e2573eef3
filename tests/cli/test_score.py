"""``otadtk``: stdout and stderr, files, and every option."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from otadtk import FAD, OTAD, __version__, compute_fad, compute_kad, compute_otad, evaluate
from otadtk.adapter.files import save_adapter
from otadtk.adapter.network import RiemannianAdapter
from otadtk.cli.score import main
from otadtk.encoders import get_spec
from otadtk.errors import UsageError

Folders = tuple[Path, Path]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_score_alone_on_its_line(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("logmel", *folders) == 0
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    assert line == f"OTAD: {OTAD('logmel').score(*folders):.6f}"
    assert "variant raw" in err
    assert "epsilon 0.1" in err
    assert "8 reference clips (0 from the cache)" in err


@pytest.mark.parametrize(("flag", "compute"), [("--fad", compute_fad), ("--kad", compute_kad)])
def test_other_metrics(
    folders: Folders, capsys: pytest.CaptureFixture[str], flag: str, compute: object
) -> None:
    assert callable(compute)
    assert run("logmel", *folders, flag) == 0
    out, err = capsys.readouterr()
    x, y = (OTAD("logmel").embed(folder).vectors for folder in folders)
    assert out == f"{flag[2:].upper()}: {compute(x, y):.6f}\n"
    assert ("bandwidth" in err) == (flag == "--kad")


def test_several_metrics_in_one_run(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "scores.csv"
    arguments = ["--metrics", "kad,otad,fad,otad", "--bandwidth", 3, "--epsilon", 2]
    assert run("logmel", *folders, *arguments, "--csv", target) == 0
    out, err = capsys.readouterr()
    x, y = (OTAD("logmel").embed(folder).vectors for folder in folders)
    assert out.splitlines() == [
        f"KAD: {compute_kad(x, y, bandwidth=3.0):.6f}",
        f"OTAD: {compute_otad(x, y, epsilon=2.0):.6f}",
        f"FAD: {compute_fad(x, y):.6f}",
    ]
    assert err.count("8 reference clips (") == 1
    with target.open(newline="") as file:
        assert [row["metric"] for row in csv.DictReader(file)] == ["KAD", "OTAD", "FAD"]


def test_statistics_of_every_metric(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--metrics", "otad,fad,kad", "--null", 19, "--ci", "--extrapolate", "--seed", 3]
    assert run("logmel", *folders, *arguments) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert [line.split(":")[0].strip() for line in lines] == [
        "OTAD",
        "floor",
        "95 % interval",
        "FAD",
        "floor",
        "95 % interval",
        "limit",
        "KAD",
        "floor",
        "95 % interval",
        "limit",
    ]
    asked = {"null": 19, "interval": True, "limit": True, "seed": 3}
    result = evaluate(FAD("logmel"), *folders, paired=True, **asked)  # the folders hold twins
    floor = result.statistics.floor
    assert floor is not None
    assert lines[3] == result.headline()
    assert f"floor {floor.mean:.6f}, {result.score / floor.mean:.2f} times it" in lines[3]
    assert f"p = {floor.p_value:.3g}" in lines[3]
    assert "times it" not in lines[7]  # KAD's floor is about zero
    assert "cannot tell the sets apart at N = 8, M = 8" in err  # both folders are of one kind
    assert "KAD is unbiased at every N" in err
    assert "OTAD has no limit by a fit in 1/N" in err


def test_otad_alone_is_not_extrapolated(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("logmel", *folders, "--extrapolate") == 2
    assert "take the excess (--excess)" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no limit by a fit"):
        evaluate(OTAD("logmel"), *folders, limit=True)


def test_few_permutations_are_remarked_on(
    folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("logmel", *folders, "--fad", "--null", 3) == 0
    assert "3 permutations cannot give a p below 0.25" in capsys.readouterr().err


def test_bandwidth(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    run("logmel", *folders, "--kad", "--bandwidth", 3)
    x, y = (OTAD("logmel").embed(folder).vectors for folder in folders)
    assert capsys.readouterr().out == f"KAD: {compute_kad(x, y, bandwidth=3.0):.6f}\n"


def test_diagnose(folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--diagnose", "--top-k", 3, "--epsilon", 2, "--variant", "raw"]
    outputs = ["--diag-out", tmp_path / "a" / "cj.csv", "--indiv", tmp_path / "indiv.csv"]
    assert run("logmel", *folders, *arguments, *outputs) == 0
    out = capsys.readouterr().out.splitlines()
    worst = OTAD("logmel", epsilon=2.0).diagnose(*folders).top_k(3)
    assert out[0].startswith("OTAD: ")
    assert [line.split()[2] for line in out[3:]] == [str(file) for file, _ in worst]
    with (tmp_path / "a" / "cj.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["file", "cj"]
    assert len(rows) == 9
    with (tmp_path / "indiv.csv").open(newline="") as file:
        costs = [float(row["cj"]) for row in csv.DictReader(file)]
    assert costs == sorted(costs)


def test_csv_appends(folders: Folders, tmp_path: Path) -> None:
    target = tmp_path / "scores.csv"
    run("logmel", *folders, "--csv", target)
    run("logmel", *folders, "--fad", "--csv", target)
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["metric", "model", "variant", "ref", "eval", "score", "time"]
    assert [(row["metric"], row["variant"]) for row in rows] == [("OTAD", "raw"), ("FAD", "")]
    assert rows[0]["ref"] == str(folders[0])


def test_second_run_is_from_the_cache(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    run("logmel", *folders)
    capsys.readouterr()
    run("logmel", *folders)
    assert "(8 from the cache)" in capsys.readouterr().err
    run("logmel", *folders, "--force-emb-encode")
    assert "(0 from the cache)" in capsys.readouterr().err


def test_cache_dir(folders: Folders, tmp_path: Path, cache: Path) -> None:
    run("logmel", *folders, "--cache-dir", tmp_path / "elsewhere")
    assert len(list((tmp_path / "elsewhere").rglob("*.clip"))) == 16
    assert not list(cache.rglob("*.clip"))


def test_adapter_checkpoint(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.safetensors"
    save_adapter(RiemannianAdapter(128), path, get_spec("logmel"), "native")
    assert run("logmel", *folders, "--adapter-checkpoint", path) == 0
    assert "variant native" in capsys.readouterr().err
    assert run("yamnet", *folders, "--adapter-checkpoint", path) == 4
    assert "trained on the features of 'logmel'" in capsys.readouterr().err


def test_own_encoder_file(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "peak.py").write_text(
        "class Peak:\n    target_sr, embedding_dim = 16000, 1\n"
        "    def encode(self, wav, sr):\n        return wav.abs().max(dim=1).values.numpy()\n"
    )
    assert run(f"{tmp_path}/peak.py:Peak", *folders) == 0
    assert capsys.readouterr().out.startswith("OTAD: 0.")


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (["--epsilon-scale", "median_cost"], {"epsilon_scale": "median_cost"}, "(median_cost)"),
        (["--divergence", "entropic"], {"divergence": "entropic"}, "entropic Sinkhorn"),
        (["--coupling", "exact"], {"coupling": "exact"}, "exact transport by the network simplex"),
        (
            ["--coupling", "minibatch", "--seed", "3"],
            {"coupling": "minibatch", "seed": 3},
            "minibatch approximation",
        ),
        (["--coupling", "sliced"], {"coupling": "sliced"}, "sliced approximation"),
        (["--compat", "otadtk-0.1.2"], {"compat": "otadtk-0.1.2"}, "as otadtk-0.1.2 computes it"),
        (["--max-memory", "64M"], {"max_memory": 64_000_000}, "sharp Sinkhorn"),
    ],
)
def test_choices_of_the_solver_name_themselves(
    folders: Folders,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    settings: dict[str, Any],
    words: str,
) -> None:
    assert run("logmel", *folders, *arguments, "--diagnose") == 0
    out, err = capsys.readouterr()
    assert words in err
    metric = OTAD("logmel", **settings)
    apart = settings.get("compat") or settings.get("coupling")
    assert metric.label == ("OTAD" if apart is None else f"OTAD ({apart})")
    label, score = out.splitlines()[0].split(": ")
    assert label.removesuffix(", not converged") == metric.label
    assert score == f"{metric.score(*folders):.6f}"


def test_quiet(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("logmel", *folders, "-q", "--epsilon", 50) == 0
    assert capsys.readouterr().err == ""


def test_help_names_every_option_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    flags = (
        "--variant --epsilon --diagnose --diag-out --top-k --indiv --fad --kad --bandwidth --csv "
        "--device --workers --force-emb-encode --adapter-checkpoint --version --strict --weights "
        "--no-recursive --on-error --cache-dir --metrics --null --ci --extrapolate --seed"
    )
    for flag in flags.split():
        assert flag in text, flag
    assert "3 input audio" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--version")
    assert capsys.readouterr().out == f"otadtk {__version__}\n"


def test_strict(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from functools import partial

    from otadtk.distances.transport.sinkhorn import sinkhorn_divergence

    hasty = partial(sinkhorn_divergence, max_iterations=1, tolerance=1e-12)
    monkeypatch.setattr("otadtk.distances.transport.couplings.sinkhorn_divergence", hasty)
    assert run("logmel", *folders, "--epsilon", 30) == 0
    out, err = capsys.readouterr()
    assert out.startswith("OTAD, not converged: ")
    assert "warning: Not converged" in err
    assert run("logmel", *folders, "--epsilon", 30, "--strict") == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert "duality gap" in err


def test_reader_that_goes_away(folders: Folders) -> None:
    command = f"{sys.executable} -m otadtk logmel {folders[0]} {folders[1]} --diagnose | head -n 1"
    shell = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert shell.stdout.startswith("OTAD: ")
    assert "Traceback" not in shell.stderr


def test_runs_offline_with_the_weights_at_hand(folders: Folders) -> None:
    environment = {**os.environ, "OTADTK_OFFLINE": "1"}
    command = [sys.executable, "-m", "otadtk", "yamnet", *map(str, folders)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("OTAD: ")


@pytest.mark.parametrize("option", ["--labels", "--groups"])
def test_tables_that_do_not_fit_are_refused_before_scoring(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (tmp_path / "table.csv").write_text("file,kind\nabsent.wav,noise\n")
    report = tmp_path / "report.html"
    table = ["--report", report, option, tmp_path / "table.csv", "--csv", tmp_path / "s.csv"]
    assert run("logmel", *folders, *table) == 2
    out, err = capsys.readouterr()
    assert "table.csv" in err
    assert out == "", "no score is printed"
    assert not report.exists()
    assert not (tmp_path / "s.csv").exists()
