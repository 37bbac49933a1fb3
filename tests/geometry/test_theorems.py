"""The paper's statements about Busemann functions and horospheres, tried with numbers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hypergraph.geometry import Euclidean, Lorentz, PoincareBall, Space
from tests.geometry.operators import CURVATURES, unit

SPACES = [cls(K) for cls in (PoincareBall, Lorentz) for K in CURVATURES] + [Euclidean()]
N = 3


@pytest.fixture(params=SPACES, ids=str)
def space(request: pytest.FixtureRequest) -> Space:
    return request.param.double()


def draw(space: Space, count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    s = (-space.K.item()) ** 0.5 or 1.0
    u = torch.randn(count, N, generator=generator, dtype=torch.float64) / (2 * s)
    return space.exp0(u), unit(torch.randn(2, N, generator=generator, dtype=torch.float64))


def ray(space: Space, v: Tensor, t: float) -> Tensor:
    """The point at distance t on the ray from the origin; on the ball exp0 of a unit vector is 2 away."""
    return space.exp0(v * t / (2 if space.model == "poincare" else 1))


def test_busemann_is_the_limit_of_distances(space: Space) -> None:
    x, v = draw(space, 10)
    s = (-space.K.item()) ** 0.5
    # the error falls as exp(-2 s t), in flat space as 1 / t
    t, tol = (13 / s, 1e-7) if s else (1e7, 1e-5)
    limit = torch.stack([space.dist(x, ray(space, w, t).expand_as(x)) - t for w in v], -1)
    torch.testing.assert_close(space.busemann(x, v), limit, rtol=tol, atol=tol / (s or 1))


def test_busemann_is_linear_along_its_ray(space: Space) -> None:
    _, v = draw(space, 1)
    for t in (-1.5, 0.0, 2.0):
        torch.testing.assert_close(
            space.busemann(ray(space, v, t), v).diag(), torch.full((2,), -t, dtype=torch.float64)
        )


def test_busemann_is_1_lipschitz_with_unit_gradient(space: Space) -> None:
    x, v = draw(space, 60)
    y, _ = draw(space, 60, seed=1)
    gap = (space.busemann(x, v) - space.busemann(y, v)).abs()
    assert (gap <= space.dist(x, y)[:, None] * (1 + 1e-9)).all()
    # steepest along the geodesic to the ideal point: there the constant 1 is reached
    s = (-space.K.item()) ** 0.5
    u = space.log(x, ray(space, v[0], 8 / s if s else 1e4).expand_as(x))
    far = space.exp(x, 1e-3 * u / space.inner(x, u, u).sqrt().unsqueeze(-1))
    slope = (space.busemann(x, v)[:, 0] - space.busemann(far, v)[:, 0]) / space.dist(x, far)
    assert (slope > 0.99).all() and (slope < 1 + 1e-6).all()


def test_horospheres_are_equidistant(space: Space) -> None:
    """Flowing towards the ideal point for a time t takes every horosphere to the one that is t away."""
    x, v = draw(space, 30)
    s = (-space.K.item()) ** 0.5
    far = ray(space, v[0], 12 / s if s else 1e7).expand_as(x)
    u = space.log(x, far)
    u = u / space.inner(x, u, u).sqrt().unsqueeze(-1)
    moved = space.busemann(space.exp(x, 0.8 * u), v)[:, 0]
    torch.testing.assert_close(moved, space.busemann(x, v)[:, 0] - 0.8, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("K", [-2.3, -0.5])
@pytest.mark.parametrize("model", [PoincareBall, Lorentz])
def test_distance_to_a_horosphere_is_the_infimum(model: type[Space], K: float) -> None:
    """Found by optimisation over the horosphere, which translations along the ray parametrise."""
    space = model(K).double()
    x, v = draw(space, 6, seed=4)
    tau = torch.tensor([0.3, -0.6], dtype=torch.float64)
    want = space.dist_horosphere(x, v, tau)
    torch.testing.assert_close(want, (space.busemann(x, v) - tau).abs())
    for k in range(2):
        # any point p, moved along its geodesic to the ideal point until B = tau, is on the horosphere
        free = space.log0(x).clone().requires_grad_()
        far = ray(space, v[k], 14 / (-K) ** 0.5).expand_as(x)
        optimiser = torch.optim.LBFGS([free], max_iter=60, tolerance_grad=1e-12, tolerance_change=1e-14)

        def foot(free: Tensor = free, far: Tensor = far, k: int = k) -> Tensor:
            p = space.exp0(free)
            u = space.log(p, far)
            u = u / space.inner(p, u, u).sqrt().unsqueeze(-1)
            return space.exp(p, (space.busemann(p, v)[:, k] - tau[k]).unsqueeze(-1) * u)

        def closure(optimiser: torch.optim.Optimizer = optimiser) -> Tensor:
            optimiser.zero_grad()
            loss = space.dist(x, foot()).square().sum()
            loss.backward()
            return loss.detach()

        optimiser.step(closure)
        found = space.dist(x, foot()).detach()
        assert (space.busemann(foot(), v)[:, k] - tau[k]).abs().max() < 1e-6
        torch.testing.assert_close(found, want[:, k], rtol=1e-4, atol=1e-4)


def test_distance_to_a_hyperplane_is_the_infimum(space: Space) -> None:
    x, _ = draw(space, 4, seed=5)
    p, _ = draw(space, 4, seed=6)
    a = space.log(p, draw(space, 4, seed=7)[0])
    want = space.dist_hyperplane(x, p, a)
    # points of the hyperplane: exp_p of what is orthogonal to a
    free = torch.zeros_like(x, requires_grad=True)
    optimiser = torch.optim.LBFGS([free], max_iter=100, tolerance_grad=1e-12, tolerance_change=1e-15)

    def foot() -> Tensor:
        u = free
        if space.model == "lorentz":
            time = (p[..., 1:] * u[..., 1:]).sum(-1, keepdim=True) / p[..., :1]
            u = torch.cat([time, u[..., 1:]], -1)
        along = space.inner(p, u, a) / space.inner(p, a, a)
        return space.exp(p, u - along.unsqueeze(-1) * a)

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = space.dist(x, foot()).square().sum()
        loss.backward()
        return loss.detach()

    optimiser.step(closure)
    torch.testing.assert_close(space.dist(x, foot()).detach(), want.abs(), rtol=1e-5, atol=1e-5)
    # positive where a points, and 0 on the hyperplane
    assert (space.dist_hyperplane(space.exp(p, 0.3 * a), p, a) > 0).all()
    assert space.dist_hyperplane(foot(), p, a).abs().max() < 1e-5


@pytest.mark.parametrize("K", [-1e-4, -1e-6, -1e-8])
def test_euclidean_limits(K: float) -> None:
    """As K -> 0-: the factor 2 on the ball, 1 on the Lorentz model; the difference falls as sqrt(-K)."""
    generator = torch.Generator().manual_seed(8)
    x, y, u = torch.randn(3, 10, N, generator=generator, dtype=torch.float64)
    v = unit(torch.randn(4, N, generator=generator, dtype=torch.float64))
    ball, sheet, flat = PoincareBall(K).double(), Lorentz(K).double(), Euclidean().double()
    a, b = (torch.cat([(1 / -sheet.K + z.square().sum(-1, keepdim=True)).sqrt(), z], -1) for z in (x, y))
    tol = 10 * (-K) ** 0.5
    want = {"dist": flat.dist(x, y), "busemann": flat.busemann(x, v), "sum": flat.gyro_add(x, y)}

    def close(got: Tensor, want: Tensor) -> None:
        torch.testing.assert_close(got, want, rtol=tol, atol=tol)

    close(ball.dist(x, y), 2 * want["dist"])
    close(ball.busemann(x, v), 2 * want["busemann"])
    close(ball.gyro_add(x, y), want["sum"])
    close(ball.exp(x, u), x + u)
    close(ball.log(x, y), y - x)
    close(sheet.dist(a, b), want["dist"])
    close(sheet.busemann(a, v), want["busemann"])
    close(sheet.gyro_add(a, b)[..., 1:], want["sum"])
    close(sheet.log(a, b)[..., 1:], y - x)
    close(sheet.exp0(u)[..., 1:], u)
