from __future__ import annotations

import numpy as np
import pytest
import torch

from hypergraph import Euclidean, Lorentz, PoincareBall, viz
from hypergraph.errors import InputError
from hypergraph.viz import plane
from hypergraph.viz.style import new_axes

CURVATURES = (-1.0, -0.1, -0.5, -2.3)


@pytest.mark.parametrize("K", CURVATURES)
@pytest.mark.parametrize("tau", [-2.0, 0.0, 1.3])
def test_horosphere_has_its_level(K, tau):
    space = Lorentz(K).double()
    s = plane.scale(space)
    v = torch.tensor([0.6, 0.8], dtype=torch.float64)
    x = plane.horosphere(v.numpy(), s * tau)
    x = torch.from_numpy(x[x[:, 0] < 1e4]) / s
    assert space.contains(x).all()
    torch.testing.assert_close(
        space.busemann(x, v[None]), torch.full((len(x), 1), tau).double(), atol=1e-7, rtol=0
    )


@pytest.mark.parametrize("K", CURVATURES)
def test_hyperplane_is_at_distance_zero(K):
    space = PoincareBall(K).double()
    s = plane.scale(space)
    p, a = torch.tensor([0.3, -0.4], dtype=torch.float64) / s, torch.tensor([1.0, 2.0], dtype=torch.float64)
    x = plane.hyperplane(plane.to_sheet(p, space), a.numpy())
    x = torch.from_numpy(plane.sheet_to_disk(x[x[:, 0] < 1e3])) / s
    assert space.dist_hyperplane(x, p[None], a[None]).abs().max() < 1e-9
    assert space.dist(x, p).min() < 0.2


@pytest.mark.parametrize("K", CURVATURES)
def test_geodesic_is_shortest(K):
    space = Lorentz(K).double()
    x, y = space.exp0(torch.tensor([[1.0, 0.5], [-2.0, 1.0]], dtype=torch.float64))
    curve = plane.segment(plane.to_sheet(x, space), plane.to_sheet(y, space)) / plane.scale(space)
    steps = space.dist(torch.from_numpy(curve[:-1]), torch.from_numpy(curve[1:]))
    torch.testing.assert_close(steps.sum(), space.dist(x, y))
    torch.testing.assert_close(steps, steps.mean().expand_as(steps))


@pytest.mark.parametrize("space", [PoincareBall(-0.5), Lorentz(-0.5)], ids=str)
def test_to_disk_agrees_with_the_space(space):
    u = torch.tensor([[0.0, 0.0], [1.0, -0.5], [-3.0, 2.0]])
    x = space.exp0(u)
    expected = 0.5**0.5 * space.to_poincare(x)
    np.testing.assert_allclose(plane.to_disk(x, space), expected.numpy(), atol=2e-7)
    assert space.K.dtype == torch.float32  # looking at points does not change their space


def test_every_function_takes_and_returns_an_ax():
    space = PoincareBall(-0.5)
    x, y = torch.tensor([[0.1, 0.2], [0.3, 0.0]]), torch.tensor([[0.5, 0.5], [-0.4, 0.1]])
    for ax in (viz.disk(), viz.hyperboloid()):
        assert viz.geodesics(x, y, space, ax) is ax
        assert viz.horospheres([0.0, 1.0], [-1.0, 0.5], space, ax) is ax
        assert viz.hyperplanes(x, [[1.0, 0.0], [0.0, 1.0]], space, ax) is ax
    flat = viz.disk()
    assert viz.embedding(x, space, np.array([0, 1]), ["a", "b"], flat) is flat
    assert [text.get_text() for text in flat.get_legend().get_texts()] == ["a", "b"]
    curves = new_axes()
    assert viz.bracket([(0.0, 0.0, 3.0), (1.0, 1.0, 1.0)], curves) is curves
    # the bracket ends closed
    assert [line.get_ydata()[-1] for line in curves.get_lines()] == [1.0, 1.0]


def test_what_cannot_be_drawn_says_why():
    with pytest.raises(InputError, match="these points are Euclidean"):
        viz.embedding(torch.zeros(2, 2), Euclidean())
    with pytest.raises(InputError, match="the points have 3; reduce them first"):
        viz.embedding(torch.zeros(2, 3), PoincareBall())
    with pytest.raises(InputError, match="nothing"):
        viz.bracket([])
