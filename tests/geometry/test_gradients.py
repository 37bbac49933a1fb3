"""First and second derivatives of every operator, also in K; finite gradients from 1e-15 to the boundary
and at 0."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from hypergraph.geometry import lorentz, numerics, origin, planes, poincare, radial
from tests.geometry.operators import KINDS, MODELS, NAMES, arguments, clip, operator

pytestmark = pytest.mark.usefixtures("either_way")


def small(name: str) -> dict[str, int]:
    return {"n": 2, "batch": 1 if name in ("centroid", "frechet_mean", "gyration", "transport") else 2}


@pytest.mark.parametrize(("model", "name"), NAMES)
@pytest.mark.parametrize("K", [-2.3, -0.1])
def test_derivatives(model: str, name: str, K: float) -> None:
    curvature = torch.tensor(K, dtype=torch.float64, requires_grad=True)
    args = [a.requires_grad_() for a in arguments(model, name, K, **small(name))]
    function = operator(model, name)

    def call(k: Tensor, *args: Tensor) -> Tensor:
        return function(*args, K=k)

    assert gradcheck(call, (curvature, *args), fast_mode=True)
    assert gradgradcheck(call, (curvature, *args), atol=1e-4, fast_mode=True)


@pytest.mark.parametrize("K", [-2.3, -0.1])
@pytest.mark.parametrize("name", ["exp0", "log0", "gyro_add", "project"])
@pytest.mark.parametrize("model", ["poincare", "lorentz"])
def test_derivatives_where_points_are_clipped(
    model: str, name: str, K: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a limit near enough for finite differences: a clipped point moves along its sphere, and with K."""
    for module in (numerics, origin, planes, poincare, lorentz):
        if hasattr(module, "radius_limit"):
            monkeypatch.setattr(module, "radius_limit", lambda dtype: 0.9)
    torch.manual_seed(0)
    module, curvature = MODELS[model], torch.tensor(K, dtype=torch.float64, requires_grad=True)
    far = torch.nn.functional.normalize(torch.randn(3, 2, dtype=torch.float64))
    far = (torch.tensor([[0.3], [0.85], [4.0]], dtype=torch.float64) / (-K) ** 0.5 * far).requires_grad_()

    def call(k: Tensor, u: Tensor) -> Tensor:
        if name == "exp0":
            return module.exp0(u, K=k)
        x = u if model == "poincare" else torch.cat([u.new_ones(3, 1), 3 * u], -1)
        if name == "gyro_add":
            return module.gyro_add(x, module.exp0(u.flip(0) / 8 + u, K=k), K=k)
        return getattr(module, name)(x, K=k)

    limit = numerics.distance_limit(torch.float64)
    if name != "log0":
        assert (limit - (-K) ** 0.5 * module.dist0(call(curvature, far), K=K)[-1]).abs() < 1e-9
    assert gradcheck(call, (curvature, far))
    assert gradgradcheck(call, (curvature, far), atol=1e-4)


@pytest.mark.parametrize("where", ["first", "all"])
@pytest.mark.parametrize(
    ("model", "name"), [(model, name) for model, name in NAMES if set(KINDS.get(name, "p")) <= set("pvu")]
)
def test_a_clipped_row_changes_nothing_for_the_others(model: str, name: str, where: str) -> None:
    """Where nothing is clipped the factors are left out: with a far row in some or all arguments the rest
    goes another way, to the same values and gradients."""
    K = torch.tensor(-0.5, dtype=torch.float64, requires_grad=True)
    args = arguments(model, name, -0.5)
    far = [1e6 * (i + 1) * torch.ones_like(a[:1]) for i, a in enumerate(args)]
    with_far = [
        torch.cat([a, f if where == "all" or i == 0 else a[:1]]) for i, (a, f) in enumerate(zip(args, far))
    ]
    results = []
    for given in (args, with_far):
        given = [a.requires_grad_() for a in given]
        out = operator(model, name)(*given, K=K)[:4]
        grads = torch.autograd.grad(out.square().sum(), [*given, K], materialize_grads=True)
        results.append((out.detach(), *(g[:4] for g in grads[:-1]), grads[-1]))
    torch.testing.assert_close(*results, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["tanhc", "artanhc", "sinhc", "asinhc"])
