"""Labels prove a classifier: YAMNet's own weights pass, random weights fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from otadtk.cli import list_models
from otadtk.encoders import Encoder, get_spec, load_encoder
from otadtk.encoders import list_models as encoder_names
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.errors import UsageError
from otadtk.evaluation import labels
from otadtk.evaluation.labels import LABELS, LabelProof, prove_labels
from tests.encoders.seeded_checkpoints import CPU


def test_yamnet_passes(yamnet: YamnetEncoder, capsys: pytest.CaptureFixture[str]) -> None:
    found = prove_labels(yamnet)
    assert found.passed
    assert list(found.right) == list(LABELS)
    assert list_models.main(["--verify", "yamnet"]) == 0
    assert "pass: 7 of 7 labels are strongest" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["panns_16k", "passt", "ast"])
def test_random_weights_fail(
    name: str,
    seeded_encoder: Callable[[str], Encoder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    encoder: Any = seeded_encoder(name)
    if name != "panns_16k":  # one random block is as good as twelve, and faster
        monkeypatch.setitem(encoder.network._modules, "blocks", encoder.network.blocks[:1])
    monkeypatch.setattr(labels, "_CLIPS", 1)
    monkeypatch.setattr("otadtk.encoders.load_encoder", lambda *_: encoder)
    assert list_models.main(["--verify", name]) == 4
    captured = capsys.readouterr()
    assert f"{name}: FAIL: " in captured.out
    assert f"{name}: not what was published." in captured.err


def test_five_labels_are_enough() -> None:
    kinds = list(LABELS)
    right = {kind: kind for kind in kinds}
    assert LabelProof({**right, "rain": "wind", "wind": "rain"}).passed
    found = LabelProof({**right, "rain": "wind", "wind": "rain", "bell": "alarm"})
    assert not found.passed
    assert "FAIL: 4 of 7 labels" in found.summary
    assert "Bell for alarm" in found.summary


def test_every_classifier_has_its_labels() -> None:
    """Those of AudioSet by their places; an encoder without classes has none."""
    for name in encoder_names():
        spec = get_spec(name)
        assert spec.classes in (0, 521, labels.AUDIOSET_CLASSES)
    with pytest.raises(UsageError, match="'logmel' has no AudioSet labels"):
        prove_labels(load_encoder(get_spec("logmel"), CPU))
