"""Against geoopt where it is comfortable: float64, points within two curvature radii."""

from __future__ import annotations

import geoopt
import pytest
import torch
from torch import Tensor

from tests.geometry.operators import CURVATURES, MODELS, arguments

poincare, lorentz = MODELS.values()


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("K", CURVATURES)
def test_ball(K: float) -> None:
    ball = geoopt.PoincareBall(c=torch.tensor(-K, dtype=torch.float64))
    x, y, z = arguments("poincare", "gyration", K, n=4, batch=30)
    _, u, v = arguments("poincare", "inner", K, n=4, batch=30, seed=1)
    t = torch.linspace(-1.5, 1.5, 30, dtype=torch.float64)
    close(poincare.exp0(u, K=K), ball.expmap0(u))
    close(poincare.log0(x, K=K), ball.logmap0(x))
    close(poincare.exp(x, u, K=K), ball.expmap(x, u))
    close(poincare.log(x, y, K=K), ball.logmap(x, y))
    close(poincare.dist(x, y, K=K), ball.dist(x, y))
    close(poincare.dist0(x, K=K), ball.dist0(x))
    close(poincare.transport(x, y, u, K=K), ball.transp(x, y, u))
    close(poincare.inner(x, u, v, K=K), ball.inner(x, u, v, keepdim=True)[:, 0])
    close(poincare.gyro_add(x, y, K=K), ball.mobius_add(x, y))
    close(poincare.gyro_scale(t, x, K=K), ball.mobius_scalar_mul(t[:, None], x))
    close(poincare.gyration(x, y, z, K=K), ball.gyration(x, y, z))
    close(poincare.dist_hyperplane(x, y, u, K=K), ball.dist2plane(x, y, u, signed=True))


@pytest.mark.parametrize("K", CURVATURES)
def test_lorentz(K: float) -> None:
    sheet = geoopt.Lorentz(k=torch.tensor(-1 / K, dtype=torch.float64))
    x, y, u = arguments("lorentz", "transport", K, n=4, batch=30)
    (v,) = arguments("lorentz", "exp0", K, n=4, batch=30)
    padded = torch.nn.functional.pad(v, (1, 0))
    close(lorentz.exp0(v, K=K), sheet.expmap0(padded))
    close(lorentz.log0(x, K=K), sheet.logmap0(x)[:, 1:])
    close(lorentz.exp(x, u, K=K), sheet.expmap(x, u))
    close(lorentz.log(x, y, K=K), sheet.logmap(x, y))
    close(lorentz.dist(x, y, K=K), sheet.dist(x, y))
    close(lorentz.dist0(x, K=K), sheet.dist0(x))
    close(lorentz.transport(x, y, u, K=K), sheet.transp(x, y, u))
    close(lorentz.inner(x, u, u, K=K), sheet.inner(x, u, u))
    off = x.clone()
    off[:, 0] += 0.3
    close(lorentz.project(off, K=K), sheet.projx(off))
