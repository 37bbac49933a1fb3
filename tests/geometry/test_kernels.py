"""What a Space has for layers, by kernels and by definitions: equal to each other and to operators
composed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch
from torch import Tensor

from hypergraph.geometry import Lorentz, PoincareBall, Space, planes
from hypergraph.geometry.kernels import dispatch
from hypergraph.geometry.kernels import planes as kernels
from hypergraph.geometry.kernels.small import SqNorm
from hypergraph.geometry.rows import sq_norm
from hypergraph.nn import make_space
from hypergraph.sparse import SparseMatrix, SparseRows
from tests.ways import way

MODELS = {"poincare": PoincareBall, "lorentz": Lorentz}
Operator = Callable[..., Tensor]


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def at_distance(space: Space, u: Tensor, sd: float) -> Tensor:
    """Tangent vectors whose points are so many curvature radii away from the origin."""
    pace = 2.0 if space.model == "poincare" else 1.0
    return u / u.norm(dim=-1, keepdim=True) * sd / (pace * (-space.K.item()) ** 0.5)


def operators(space: Space, model: str) -> dict[str, tuple[Operator, list[Tensor]]]:
    """Each as a function of free tensors, the first being tangent vectors."""
    few, many = draw(3, 5, seed=1), draw(20, 5, seed=2)
    numbers, one = (draw(20, seed=3), draw(20, seed=4)), draw(5, seed=5) / 4
    table: dict[str, tuple[Operator, list[Tensor]]] = {
        "horospheres": (lambda u, *p: space.horospheres(space.exp0(u), *p), [many, *numbers]),
        "few horospheres": (lambda u, v: space.horospheres(space.exp0(u), v), [few]),
        "horospheres, tangent": (lambda u, *p: space.horospheres(u, *p, tangent=True), [many, *numbers]),
        "hyperplanes": (lambda u, *p: space.hyperplanes(space.exp0(u), *p), [many, *numbers]),
        "hyperplanes, tangent": (lambda u, *p: space.hyperplanes(u, *p, tangent=True), [many, numbers[0]]),
        "shift0": (space.shift0, [one]),
        "from_distances0": (space.from_distances0, [one]),
        "from_distances0, no bias": (lambda u: space.from_distances0(u), []),
        "bound0": (space.bound0, []),
        "centroid": (lambda u: space.log0_of_sum(space.summand(u).sum(0, keepdim=True)), []),
    }
    if model == "lorentz":
        table["linear_forms"] = (lambda u, w: space.linear_forms(space.exp0(u), w), [draw(4, 6)])
        table["linear_forms, tangent"] = (lambda u, w: space.linear_forms(u, w, tangent=True), [draw(4, 6)])
    else:
        placed = [0.3 * many, draw(20, 5, seed=6)]
        table["hyperplanes_through"] = (lambda u, *p: space.hyperplanes_through(space.exp0(u), *p), placed)
        table["pseudo_busemann"] = (lambda u, *p: space.pseudo_busemann(space.exp0(u), *p), placed)
    return table


def results(function: Operator, given: list[Tensor]) -> list[Tensor]:
    leaves = [x.clone().requires_grad_() for x in given]
    out = function(*leaves)
    weights = torch.linspace(0.5, 1.5, out.numel(), dtype=out.dtype).view_as(out)
    return [out.detach(), *torch.autograd.grad((out * weights).sum(), leaves)]


@pytest.mark.parametrize("sd", [0.0, 1e-6, 0.5, 4.0, 12.0])
@pytest.mark.parametrize("K", [-2.3, -0.1])
@pytest.mark.parametrize("model", MODELS)
def test_kernels_equal_definitions(model: str, K: float, sd: float) -> None:
    """Values and gradients."""
    space = MODELS[model](K).double()
    u = at_distance(space, draw(7, 5), sd)
    for name, (function, rest) in operators(space, model).items():
        with way("kernel"):
            got = results(function, [u, *rest])
        with way("definition"):
            want = results(function, [u, *rest])
        for left, right in zip(got, want, strict=True):
            scale = right.abs().max().clamp_min(1).item()
            assert (left - right).abs().max() <= 1e-10 * scale, name


@pytest.mark.parametrize("sd", [31.0, 31.1, 33.0, 50.0])
@pytest.mark.parametrize("K", [-2.3, -0.1])
@pytest.mark.parametrize("model", MODELS)
def test_a_bias_where_points_or_their_sums_are_beyond_the_limit(model: str, K: float, sd: float) -> None:
    """The limit is 31.2; some sums come back inside it."""
    space = MODELS[model](K).double()
    u, b = at_distance(space, draw(40, 5), sd), at_distance(space, draw(5, seed=1), 0.7)
    with way("kernel"):
        got = results(space.shift0, [u, b])
    with way("definition"):
        want = results(space.shift0, [u, b])
    for left, right in zip(got, want, strict=True):
        assert (left - right).abs().max() <= 1e-10 * right.abs().max()


@pytest.mark.parametrize("sd", [0.0, 0.5, 4.0, 50.0])
@pytest.mark.parametrize("model", MODELS)
def test_a_curvature_that_is_learnt(model: str, sd: float) -> None:
    """Its gradient too, of points within the limit and (of logarithms) beyond it."""
    space = MODELS[model](-0.7, learnable=True).double()
    u = at_distance(space, draw(7, 5), sd)
    for name, (function, rest) in operators(space, model).items():
        if sd > 40 and ("tangent" not in name or "linear" in name):
            continue  # points there have lost their digits
        found = []
        for which in ("kernel", "definition"):
            with way(which):
                leaves = [x.clone().requires_grad_() for x in (u, *rest)]
                out = function(*leaves)
                grads = torch.autograd.grad(
                    out.square().sum(), [*leaves, space.curvature.raw], allow_unused=True
                )
                found.append([out.detach(), *grads])
        for left, right in zip(*found, strict=True):
            if right is not None:  # of bound0 within the limit nothing depends on the curvature
                scale = right.abs().max().clamp_min(1).item()
                assert ((0 if left is None else left) - right).abs().max() <= 1e-9 * scale, name


def test_horospheres_of_a_learnt_curvature_run_by_their_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    space, ran = PoincareBall(-0.7, learnable=True), []
    forward = kernels.Horospheres.forward
    monkeypatch.setattr(kernels.Horospheres, "forward", lambda *args: ran.append(1) or forward(*args))
    space.horospheres(space.lift(torch.randn(4, 3)), torch.randn(2, 3)).sum().backward()
    assert ran and space.curvature.raw.grad is not None


@pytest.mark.parametrize("tangent", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_horospheres_of_points_at_the_limit_run_by_their_kernel(
    model: str, tangent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features that were not clipped end there, and a head on them is not to be slow."""
    space, ran = MODELS[model](-0.7), []
    forward = kernels.Horospheres.forward

    def counted(*args: Any) -> Any:
        made = forward(*args)
        ran.append(made is not None)
        return made

    monkeypatch.setattr(kernels.Horospheres, "forward", counted)
    u, weight = 100 * draw(50, 6).float(), draw(4, 6, seed=1).float().requires_grad_()
    space.horospheres(u if tangent else space.exp0(u), weight, tangent=tangent).sum().backward()
    assert ran[-1] and bool(weight.grad.isfinite().all())


