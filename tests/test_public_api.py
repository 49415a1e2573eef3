"""The public names, and that they cost nothing until they are used."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import otadtk

PUBLISHED = (
    "OTAD",
    "compute_otad",
    "compute_fad",
    "compute_kad",
    "RiemannianAdapter",
    "load_adapter",
    "OTADDiagnostics",
    "BaseEncoder",
    "get_encoder",
    "list_models",
    "register_encoder",
)


def test_all_names_resolve() -> None:
    for name in otadtk.__all__:
        assert getattr(otadtk, name) is not None
    assert set(PUBLISHED) <= set(otadtk.__all__)
    assert set(otadtk.__all__) <= set(dir(otadtk))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        otadtk.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (
            otadtk.compute_otad,
            "embeddings_ref embeddings_test adapter epsilon return_sample_costs device",
        ),
        (otadtk.compute_fad, "embeddings_ref embeddings_test"),
        (otadtk.compute_kad, "embeddings_ref embeddings_test bandwidth kernel scale"),
        (otadtk.load_adapter, "encoder_name variant checkpoint_path device"),
    ],
)
def test_published_signatures(function: object, names: str) -> None:
    assert callable(function)
    assert list(inspect.signature(function).parameters) == names.split()


@pytest.mark.parametrize(
    "code",
    [
        "import otadtk",
        "from otadtk.cli.score import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.compare import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.gate import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.trend import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.methods import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.embeds import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.list_models import main\nassert main([]) == 0",
        "from otadtk.cli.adapters import main\nassert main(['list']) == 0",
        "from otadtk.cli.pack import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.selftest import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from otadtk.cli.experiments import main\nassert main(['list']) == 0",
        "from otadtk.cli.train import main\ntry: main(['--help'])\nexcept SystemExit: pass",
    ],
)
def test_light_commands_import_nothing_heavy(code: str) -> None:
    check = "import sys; heavy = {'torch', 'scipy', 'numpy', 'soundfile'} & set(sys.modules)"
    program = f"{code}\n{check}\nassert not heavy, heavy"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("epsilon", ["10", "0.01"], ids=["smooth", "sharp"])
def test_a_small_score_with_its_floor_needs_no_scipy(tmp_path: Path, epsilon: str) -> None:
    """Which takes as long to import as the whole run of a few dozen clips."""
    rng = np.random.default_rng(0)
    for name in ("x.npy", "y.npy"):
        np.save(tmp_path / name, rng.normal(size=(30, 4)))
    program = """
import sys
from otadtk.cli.score import main
assert main(["given", *sys.argv[1:], "--null", "9"]) == 0
heavy = {"scipy", "ot", "jsonschema", "jinja2"} & set(sys.modules)
assert not heavy, heavy
"""
    sets = [str(tmp_path / name) for name in ("x.npy", "y.npy")]
    sets += ["--epsilon", epsilon]
    run = subprocess.run([sys.executable, "-c", program, *sets], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