def test_radial_functions(name: str) -> None:
    # on both sides of the Taylor branch, and at 0
    q = torch.tensor([0.0, 1e-6, 9e-4, 1.1e-3, 0.3, 0.9], dtype=torch.float64, requires_grad=True)
    function = getattr(radial, name)
    # a one-sided difference at 0, where the square of a norm cannot go negative
    assert gradcheck(function, (q[1:].detach().requires_grad_(),), eps=1e-7, atol=1e-6)
    assert gradgradcheck(function, (q[1:].detach().requires_grad_(),), eps=1e-7, atol=1e-6)
    (slope,) = torch.autograd.grad(function(q).sum(), q, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), q)
    want = {
        "tanhc": (-1 / 3, 4 / 15),
        "artanhc": (1 / 3, 2 / 5),
        "sinhc": (1 / 6, 1 / 60),
        "asinhc": (-1 / 6, 3 / 20),
    }
    torch.testing.assert_close((slope[0].item(), bend[0].item()), want[name])


def test_clip_is_the_identity_inside_and_a_sphere_outside() -> None:
    u = torch.tensor([[0.3, 0.4], [3.0, 4.0], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    out = clip(u, 1.0)
    torch.testing.assert_close(
        out.detach(), torch.tensor([[0.3, 0.4], [0.6, 0.8], [0, 0]], dtype=torch.float64)
    )
    assert gradcheck(lambda u: clip(u, 1.0), u[:2].detach().requires_grad_())
    out.sum().backward()
    assert u.grad is not None and u.grad.isfinite().all()


def line(model: str, radii: Tensor, K: float, direction: list[float]) -> Tensor:
    """Points at scaled distances `radii` from the origin in one direction."""
    v = torch.tensor(direction, dtype=radii.dtype)
    half = radii / 2 if model == "poincare" else radii
    return MODELS[model].exp0(half[:, None] / (-K) ** 0.5 * v, K=K)


@pytest.mark.parametrize(("model", "name"), NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("K", [-2.3, -0.1])
def test_gradients_are_finite(model: str, name: str, dtype: torch.dtype, K: float) -> None:
    """On a log grid from 1e-15 to the boundary, at the origin, at coinciding points, at zero tangent
    vectors."""
    radii = torch.cat([torch.zeros(1), torch.logspace(-15, 2, 35)]).to(dtype)
    x = line(model, radii, K, [0.6, 0.8])
    vectors = radii[:, None] * torch.tensor([0.28, -0.96], dtype=dtype)
    ambient = vectors if model == "poincare" else torch.nn.functional.pad(vectors, (1, 0))
    many = torch.stack([x, x.flip(0)], -2)
    ideal = torch.tensor([[0.6, 0.8], [-0.6, -0.8], [0.8, -0.6]], dtype=dtype)
    for other in (x, MODELS[model].gyro_neg(x, K=K), x.flip(0)):
        for u in (ambient, torch.zeros_like(ambient)):
            points = iter((x, other, x))
            choose = {
                "v": vectors,
                "m": many,
                "u": u,
                "b": ideal,
                "t": radii[: 3 if name == "dist_horosphere" else None],
            }
            args = [next(points) if kind == "p" else choose[kind] for kind in KINDS.get(name, "p")]
            leaves = [a.detach().clone().requires_grad_() for a in args]
            curvature = torch.tensor(K, dtype=dtype, requires_grad=True)
            out = operator(model, name)(*leaves, K=curvature)
            assert out.isfinite().all()
            # gyro_neg and project of the ball do not depend on K
            grads = torch.autograd.grad(out.sum(), [*leaves, curvature], allow_unused=True)
            for grad in grads:
                assert grad is None or grad.isfinite().all()
