"""The algebra: round trips, gyrogroup and gyrovector axioms, isometries, geodesics; both models, any K."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space, lorentz
from tests.geometry.operators import CURVATURES, tangent, unit

SPACES = [cls(K) for cls in (PoincareBall, Lorentz) for K in CURVATURES] + [Euclidean()]


@pytest.fixture(params=SPACES, ids=str)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param.double()


def points(space: Space, count: int, n: int = 5) -> list[Tensor]:
    """Points at up to about two curvature radii from the origin."""
    generator = torch.Generator().manual_seed(7)
    s = (-space.K.item()) ** 0.5 or 1.0
    draw = [torch.randn(20, n, generator=generator, dtype=torch.float64) for _ in range(count)]
    return [space.exp0(u / (2 * n**0.5 * s)) for u in draw]


def at(space: Space, x: Tensor, u: Tensor) -> Tensor:
    return u if space.model == "euclidean" else tangent(space.model, x, u, space.K.item())


def close(a: Tensor, b: Tensor, tol: float = 1e-10) -> None:
    torch.testing.assert_close(a, b, rtol=tol, atol=tol)


def test_round_trips(space: Space) -> None:
    x, y = points(space, 2)
    u = torch.randn(20, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    close(space.exp0(space.log0(x)), x)
    close(space.log0(space.exp0(u)), u)
    close(space.exp(x, space.log(x, y)), y)
    close(space.log(x, space.exp(x, at(space, x, u))), at(space, x, u), 1e-9)
    assert space.contains(space.exp(x, at(space, x, u))).all()


def test_left_cancellation_and_gyrogroup(space: Space) -> None:
    x, y, z = points(space, 3)
    add, neg, gyr = space.gyro_add, space.gyro_neg, space.gyration
    e = space.origin(5).expand_as(x)
    close(add(e, x), x)  # G1
    close(add(x, e), x)
    close(add(neg(x), x), e)  # G2
    close(add(neg(x), add(x, y)), y)  # left cancellation
    close(add(x, add(y, z)), add(add(x, y), gyr(x, y, z)))  # G3
    close(gyr(x, y, add(z, y)), add(gyr(x, y, z), gyr(x, y, y)))  # ... an automorphism
    close(gyr(x, y, z), gyr(add(x, y), y, z))  # G4
    close(add(x, y), gyr(x, y, add(y, x)))  # gyrocommutative
    close(gyr(x, y, z), add(neg(add(x, y)), add(x, add(y, z))))  # the definition


def test_gyrovector_axioms(space: Space) -> None:
    x, y, z = points(space, 3)
    scale, gyr = space.gyro_scale, space.gyration
    s, t = torch.rand(2, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(3)) * 3 - 1.5
    close(scale(1.0, x), x)  # V1
    close(scale(s + t, x), space.gyro_add(scale(s, x), scale(t, x)))  # V2
    close(scale(s * t, x), scale(s, scale(t, x)))  # V3
    close(gyr(x, y, scale(t, z)), scale(t, gyr(x, y, z)))  # V4
    close(gyr(scale(s, x), scale(t, x), z), z)  # V5
    close(scale(-1.0, x), space.gyro_neg(x))
    close(scale(t, x), space.exp0(t[:, None] * space.log0(x)))


def test_addition_is_transport_and_exp(space: Space) -> None:
    x, y = points(space, 2)
    e = space.origin(5).expand_as(x)
    log_y = space.log(e, y)
    close(log_y[..., -5:], space.log0(y))
    close(space.gyro_add(x, y), space.exp(x, space.transport(e, x, log_y)))


def test_transport_is_an_isometry(space: Space) -> None:
    x, y, z, w = points(space, 4)
    u, v = space.log(x, z), space.log(x, w)
    moved = [space.transport(x, y, a) for a in (u, v)]
    close(space.inner(y, *moved), space.inner(x, u, v))
    close(space.transport(y, x, moved[0]), u)
    # along a geodesic its own velocity is parallel
    close(space.transport(x, y, space.log(x, y)), -space.log(y, x))


def test_metric(space: Space) -> None:
    x, y, z = points(space, 3)
    e = space.origin(5).expand_as(x)
    close(space.dist(x, y), space.dist(y, x))
    close(space.dist(x, e), space.dist0(x))
    close(space.dist(x, y).square(), space.inner(x, space.log(x, y), space.log(x, y)))
    close(space.dist(space.gyro_add(z, x), space.gyro_add(z, y)), space.dist(x, y))
    assert (space.dist(x, x) == 0).all()
    assert (space.dist(x, z) <= space.dist(x, y) + space.dist(y, z) + 1e-12).all()


def test_geodesics_have_unit_speed(space: Space) -> None:
    x, y = points(space, 2)
    u = space.log(x, y)
    u = u / space.inner(x, u, u).sqrt().unsqueeze(-1)
    stops = [space.exp(x, t * u) for t in (0.0, 0.4, 1.1, 2.0)]
    for i, s in enumerate((0.0, 0.4, 1.1, 2.0)):
        for j, t in enumerate((0.0, 0.4, 1.1, 2.0)):
            close(space.dist(stops[i], stops[j]), torch.full((20,), abs(s - t), dtype=torch.float64), 1e-7)


@pytest.mark.parametrize("K", CURVATURES)
def test_isometry(K: float) -> None:
    ball, sheet = PoincareBall(K).double(), Lorentz(K).double()
    x, y, z = points(ball, 3)
    a, b, c = (ball.to_lorentz(p) for p in (x, y, z))
    v = unit(torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5)))
    assert sheet.contains(a).all()
    close(sheet.to_poincare(a), x)
    close(sheet.dist(a, b), ball.dist(x, y))
    close(sheet.busemann(a, v), ball.busemann(x, v))
    close(sheet.gyro_add(a, b), ball.to_lorentz(ball.gyro_add(x, y)))
    close(sheet.gyro_scale(0.7, a), ball.to_lorentz(ball.gyro_scale(0.7, x)))
    close(sheet.gyration(a, b, c), ball.to_lorentz(ball.gyration(x, y, z)))
    close(sheet.centroid(a), ball.to_lorentz(ball.centroid(x)))
    # at the origin the differential of the isometry is a factor of 2
    close(sheet.log0(a), 2 * ball.log0(x))
    close(sheet.dist_hyperplane(a, b, sheet.log(b, c)), ball.dist_hyperplane(x, y, ball.log(y, z)))
    close(ball.to_poincare(x), x)
    close(sheet.to_lorentz(a), a)


def test_means(space: Space) -> None:
    (x,) = points(space, 1)
    weights = torch.rand(20, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    for mean in (space.centroid, space.frechet_mean):
        close(mean(x[:1]), x[0])
        close(mean(x, weights), mean(x.flip(0), 3 * weights.flip(0)), 1e-8)
        # an isometry moves the mean along
        z = points(space, 2)[1][:1]
        close(space.gyro_add(z, mean(x, weights)[None])[0], mean(space.gyro_add(z, x), weights), 1e-8)
        close(mean(torch.stack([x, x]), torch.stack([weights, weights]))[1], mean(x, weights))
    mean = space.frechet_mean(x, weights, tol=1e-14, max_iter=1000)
    pull = (weights[:, None] * space.log(mean.expand_as(x), x)).sum(0)
    assert space.inner(mean, pull, pull).sqrt() < 1e-10
    # two points: both means are the midpoint
    middle = space.exp(x[:1], space.log(x[:1], x[1:2]) / 2)[0]
    close(space.centroid(x[:2]), middle)
    close(space.frechet_mean(x[:2]), middle, 1e-8)


@pytest.mark.parametrize("model", [PoincareBall, Lorentz])
def test_frechet_mean_of_far_points_descends(model: type[Space]) -> None:
    """Where gradient descent with unit steps diverges: the curvature makes the steps too long."""
    space = model(-1.3).double()
    scale = 4.0 if space.model == "lorentz" else 2.0
    x = space.exp0(
        scale * unit(torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)))
    )
    cost = [space.dist(space.frechet_mean(x, max_iter=k), x).square().sum() for k in (0, 1, 5, 20, 200)]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(cost))
    mean = space.frechet_mean(x, max_iter=400)
    pull = space.log(mean.expand_as(x), x).sum(0)
    assert space.inner(mean, pull, pull).sqrt() < 1e-6


@pytest.mark.parametrize("K", [-2.3, -1.0, -0.1])
def test_near_points_of_one_ray_keep_their_distance_to_a_hyperplane_across_it(K: float) -> None:
    """In ball coordinates in single precision 6 radii out, some percent of this difference would be lost."""
    s = (-K) ** 0.5
    v = torch.tensor([0.6, 0.8], dtype=torch.float64)
    x, p = (lorentz.exp0(r / s * v, K=K).float() for r in (6.0006, 6.0))
    normal = torch.cat([torch.tanh(torch.tensor([6.0])), v.float()])
    difference = lorentz.dist0(x.double(), K=K) - lorentz.dist0(p.double(), K=K)
    got = lorentz.dist_hyperplane(x, p, normal, K=K)
    assert got.item() == pytest.approx(difference.item(), rel=1e-3)
