"""Reading TensorFlow checkpoints: values right, damage refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.encoders.checkpoints.tensorflow_bundle import read_float_variables
from otadtk.errors import WeightsError
from tests.encoders.tensorflow_bundles import write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    variables = {
        f"layer_{i}/kernel": rng.normal(size=(i + 1, 3)).astype(np.float32) for i in range(5)
    }
    variables["layer_0/step"] = np.arange(3, dtype=np.int64)
    index, data = write_bundle(tmp_path_factory.mktemp("bundle"), variables)
    return index, data, variables


def test_values(bundle: tuple[Path, Path, dict[str, np.ndarray]]) -> None:
    index, data, variables = bundle
    found = read_float_variables(index, data)
    assert set(found) == {name for name in variables if name.endswith("kernel")}
    for name, array in found.items():
        assert np.array_equal(array, variables[name])


def test_truncated_data(tmp_path: Path, bundle: tuple[Path, Path, dict[str, np.ndarray]]) -> None:
    index, data, _ = bundle
    short = tmp_path / "short"
    short.write_bytes(data.read_bytes()[:-8])
    with pytest.raises(WeightsError, match="outside the data file"):
        read_float_variables(index, short)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_index_is_refused_or_read_never_worse(
    bundle: tuple[Path, Path, dict[str, np.ndarray]],
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
) -> None:
    index, values, _ = bundle
    content = bytearray(index.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 3)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path_factory.getbasetemp() / "damaged.index"
    damaged.write_bytes(content)
    try:
        read_float_variables(damaged, values)
    except WeightsError as error:
        assert "TensorFlow checkpoint" in str(error)
