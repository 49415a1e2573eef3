"""Names resolve, and fingerprints tell encoders apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from otadtk import get_encoder
from otadtk.encoders import get_spec
from otadtk.errors import UsageError


class TestFingerprint:
    def test_changes_with_what_decides_an_embedding(self) -> None:
        spec = get_spec("yamnet")
        changed = [
            dataclasses.replace(spec, preprocessing="other"),
            dataclasses.replace(spec, sample_rate=8_000),
            dataclasses.replace(spec, name="other"),
            dataclasses.replace(spec, weights=spec.weights[:2]),
        ]
        assert len({s.fingerprint for s in [spec, *changed]}) == 5

    def test_does_not_change_with_prose(self) -> None:
        spec = get_spec("yamnet")
        assert dataclasses.replace(spec, summary="better words").fingerprint == spec.fingerprint


class TestNames:
    @pytest.mark.parametrize(("wrong", "right"), [("yamnett", "yamnet"), ("log_mel", "logmel")])
    def test_did_you_mean(self, wrong: str, right: str) -> None:
        with pytest.raises(UsageError, match=f"Did you mean '{right}'"):
            get_spec(wrong)

    def test_nothing_close(self) -> None:
        with pytest.raises(UsageError, match=r"Unknown model 'xyz'\. See otadtk-list-models"):
            get_encoder("xyz")

    def test_weights_for_an_encoder_without(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="takes no --weights"):
            get_encoder("logmel", device="cpu", weights=tmp_path)

    def test_unknown_device(self) -> None:
        with pytest.raises(UsageError, match="'warp' is not available"):
            get_encoder("logmel", device="warp")