@pytest.mark.parametrize("model", MODELS)
def test_second_derivatives_and_vmap(model: str) -> None:
    space = MODELS[model](-0.5).double()
    u = 0.4 * draw(2, 5)
    for name, (function, rest) in operators(space, model).items():
        given = tuple(x[:2].clone().requires_grad_() if x.dim() == 2 else x for x in (u, *rest))
        if any(x.dim() == 1 and x.numel() == 20 for x in rest):
            given = (*given[:2], *(x[:2].clone().requires_grad_() for x in given[2:]))
        assert torch.autograd.gradgradcheck(function, given, fast_mode=True, atol=1e-4), name
        if name != "centroid":
            each = torch.func.vmap(lambda row: function(row[None], *rest)[0])(u)  # noqa: B023
            torch.testing.assert_close(each, function(u, *rest), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("which", ["kernel", "definition"])
@pytest.mark.parametrize("K", [-2.3, -0.5])
@pytest.mark.parametrize("model", MODELS)
def test_maps_at_the_origin_are_operators_composed(model: str, K: float, which: str) -> None:
    space = MODELS[model](K).double()
    u, b = 0.6 * draw(6, 4), 0.5 * draw(4, seed=1)
    with way(which):
        added = space.log0(space.gyro_add(space.exp0(u), space.exp0(b)))
        torch.testing.assert_close(space.shift0(u, b), added, rtol=1e-12, atol=1e-12)
        y = space.exp0(space.from_distances0(u))
        for k in range(4):
            normal = torch.zeros(space.ambient(4), dtype=torch.float64)
            normal[k - 4] = 1
            distance = space.dist_hyperplane(y, space.origin(4), normal)
            torch.testing.assert_close(distance, u[:, k], rtol=1e-10, atol=1e-10)
        sum0 = space.log0(space.gyro_add(y, space.exp0(b)))
        torch.testing.assert_close(space.from_distances0(u, b), sum0, rtol=1e-11, atol=1e-11)
        far = 1e3 * u
        torch.testing.assert_close(space.bound0(far), space.log0(space.exp0(far)), rtol=1e-3, atol=0)


@pytest.mark.parametrize("which", ["kernel", "definition"])
@pytest.mark.parametrize("sd", [0.0, 1e-6, 4.0, 12.0])
@pytest.mark.parametrize("K", [-2.3, -0.1])
@pytest.mark.parametrize("model", MODELS)
def test_a_gyro_bias_is_the_gyro_sum_of_points(model: str, K: float, sd: float, which: str) -> None:
    """Values and gradients, also where points of the ball have lost digits."""
    space = MODELS[model](K).double()
    given = [at_distance(space, draw(6, 4), sd), at_distance(space, draw(4, seed=1), 0.7)]
    with way(which):
        got = results(space.shift0, given)
        want = results(lambda u, b: space.log0(space.gyro_add(space.exp0(u), space.exp0(b))), given)
    for left, right in zip(got, want, strict=True):
        assert (left - right).abs().max() <= 1e-10 * right.abs().max().clamp_min(1)


@pytest.mark.parametrize("which", ["kernel", "definition"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_sparse_rows_are_one_more_input(model: str, which: str) -> None:
    space = make_space(model, -0.7).double()
    u, weight, offset = draw(6, 9), draw(4, 9, seed=1), draw(4, seed=2)
    u[u.abs() < 0.8] = 0
    for factor in (1.0, draw(6, 1, seed=3).abs()):
        rows, dense = SparseRows(SparseMatrix(u.to_sparse_csr()), factor), factor * u
        with way(which):
            for name in ("horospheres", "hyperplanes"):
                given = [weight, offset] if name == "hyperplanes" else [weight, offset, offset]
                found = [
                    results(lambda *p: getattr(space, name)(x, *p, tangent=True), given)  # noqa: B023
                    for x in (rows, dense)
                ]
                torch.testing.assert_close(*found, rtol=1e-11, atol=1e-11)


def test_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    space = PoincareBall(-0.5).double()
    table = operators(space, "poincare")
    whole = {name: results(f, [draw(7, 5), *rest]) for name, (f, rest) in table.items()}
    monkeypatch.setattr(dispatch, "BLOCK_ROWS", 2)
    monkeypatch.setattr(kernels, "BLOCK_ENTRIES", 15)
    for name, (function, rest) in table.items():
        torch.testing.assert_close(results(function, [draw(7, 5), *rest]), whole[name])


@pytest.mark.parametrize("model", MODELS)
def test_a_row_of_zeros_has_no_direction(model: str) -> None:
    space = make_space(model, -2.3).double()
    x, v = space.exp0(draw(6, 5)).requires_grad_(), draw(4, 5, seed=1)
    v[1] = 0
    v.requires_grad_()
    space.horospheres(x, v).sum().backward()
    assert bool(x.grad.isfinite().all()) and bool(v.grad.isfinite().all())


@pytest.mark.parametrize("which", ["kernel", "definition"])
@pytest.mark.parametrize("q", [0.0, 1e-12, 1e-6, 9.9e-4, 1.1e-3, 0.3, 40.0, 1e9])
def test_hcothh_and_its_slope_from_0_to_far(q: float, which: str) -> None:
    cosh = 1 + 2 * q  # cosh(2h) at sinh(h)^2 = q; near 1 it holds q to 1e-16 only
    t = torch.tensor([[cosh]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, dtype=torch.float64)
    with way(which):
        value = planes.tail(t, torch.zeros_like(t), one, one, None, "hcothh", 1.0)
        value.backward()
    with mpmath.workdps(40):
        argument = mpmath.mpf(cosh)

        def exact(c: mpmath.mpf) -> mpmath.mpf:
            h = mpmath.acosh(c) / 2
            return h * mpmath.coth(h)

        expected = (
            (mpmath.mpf(1), mpmath.mpf(1) / 6) if q == 0 else (exact(argument), mpmath.diff(exact, argument))
        )
    assert value.item() == pytest.approx(float(mpmath.re(expected[0])), rel=1e-14)
    assert t.grad.item() == pytest.approx(float(mpmath.re(expected[1])), rel=1e-11)


@pytest.mark.parametrize("which", ["kernel", "definition"])
@pytest.mark.parametrize("t", [0.0, -1e-30, 1e-9, -0.3, 5.0, -1e8])
def test_asinh_is_accurate_and_odd(t: float, which: str) -> None:
    argument, one = torch.tensor([[t]], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    with way(which):
        got = planes.tail(argument, torch.zeros_like(argument), one, one, None, "asinh", -math.inf)
    assert got.item() == pytest.approx(float(mpmath.asinh(t)), rel=1e-15)


def test_squared_norms_of_many_vectors_have_their_gradient_in_one_pass() -> None:
    """And those of few have torch's own, which is as quick and has less around it."""
    for rows, name in {SqNorm.least // 16: "_ByHandBackward", SqNorm.least // 16 - 1: "SumBackward1"}.items():
        x = draw(rows, 16).requires_grad_()
        out = sq_norm(x)
        assert type(out.grad_fn).__name__ == name
        (gradient,) = torch.autograd.grad(out.sum(), x)
        torch.testing.assert_close(gradient, 2 * x)
        torch.testing.assert_close(out, x.square().sum(-1, keepdim=True))
