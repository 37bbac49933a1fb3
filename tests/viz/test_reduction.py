from __future__ import annotations

import numpy as np
import pytest
import torch

from hypergraph import Lorentz, PoincareBall
from hypergraph.errors import InputError
from hypergraph.viz.plane import to_sheet
from hypergraph.viz.reduction import horo_project, reduce


def cloud(space, dim, n=80):
    generator = torch.Generator().manual_seed(3)
    spread = torch.tensor([1.5, 1.0] + [0.1] * (dim - 2), dtype=torch.float64)
    return space.exp0(torch.randn(n, dim, generator=generator, dtype=torch.float64) * spread)


@pytest.mark.parametrize("space", [PoincareBall(-0.5), Lorentz(-2.3)], ids=str)
def test_two_dimensions_are_exact(space):
    space = space.double()
    x = cloud(space, 2)
    reduced = reduce(x, space)
    assert (reduced.method, reduced.distortion, reduced.variance) == ("exact", 0.0, 1.0)
    np.testing.assert_array_equal(reduced.sheet, to_sheet(x, space))


@pytest.mark.parametrize("method", ["horopca", "tangent-pca", "auto"])
@pytest.mark.parametrize("K", [-1.0, -0.3])
def test_a_nearly_flat_cloud_keeps_its_distances(method, K):
    space = Lorentz(K).double()
    reduced = reduce(cloud(space, 6), space, method)
    x = torch.from_numpy(reduced.sheet)
    assert Lorentz().double().contains(x).all()
    assert reduced.dim == 6 and reduced.pairs == 80 * 79 / 2
    assert 0 < reduced.distortion < 0.25 and 0.7 < reduced.variance <= 1 + 1e-9
    assert f"average distortion {reduced.distortion:.3f}" in str(reduced)


@pytest.mark.parametrize("method", ["horopca", "tangent-pca"])
def test_points_of_the_picture_in_the_space(method):
    """Lifting is an isometry, and Busemann functions restricted to the plane are what `section` says."""
    unit = Lorentz().double()
    shift = unit.exp0(torch.tensor([0.7, -0.2, 0.4, 1.0, 0.1], dtype=torch.float64))
    reduced = reduce(unit.gyro_add(shift, cloud(unit, 5)), unit, method)
    y = torch.from_numpy(reduced.sheet)
    x = reduced.lift(y)
    i, j = torch.triu_indices(len(x), len(x), 1)
    torch.testing.assert_close(unit.dist(x[i], x[j]), unit.dist(y[i], y[j]), atol=1e-7, rtol=1e-9)
    v = torch.nn.functional.normalize(
        torch.randn(3, 5, generator=torch.Generator().manual_seed(1)).double(), dim=-1
    )
    w, offset = reduced.section(v)
    assert (w.norm(dim=-1) < 1).all()
    torch.testing.assert_close(offset + (y[:, :1] - y[:, 1:] @ w.T).log(), unit.busemann(x, v))


def test_auto_keeps_the_smaller_distortion():
    space = PoincareBall(-0.7).double()
    x = cloud(space, 5)
    found = {method: reduce(x, space, method).distortion for method in ("auto", "horopca", "tangent-pca")}
    assert found["auto"] == min(found["horopca"], found["tangent-pca"])


def test_horospherical_projection():
    unit = Lorentz().double()
    x = cloud(unit, 5, 200)
    axes = torch.linalg.qr(torch.randn(5, 2, generator=torch.Generator().manual_seed(0)).double()).Q.T
    y = horo_project(x, axes, unit)
    # it keeps both Busemann coordinates, and no distance grows
    torch.testing.assert_close(unit.busemann(y, torch.eye(2).double()), unit.busemann(x, axes))
    i, j = torch.triu_indices(200, 200, 1)
    assert (unit.dist(y[i], y[j]) <= unit.dist(x[i], x[j]) + 1e-9).all()
    # points of the plane on the near side of the geodesic between the two directions stay
    flat = torch.cat([y[:, :1], y[:, 1:] @ axes], 1)
    torch.testing.assert_close(horo_project(flat, axes, unit), y)


def test_wrong_methods_and_one_dimension():
    space = Lorentz().double()
    with pytest.raises(InputError, match="did you mean 'horopca'"):
        reduce(cloud(space, 3), space, "horo")
    with pytest.raises(InputError, match="only 2 are drawn exactly"):
        reduce(cloud(space, 3), space, "exact")
    line = space.exp0(torch.tensor([[1.0], [-2.0]], dtype=torch.float64))
    reduced = reduce(line, space)
    torch.testing.assert_close(
        space.dist(*torch.from_numpy(reduced.sheet)), torch.tensor(3.0, dtype=torch.float64)
    )


def test_points_that_coincide():
    space = Lorentz().double()
    reduced = reduce(space.origin(4).expand(5, 5), space)
    assert np.isfinite(reduced.sheet).all() and reduced.pairs == 0
