"""Training on tiny synthesised data: learns, resumes, repeats itself, and fails cleanly."""

from __future__ import annotations

import csv
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from otadtk import OTAD
from otadtk.adapter.files import read_card
from otadtk.cli.train import main
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_encoder, get_spec
from otadtk.engine import LocalEngine
from otadtk.errors import AudioError, UsageError
from otadtk.training import train as training
from otadtk.training.config import TrainingConfig
from otadtk.training.datasets import read_dataset
from otadtk.training.evaluation import class_accuracy, nearest_cost
from otadtk.training.losses import (
    native_loss,
    retained_variance,
    squared_distance,
    triplet_loss,
    variance_floor,
)
from otadtk.training.split import held_out
from otadtk.training.spoil import make_version
from otadtk.training.train import train_adapter
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import VersionSet, embed_versions, plan_versions

QUICK = TrainingConfig(epochs=3, steps=4, batch=32, patience=3)


@pytest.fixture(scope="session")
def store_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One embedding cache for all tests here: the versions are made once."""
    return tmp_path_factory.mktemp("versions")


def run(sounds: Path, out: Path, store_root: Path, config: TrainingConfig = QUICK, **more: Any):
    return train_adapter("logmel", sounds, out, config, cache_dir=store_root, workers=1, **more)


@pytest.fixture(scope="session")
def versions(sounds: Path, store_root: Path) -> VersionSet:
    clips = read_dataset(sounds)
    validation = held_out(clips, 0)[1]
    plan = plan_versions(clips, 0, 3, validation.tolist())
    encoder = LazyEncoder(get_spec("logmel"), "cpu")
    return embed_versions(clips, plan, encoder, EmbeddingStore(store_root), engine=LocalEngine(1))


class TestOwnFaults:
    CONFIG = dataclasses.replace(QUICK, variant="artifact", other_kinds=0, epochs=1)

    @staticmethod
    def backwards(waveform: Any, rate: int, rng: np.random.Generator, strength: float) -> Any:
        half = len(waveform) // 2
        return np.concatenate([waveform[:half][::-1], waveform[half:]])

    def test_are_trained_on(self, sounds: Path, tmp_path: Path, store_root: Path) -> None:
        seen = []

        def fault(waveform: Any, rate: int, rng: np.random.Generator, strength: float) -> Any:
            seen.append((rate, strength))
            return self.backwards(waveform, rate, rng, strength)

        out = tmp_path / "mine.safetensors"
        trained = run(sounds, out, store_root, self.CONFIG, faults={"backwards": fault})
        clips = len(read_dataset(sounds))
        assert len(seen) == clips  # every clip has one such version
        assert all(rate == 16000 and 0.0 <= strength <= 1.0 for rate, strength in seen)
        assert trained.card.training["own_faults"] == ["backwards"]
        mine = OTAD("logmel", adapter_checkpoint=out).adapter
        assert mine is not None
        plain = run(sounds, tmp_path / "plain.safetensors", store_root, self.CONFIG)
        usual = OTAD("logmel", adapter_checkpoint=plain.path).adapter
        assert usual is not None
        vector = torch.zeros(1, get_spec("logmel").dim + 32)
        assert mine(vector).shape[1] == usual(vector).shape[1] + 1  # a coordinate of its own

    def test_bad_ones(self, sounds: Path, tmp_path: Path, store_root: Path) -> None:
        out = tmp_path / "mine.safetensors"
        cases: list[tuple[TrainingConfig, dict[str, Any], str]] = [
            (QUICK, {"own": self.backwards}, "for the artifact variant"),
            (self.CONFIG, {"noise": self.backwards}, "'noise' is a known kind"),
            (self.CONFIG, {"own": 3}, "must be a function, not int"),
            (self.CONFIG, {"own": lambda w, *_: w[:, None]}, r"shape \(\d+, 1\)"),
            (self.CONFIG, {"own": lambda w, *_: w * np.nan}, "finite samples"),
        ]
        for config, faults, message in cases:
            with pytest.raises(UsageError, match=message):
                run(sounds, out, store_root, config, faults=faults)
        assert not out.exists()


class TestVersions:
    def test_rows(self, sounds: Path, versions: VersionSet) -> None:
        clips = read_dataset(sounds)
        assert (versions.rows("clean") >= 0).all()
        assert (versions.rows("noise") >= 0).all()
        long = np.array([int(clip.path.stem) % 2 == 1 for clip in clips])
        np.testing.assert_array_equal(versions.rows("shuffle") >= 0, long)
        held = held_out(clips, 0)[1]
        np.testing.assert_array_equal(versions.rows("crush") >= 0, held)

    def test_a_warm_store_decodes_nothing(
        self, sounds: Path, versions: VersionSet, store_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("otadtk.training.versions.AudioReader", None)
        clips = read_dataset(sounds)
        plan = plan_versions(clips, 0, 3, held_out(clips, 0)[1].tolist())
        encoder = LazyEncoder(get_spec("logmel"), "cpu")
        again = embed_versions(
            clips, plan, encoder, EmbeddingStore(store_root), engine=LocalEngine(2)
        )
        np.testing.assert_array_equal(again.vectors, versions.vectors)

    def test_clean_is_what_the_encoder_says(self, sounds: Path, versions: VersionSet) -> None:
        import soundfile

        clip = read_dataset(sounds)[5]
        vector = get_encoder("logmel", device="cpu").encode(
            *soundfile.read(clip.path, dtype="float32")
        )
        np.testing.assert_allclose(versions.vectors[versions.rows("clean")[5]], vector, atol=1e-2)

    def test_versions_repeat(self) -> None:
        wave = np.random.default_rng(0).normal(scale=0.1, size=16000).astype(np.float32)
        for kind in ("clean", "noise", "clicks"):
            first = make_version(wave, 16000, kind, 0.4)
            np.testing.assert_array_equal(first, make_version(wave, 16000, kind, 0.4))
        assert not np.array_equal(first, make_version(wave, 16000, "clicks", 0.5))

    def test_unreadable_audio_is_named(self, sounds: Path, tmp_path: Path) -> None:
        copy = tmp_path / "copy"
        shutil.copytree(sounds, copy)
        broken = sorted(copy.rglob("*.wav"))[3]
        broken.write_bytes(b"no audio")
        with pytest.raises(AudioError, match=rf"1 of 48 clips cannot be read:\n  {broken}"):
            run(copy, tmp_path / "x.safetensors", tmp_path / "cache")
        assert not list(tmp_path.glob("x*"))


class TestTriplets:
    def test_each_probe_is_what_it_says(self, sounds: Path, versions: VersionSet) -> None:
        clips = read_dataset(sounds)
        train, _ = held_out(clips, 0)
        sampler = TripletSampler(clips, versions, train)
        label = np.array([clip.label for clip in clips])[versions.clip]
        rng = np.random.default_rng(0)
        for probe in PROBES:
            t = sampler.draw(probe, 50, rng)
            assert (versions.kind[t.anchor] == "clean").all()
            assert (versions.kind[t.positive] == "clean").all()
            assert (label[t.anchor] == label[t.positive]).all()
            assert (versions.clip[t.anchor] != versions.clip[t.positive]).all()
            assert train[versions.clip[t.negative]].all()
            if probe in ("recall", "semantic"):
                assert (label[t.anchor] != label[t.negative]).all()
                assert (versions.kind[t.negative] == "clean").all()
            else:
                assert (versions.clip[t.anchor] == versions.clip[t.negative]).all()
                kind = {"precision": "noise", "structural": "shuffle"}[probe]
                assert (versions.kind[t.negative] == kind).all()
        with pytest.raises(UsageError, match="Unknown probe"):
            sampler.draw("taste", 1, rng)

    def test_negatives_come_half_from_the_same_collection(
        self, sounds: Path, labels: Path, versions: VersionSet
    ) -> None:
        clips = read_dataset(sounds, labels)
        sampler = TripletSampler(clips, versions, np.ones(len(clips), dtype=bool))
        t = sampler.draw("recall", 2000, np.random.default_rng(0))
        source = np.array([clip.source for clip in clips])[versions.clip]
        share = np.mean(source[t.anchor] == source[t.negative])
        assert 0.7 < share < 0.8  # half for certain, half of the rest by chance

    def test_too_little(self, sounds: Path, versions: VersionSet) -> None:
        clips = read_dataset(sounds)
        with pytest.raises(UsageError, match="two classes"):
            TripletSampler(clips, versions, np.arange(len(clips)) == 0)


class TestLosses:
    def test_triplet(self) -> None:
        a, p, n = torch.zeros(2, 3), torch.ones(2, 3), torch.full((2, 3), 2.0)
        assert triplet_loss(a, p, n, margin=1.0).item() == 0.0
        assert triplet_loss(a, n, p, margin=1.0).item() == 10.0
        assert torch.equal(squared_distance(a, p), torch.tensor([3.0, 3.0]))

    def test_retained_variance(self) -> None:
        x = torch.randn(50, 4)
        assert retained_variance(x, 2 * x) == pytest.approx(4.0, rel=1e-5)
        assert retained_variance(x, 0 * x) == 0.0
        assert variance_floor(x, x, 0.5).item() == 0.0
        assert variance_floor(x, 0 * x, 0.5).item() == pytest.approx(0.5)

    def test_native_pushes_degraded_batches_away(self) -> None:
        x = torch.randn(12, 3)
        near = native_loss(x, x, x + 0.1, epsilon=0.1, apart=5.0)
        far = native_loss(x, x, x + 3.0, epsilon=0.1, apart=5.0)
        assert far.item() == pytest.approx(0.0, abs=1e-3)
        assert near.item() > 4.0

    def test_nearest(self) -> None:
        x = np.array([[0.0], [10.0]], dtype=np.float32)
        y = np.array([[1.0], [8.0]], dtype=np.float32)
        np.testing.assert_allclose(nearest_cost(x, y), [1.0, 4.0])
        assert class_accuracy(x, y, ["a", "b"], ["a", "a"]) == 0.5


class TestRuns:
    def test_agnostic_writes_all_that_it_should(
        self, sounds: Path, tmp_path: Path, store_root: Path
    ) -> None:
        done = run(sounds, tmp_path / "x.safetensors", store_root)
        card, _ = read_card(done.path)
        assert card == done.card
        assert card.fingerprint == get_spec("logmel").fingerprint
        assert (card.seed, card.input_normalisation) == (0, "unit")
        assert card.training["epochs"] == 3
        assert "48 clips of 6 classes" in card.data
        assert 0.0 <= card.validation["triplets recall"] <= 1.0
        with done.log.open(newline="") as file:
            assert len(list(csv.DictReader(file))) == 3
        assert done.picture.read_bytes().startswith(b"<svg")
        assert not list(tmp_path.glob("*.resume"))
        otad = OTAD("logmel", adapter_checkpoint=done.path)
        assert otad.variant == "agnostic"
        x = np.abs(np.random.default_rng(0).normal(size=(9, 128))).astype(np.float32)
        assert otad.distance(x, x) == pytest.approx(0.0, abs=1e-6)

    def test_the_same_seed_gives_the_same_file(
        self, sounds: Path, tmp_path: Path, store_root: Path
    ) -> None:
        first = run(sounds, tmp_path / "a" / "x.safetensors", store_root)
        second = run(sounds, tmp_path / "b" / "x.safetensors", store_root)
        other = dataclasses.replace(QUICK, seed=1)
        third = run(sounds, tmp_path / "c" / "x.safetensors", store_root, other)
        assert first.path.read_bytes() == second.path.read_bytes()
        assert first.card.content != third.card.content

    def test_a_killed_run_goes_on_and_ends_the_same(
        self, sounds: Path, tmp_path: Path, store_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = run(sounds, tmp_path / "whole.safetensors", store_root)
        calls = 0
        validate = training.AgnosticRecipe.validate

        def killed(self: training.AgnosticRecipe) -> dict[str, float]:
            nonlocal calls
            calls += 1
            if calls == 3:
                raise KeyboardInterrupt
            return validate(self)

        monkeypatch.setattr(training.AgnosticRecipe, "validate", killed)
        target = tmp_path / "x.safetensors"
        with pytest.raises(KeyboardInterrupt):
            run(sounds, target, store_root)
        assert not target.exists()
        assert (tmp_path / "x.safetensors.resume").exists()
        monkeypatch.undo()
        monkeypatch.setenv("OTADTK_CACHE", str(tmp_path))
        again = run(sounds, target, store_root)
        assert again.path.read_bytes() == whole.path.read_bytes()

    def test_a_foreign_or_damaged_resume_file_is_passed_over(
        self,
        sounds: Path,
        tmp_path: Path,
        store_root: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        target = tmp_path / "x.safetensors"
        (tmp_path / "x.safetensors.resume").write_bytes(b"nonsense")
        run(sounds, target, store_root)
        assert "cannot be read" in caplog.text
        assert target.exists()

    def test_a_diverging_loss_writes_nothing(
        self, sounds: Path, tmp_path: Path, store_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            training.AgnosticRecipe, "loss", lambda self, rng: torch.tensor(float("nan"))
        )
        with pytest.raises(UsageError, match=r"loss is nan in epoch 1, step 1.*learning-rate"):
            run(sounds, tmp_path / "x.safetensors", store_root)
        assert list(tmp_path.iterdir()) == []

    def test_native_goes_on_from_agnostic_without_collapse(
        self, sounds: Path, tmp_path: Path, store_root: Path
    ) -> None:
        start = run(sounds, tmp_path / "a.safetensors", store_root).path
        config = TrainingConfig.for_variant("native", epochs=2, steps=2, batch=16)
        done = run(sounds, tmp_path / "n.safetensors", store_root, config, start=start)
        assert done.card.variant == "native"
        assert done.card.validation["retained variance"] >= 0.5
        with pytest.raises(UsageError, match="Only the native variant"):
            run(sounds, tmp_path / "x.safetensors", store_root, QUICK, start=start)

    def test_artifact_takes_signal_features(
        self, sounds: Path, tmp_path: Path, store_root: Path
    ) -> None:
        config = TrainingConfig.for_variant("artifact", epochs=2, steps=4, batch=32, hidden=16)
        done = run(sounds, tmp_path / "x.safetensors", store_root, config)
        assert done.card.encoder == "logmel+signal"
        otad = OTAD("logmel", adapter_checkpoint=done.path)
        assert otad.spec.name == "logmel+signal"
        kinds = sorted(sounds.iterdir())
        diagnostics = otad.diagnose(kinds[0], kinds[1])
        assert len(diagnostics.cj) == 8
        assert diagnostics.volume is not None

    def test_perceptual_hears_families_of_faults(
        self, sounds: Path, tmp_path: Path, store_root: Path
    ) -> None:
        config = TrainingConfig.for_variant(
            "perceptual", epochs=2, steps=4, batch=32, hidden=16, single_faults=2
        )
        done = run(sounds, tmp_path / "x.safetensors", store_root, config)
        assert done.card.encoder == "logmel+signal+texture+spectrum+fullband"
        again = run(sounds, tmp_path / "y.safetensors", store_root, config)
        assert again.path.read_bytes() == done.path.read_bytes()
        less = dataclasses.replace(config, leave_out="codec")
        without = run(sounds, tmp_path / "z.safetensors", store_root, less)
        assert without.card.content != done.card.content
        otad = OTAD("logmel", adapter_checkpoint=done.path)
        kinds = sorted(sounds.iterdir())
        diagnostics = otad.diagnose(kinds[0], kinds[1])
        assert len(diagnostics.cj) == 8
        assert np.isfinite(diagnostics.cj).all()
        with pytest.raises(UsageError, match="Unknown family"):
            dataclasses.replace(config, leave_out="smell")

    @pytest.mark.parametrize(
        "change", [{"variant": "best"}, {"epochs": 0}, {"learning_rate": float("nan")}]
    )
    def test_bad_configuration(self, change: dict[str, object]) -> None:
        with pytest.raises(UsageError):
            dataclasses.replace(QUICK, **change)


def test_command(
    sounds: Path, tmp_path: Path, store_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "x.safetensors"
    quick = ["--epochs", "2", "--steps", "2", "--batch", "16", "--cache-dir", str(store_root)]
    arguments = ["logmel", "--data", str(sounds), "--out", str(out), *quick]
    assert main([*arguments, "--licence", "CC0-1.0"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{out}  sha256:")
    assert "triplets recall" in printed.err
    assert read_card(out)[0].licence == "CC0-1.0"
    assert main([*arguments, "--variant", "native"]) == 4
    assert "no 'agnostic' adapter" in capsys.readouterr().err
    assert main([*arguments, "--licence", "\udcff"]) == 2, "a byte that is no UTF-8"
    assert "The licence (--licence) must be valid text" in capsys.readouterr().err
    assert main(["logmel", "--data", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert main(["logmel", "--data", str(sounds), "--out", str(tmp_path)]) == 2


@pytest.mark.parametrize(
    "changes",
    [{"seed": -1}, {"seed": 2**64}, {"fault_weight": 1e300}, {"margin": 1e300}, {"epsilon": 1e9}],
)
def test_settings_that_only_overflow(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(changes))} must be"):
        TrainingConfig(**changes)
