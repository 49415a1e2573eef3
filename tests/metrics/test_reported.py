"""The reported metrics through every door: commands, documents, comparison, torchmetrics, evaluate."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import soundfile
import torch

import otadtk.torchmetrics
from otadtk import evaluate
from otadtk.cli.compare import main as compare
from otadtk.cli.methods import main as methods
from otadtk.cli.score import main
from otadtk.distances.posteriors import divergences, inception_score
from otadtk.documents.schema import document_schema
from otadtk.embed import EmbeddingSet
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.errors import UsageError
from otadtk.metrics.reported.inception import IS
from otadtk.metrics.reported.kid import KID
from otadtk.metrics.reported.kl import KL
from otadtk.metrics.reported.prdc import PRDC
from otadtk.metrics.reported.vendi import Vendi

Folders = tuple[Path, Path]
METRICS = "prdc,vendi,kid,kl,is"


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_all_in_one_run(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "run.json", tmp_path / "page.html"
    options = [
        "--metrics",
        f"otad,{METRICS}",
        "--neighbours",
        3,
        "--is-splits",
        2,
        "--ci",
        "--null",
        20,
    ]
    sides = [*folders, "--variant", "raw"]
    assert run("yamnet", *sides, *options, "--json", file, "--report", page) == 0
    out = capsys.readouterr().out
    for label in ("PRDC: coverage", "Vendi: evaluated", "KID: ", "KL: softmax", "IS: evaluated"):
        assert label in out
    document = json.loads(file.read_text())
    jsonschema.validate(document, document_schema())
    by_name = {result["metric"]: result for result in document["results"]}
    assert by_name["PRDC"]["settings"]["neighbours"] == 3
    assert len(by_name["KL"]["kl_pairs"]) == 8
    assert by_name["KL"]["score"] == pytest.approx(
        np.mean([pair["value"] for pair in by_name["KL"]["kl_pairs"]])
    )
    assert by_name["KL"]["statistics"]["floor"] is None
    assert by_name["KID"]["statistics"]["floor"] is not None
    interval = by_name["PRDC"]["statistics"]["interval"]
    assert 0.0 <= interval["low"] <= interval["high"] <= 1.0
    assert methods([str(file)]) == 0
    text = capsys.readouterr().out
    for key in ("naeem2020prdc", "friedman2023vendi", "binkowski2018kid", "iashin2021taming"):
        assert f"[{key}]" in text
        assert f"{{{key}," in text
    assert "reference ‖ evaluated, mean over pairs" in text
    shown = page.read_text()
    assert "PRDC coverage" in shown
    assert "PRDC, higher is better" in shown
    assert "KL, lower is closer" in shown
    assert text.count("is better)") + text.count("is closer)") == 6


def test_compare(folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference, evaluated = folders
    file = tmp_path / "run.json"
    options = ["--metrics", METRICS, "--neighbours", "3", "--json", str(file)]
    arguments = ["yamnet", str(reference), str(evaluated), str(reference), *options]
    assert compare(arguments) == 0
    said = capsys.readouterr()
    assert "PRDC coverage, higher is better; Vendi evaluated, higher is better; KID" in said.err
    lines = said.out.splitlines()
    first = {line.split()[1]: line.split()[3] for line in lines[1:] if line.split()[2] == "1"}
    assert first["PRDC"] == first["KL"] == str(reference)
    jsonschema.validate(json.loads(file.read_text()), document_schema())


class TestKL:
    def test_is_the_mean_over_pairs_by_the_classifier(
        self, folders: Folders, yamnet: YamnetEncoder
    ) -> None:
        names = [sorted(folder.iterdir()) for folder in folders]
        logits = [
            np.stack([yamnet.classify(*soundfile.read(file, dtype="float32")) for file in side])
            for side in names
        ]
        expected = divergences(*logits).mean()
        assert KL("yamnet").score(*folders) == pytest.approx(expected, rel=1e-5)
        reverse = divergences(logits[1], logits[0], epsilon=1e-6).mean()
        other = KL("yamnet", kl_from="eval", kl_epsilon=1e-6)
        assert other.score(*folders) == pytest.approx(reverse, rel=1e-5)
        mean = inception_score(logits[1], 2, 2020).mean
        assert IS("yamnet", is_splits=2).score(*folders) == pytest.approx(mean, rel=1e-5)

    def test_rises_with_noise(self, folders: Folders, tmp_path: Path) -> None:
        scores = [KL("yamnet").score(folders[0], folders[0])]
        rng = np.random.default_rng(0)
        for level in (0.01, 0.2):
            noisy = tmp_path / f"noise {level}"
            noisy.mkdir()
            for file in folders[0].iterdir():
                samples, rate = soundfile.read(file)
                spoilt = samples + level * rng.normal(size=len(samples))
                soundfile.write(noisy / file.name, np.clip(spoilt, -1.0, 1.0), rate)
            scores.append(KL("yamnet").score(folders[0], noisy))
        assert scores[0] == pytest.approx(0.0, abs=1e-9)
        assert scores[0] < scores[1] < scores[2]

    def test_pairs_by_a_table(self, folders: Folders, tmp_path: Path) -> None:
        table = tmp_path / "pairs.csv"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["reference", "evaluated"])
            writer.writerows([["000.wav", "001.wav"], ["003.wav", "002.wav"]])
        metric = KL("yamnet", kl_pairs=table)
        sets = [metric.embed(folder) for folder in folders]
        found = metric.measure(*sets)
        pairs = [Path(pair["reference"]).name for pair in found.facts["kl_pairs"]]
        assert pairs == ["000.wav", "003.wav"]
        assert "6 evaluated clips have no partner" in found.notes[0]
        table.write_text("reference,evaluated\n000.wav,nothing.wav\n")
        with pytest.raises(UsageError, match=r"line 2 names 'nothing.wav', which is not among"):
            metric.measure(*sets)
        table.write_text("a,b\n")
        with pytest.raises(UsageError, match="no column 'reference'"):
            metric.measure(*sets)

    def test_without_pairs(
        self, folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for file in list(folders[1].iterdir()):
            file.rename(file.with_name(f"other {file.name}"))
        assert run("yamnet", *folders, "--metrics", "kl") == 2
        assert "say which belong together with --kl-pairs CSV" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["logmel", "--metrics", "kl"], "KL needs an encoder with a classifier"),
        (["yamnet+signal", "--metrics", "is"], "IS needs an encoder with a classifier"),
        (["yamnet", "--metrics", "kl", "--null"], "--null does nothing for KL"),
        (["yamnet", "--metrics", "is", "--excess"], "--excess does nothing for IS"),
        (["yamnet", "--metrics", "kl", "--frames", "own"], "KL compares clips"),
        (["yamnet", "--metrics", "kl", "--variant", "artifact"], "no adapter changes"),
        (["yamnet", "--metrics", "is", "--is-splits", "9"], "8 clips cannot be split into 9"),
        (["yamnet", "--metrics", "prdc", "--neighbours", "8"], "need at least 9 clips"),
        (["yamnet", "--metrics", "kid", "--kid-subset-size", "5"], "belongs to --kid-subsets"),
        (["yamnet", "--metrics", "fad", "--kl-form", "sigmoid"], "--kl-form belongs to KL"),
        (["yamnet", "--metrics", "kl", "--kl-pairs", "no.csv"], "no.csv cannot be read"),
        (["yamnet", "--metrics", "vendi", "--vendi-groups", "no.csv"], "no.csv cannot be read"),
    ],
)
def test_what_does_not_fit(
    folders: Folders, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments[0], *folders, *arguments[1:]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("error:") == 1


def test_given_embeddings(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("x", "y"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(30, 4)).astype(np.float32))
    sides = tmp_path / "x.npy", tmp_path / "y.npy"
    options = ["--metrics", "prdc,vendi,kid", "--kid-subsets", 5, "--kid-subset-size", 10]
    assert run("given", *sides, *options) == 0
    assert "mean over 5 random subsets of 10 clips" in capsys.readouterr().out
    assert run("given", *sides, "--metrics", "kl") == 2
    assert "it needs audio, not embeddings" in capsys.readouterr().err


def test_class_scores_are_stored(folders: Folders, cache: Path) -> None:
    metric = KL("yamnet")
    first = metric.embed(folders[0])
    assert first.encoded == 8
    assert len(list(cache.rglob("*.labels"))) == 8
    again = KL("yamnet").embed(folders[0])
    assert again.encoded == 0
    assert np.array_equal(first.class_scores, again.class_scores)
    assert PRDC("yamnet", neighbours=2).embed(folders[0]).encoded == 0
    next(cache.rglob("*.labels")).write_bytes(b"broken")
    assert KL("yamnet").embed(folders[0]).encoded == 1


def test_evaluate_and_floor(folders: Folders) -> None:
    found = evaluate(PRDC("logmel", neighbours=2), *folders, null=20, interval=True)
    assert found.statistics.floor is not None
    assert found.statistics.interval is not None
    for metric in (Vendi("logmel"), KL("yamnet")):
        with pytest.raises(UsageError, match="has no floor"):
            evaluate(metric, *folders, null=20)
        assert evaluate(metric, *folders, interval=True).statistics.interval is not None


def test_vendi_counts_the_modes_of_each_folder(
    tmp_path: Path, write_clips: Callable[..., list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        write_clips(tmp_path / "eval" / name, 4, first_seed=len(name))
    write_clips(tmp_path / "ref", 4)
    assert run("logmel", tmp_path / "ref", tmp_path / "eval", "--metrics", "vendi") == 0
    assert "effective clips of 4" in capsys.readouterr().out


def test_vendi_counts_the_modes_of_each_group(tmp_path: Path) -> None:
    """Two orthogonal pairs of equal clips: 2 modes, 1 in a pair and 2 across."""
    table = tmp_path / "groups.csv"
    names = [f"{k}.wav" for k in range(4)]
    files = tuple(Path("eval", name) for name in names)
    vectors = np.repeat(np.eye(2, 128, dtype=np.float32), 2, axis=0)
    side = EmbeddingSet(vectors, files, (None,) * 4, tuple(names), (), 0)
    for groups, expected in (("aabb", [1.0, 1.0]), ("abab", [2.0, 2.0]), ("aaaa", [2.0])):
        lines = [f"{name},{group}" for name, group in zip(names, groups, strict=True)]
        table.write_text("\n".join(["file,group", *lines]))
        found = Vendi("logmel", vendi_groups=table).measure(side, side)
        assert found.score == pytest.approx(2.0)
        counts = [group["score"] for group in found.facts["vendi_groups"]]
        assert counts == pytest.approx(expected)
    table.write_text("file,group\n0.wav,a\n")
    with pytest.raises(UsageError, match=r"has no group for eval/1\.wav"):
        Vendi("logmel", vendi_groups=table).measure(side, side)


@pytest.mark.parametrize(
    ("name", "metric", "options"),
    [
        ("PrecisionRecallDensityAndCoverage", PRDC, {"neighbours": 2}),
        ("VendiScore", Vendi, {}),
        ("KernelInceptionDistance", KID, {}),
        ("KullbackLeiblerDivergenceOfClassPosteriors", KL, {}),
        ("InceptionScore", IS, {}),
    ],
)
def test_torchmetrics(
    folders: Folders, yamnet: YamnetEncoder, name: str, metric: type, options: dict[str, int]
) -> None:
    module = getattr(otadtk.torchmetrics, name)
    counter = module(yamnet, sample_rate=16_000, metric_options=options)
    for folder, real in zip(folders, (True, False), strict=True):
        for file in sorted(folder.iterdir()):
            samples, _ = soundfile.read(file, dtype="float32")
            counter.update(torch.from_numpy(samples), real=real)
    assert float(counter.compute()) == pytest.approx(metric(**options).score(*folders), rel=1e-4)
    assert module.higher_is_better == metric.higher_is_better  # type: ignore[attr-defined]


def test_python_refuses_what_the_commands_refuse() -> None:
    with pytest.raises(UsageError, match="prdc_first must be one of precision, recall"):
        PRDC("logmel", prdc_first="f1")
    with pytest.raises(UsageError, match="kid_subsets must be at least 1"):
        KID("logmel", kid_subsets=-1)
