"""Models that wrap another: suffixes compose, specs travel whole, fingerprints never change."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path

import pytest

from otadtk.embed import LazyEncoder
from otadtk.encoders import EncoderSpec, get_spec, wrappers
from otadtk.encoders.features.with_signal import SIGNAL, inner_spec
from otadtk.encoders.frames import with_frames

GOLDEN: dict[str, str] = json.loads(
    Path(__file__).with_name("golden_fingerprints.json").read_text(encoding="utf-8")
)
METER = """class Meter:
    name, target_sr, embedding_dim = "meter", 8000, 2

    def encode(self, wav, sr):
        return [0.0, 1.0]
"""


@pytest.fixture
def meter(tmp_path: Path) -> str:
    """A custom encoder in a file."""
    (tmp_path / "meter.py").write_text(METER)
    return f"{tmp_path}/meter.py:Meter"


def spec_named(name: str, meter: str) -> EncoderSpec:
    if name == "signal":
        return SIGNAL
    if name.startswith("meter"):
        return get_spec(name.replace("meter", meter))
    plain, _, whose = name.partition("@")
    return with_frames(get_spec(plain), whose) if whose else get_spec(plain)


@pytest.mark.parametrize("name", GOLDEN)
def test_fingerprints_stay(name: str, meter: str) -> None:
    """They key every store and are written into every adapter."""
    spec = spec_named(name, meter)
    assert spec.name == name
    assert spec.fingerprint == GOLDEN[name]


def with_half(spec: EncoderSpec) -> EncoderSpec:
    """Stands for a wrapper of a later day."""
    return dataclasses.replace(spec, name=f"{spec.name}+half", dim=spec.dim // 2, inner=spec)


def test_suffixes_compose_from_left_to_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wrappers.WRAPPERS, "+half", f"{__name__}:with_half")
    assert wrappers.split_suffixes("logmel+half+signal") == ("logmel", ["+half", "+signal"])
    spec = get_spec("logmel+half+signal")
    assert spec.name == "logmel+half+signal"
    assert inner_spec(spec) == spec.inner == get_spec("logmel+half")
    assert spec.dim == get_spec("logmel").dim // 2 + SIGNAL.dim
    assert get_spec("logmel+signal+half").dim == (get_spec("logmel").dim + SIGNAL.dim) // 2
    assert inner_spec(get_spec("logmel+signal+half")) is None


@pytest.mark.parametrize("name", ["logmel", "yamnet+signal", "vggish@kadtk"])
def test_a_spec_travels_with_all_it_wraps(name: str, meter: str) -> None:
    encoder = LazyEncoder(spec_named(name, meter), "cpu")
    arrived: LazyEncoder = pickle.loads(pickle.dumps(encoder))
    assert arrived.spec == encoder.spec
    assert arrived.spec.inner == encoder.spec.inner
    assert arrived.spec.fingerprint == encoder.spec.fingerprint


def test_a_custom_class_travels_with_its_spec(meter: str) -> None:
    """In one process its module is known; on a cluster its class is sent."""
    spec = get_spec(f"{meter}+signal")
    arrived: LazyEncoder = pickle.loads(pickle.dumps(LazyEncoder(spec, "cpu")))
    assert arrived.spec.inner is not None
    assert arrived.spec.inner.custom_class is spec.custom_class
    assert arrived.get().spec.name == "meter+signal"
