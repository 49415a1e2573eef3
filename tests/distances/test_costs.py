"""Both kinds of cost answer alike, and panels are the matrix, however many of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from otadtk.distances.costs.panels import Panels
from otadtk.distances.costs.pool import Pool
from otadtk.distances.costs.protocol import Cost
from otadtk.distances.costs.squared import SquaredCost, row_tiles

from .clouds import clouds


def squared(rows: np.ndarray, columns: np.ndarray) -> Cost:
    x = torch.from_numpy(rows)
    return SquaredCost(x, x if columns is rows else torch.from_numpy(columns), torch.float64)


def pooled(rows: np.ndarray, columns: np.ndarray) -> Cost:
    pool = Pool(torch.from_numpy(np.concatenate([rows, columns])), torch.float64, merge=False)
    first = torch.arange(len(rows))
    return pool.cost(first, first if columns is rows else len(rows) + torch.arange(len(columns)))


@pytest.mark.parametrize("kind", [squared, pooled])
def test_a_cost_answers_what_a_solver_asks(kind):
    x, y = clouds(2, 9, 7, 4)
    x, y = x + 100.0, y + 100.0
    cost = kind(x, y)
    expected = np.square(x[:, None] - y[None]).sum(axis=2)
    assert cost.shape == (9, 7)
    assert not cost.symmetric
    assert cost.tile(slice(2, 5), 1, 4).numpy() == pytest.approx(expected[2:5, 1:4])
    assert cost.tile(slice(0, 3), buffer=cost.tile_buffer([slice(0, 3)])).numpy() == pytest.approx(
        expected[:3]
    )
    assert cost.transposed().shape == (7, 9)
    assert cost.transposed().tile(slice(0, 7)).numpy() == pytest.approx(expected.T)
    chosen = cost.restricted(torch.tensor([2, 0]), torch.tensor([1]))
    assert chosen.tile(slice(0, 2)).numpy() == pytest.approx(expected[[2, 0]][:, [1]])
    assert cost.entries(torch.tensor([1]), torch.tensor([0])).item() == pytest.approx(
        expected[1, 0]
    )
    a, b = np.arange(1.0, 10.0) / 45, np.arange(1.0, 8.0) / 28
    assert cost.mean(torch.from_numpy(a), torch.from_numpy(b)) == pytest.approx(a @ expected @ b)
    assert cost.median() == pytest.approx(np.median(expected))
    assert expected.max() <= cost.largest() <= 4 * expected.max()
    assert cost.rounding().largest() < 1e-9
    assert cost.wide == torch.float64
    assert cost.item_bytes == 8
    assert cost.widened().tile(slice(0, 9)).numpy() == pytest.approx(expected)
    tile = cost.tile(slice(0, 9))
    tile.zero_()  # a caller may overwrite it
    assert cost.tile(slice(0, 9)).numpy() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [squared, pooled])
def test_the_cost_of_a_set_with_itself_is_symmetric(kind):
    x, _ = clouds(2, 6)
    cost = kind(x, x)
    assert cost.symmetric
    assert cost.tile(slice(0, 6)).diagonal().abs().max() < 1e-12


@pytest.mark.parametrize("kind", [squared, pooled])
@pytest.mark.parametrize("memory", [0, 8 * 30, 1 << 20])
@pytest.mark.parametrize("upper", [False, True])
def test_panels_are_the_matrix_however_many_are_kept(kind, memory, upper):
    x, _ = clouds(3, 12)
    cost = kind(x, x)
    panels = Panels(cost, memory, row_tiles(12, 12, 24), upper=upper)
    whole = cost.tile(slice(0, 12))
    for _ in range(3):
        for rows, panel in panels.read():
            first = rows.start if upper else 0
            assert torch.allclose(panel, whole[rows, first:], atol=1e-12)
    assert panels.kept == {0: 0, 240: 1, 1 << 20: 6}[memory]
    assert panels.streaming == (panels.kept < 6)
    # changed panels: the kept ones at once, the others whenever they are computed
    panels.change(lambda _, __, panel: panel.mul_(2.0))
    panels.change(lambda rows, _, panel: panel.add_(rows.start))
    for _ in range(2):
        for rows, panel in panels.read():
            first = rows.start if upper else 0
            assert torch.allclose(panel, 2.0 * whole[rows, first:] + rows.start, atol=1e-12)
    panels.release()
    list(panels.read())
    assert panels.kept == 0


def test_a_last_pass_keeps_nothing():
    cost = squared(*clouds(4, 8, 5))
    panels = Panels(cost, 1 << 20, row_tiles(8, 5, 10))
    list(panels.read(keep=False))
    assert panels.kept == 0
    list(panels.read())
    assert panels.kept == 4


def test_reduced_costs_come_in_pieces(monkeypatch):
    monkeypatch.setattr("otadtk.distances.costs.panels._PIECE_ELEMENTS", 15)
    x, y = clouds(5, 11, 5)
    cost = squared(x, y)
    f, g = torch.arange(11.0, dtype=torch.float64), torch.arange(5.0, dtype=torch.float64)
    expected = cost.tile(slice(0, 11)) - f[:, None] - g
    for memory in (0, 1 << 20):
        panels = Panels(cost, memory, row_tiles(11, 5, 20))
        pieces = [(rows, piece.clone()) for rows, piece in panels.reduced(f, g)]
        assert max(len(piece) for _, piece in pieces) == 3
        assert torch.allclose(torch.cat([piece for _, piece in pieces]), expected, atol=1e-12)
        assert [rows.start for rows, _ in pieces][:3] == [0, 3, 4]
