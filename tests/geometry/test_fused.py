"""The fused functions against composed ones: values, first and second derivatives, vmap."""

from __future__ import annotations

import mpmath
import pytest
import torch
from torch import Tensor

from hypergraph.geometry import fused
from hypergraph.geometry.fused import gram, nonzero, pair_products, products, tail


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64).requires_grad_()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_products() -> None:
    x, z = draw(2, 3, 4), draw(5, 4)
    for got, expected in zip(products(x, z), (x @ z.mT, z.norm(dim=-1))):
        torch.testing.assert_close(got, expected)
    assert torch.autograd.gradcheck(products, (x, z))
    assert torch.autograd.gradgradcheck(products, (x, z))


def test_the_norm_of_a_zero_row_has_a_finite_gradient() -> None:
    x, z = draw(3, 4), torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    inner, norms = products(x, z)
    (inner / nonzero(norms)).sum().backward()
    assert bool((norms == 0).all()) and bool(z.grad.isfinite().all())


def test_gram() -> None:
    p, z = draw(5, 4), draw(5, 4)
    for got, expected in zip(gram(p, z), (p.square().sum(-1), (p * z).sum(-1), z.square().sum(-1))):
        torch.testing.assert_close(got, expected)
    assert torch.autograd.gradcheck(gram, (p, z))
    assert torch.autograd.gradgradcheck(gram, (p, z))


def test_pair_products() -> None:
    x, p, z = draw(3, 4), draw(5, 4), draw(5, 4)
    for got, expected in zip(pair_products(x, p, z), (x @ p.mT, x @ z.mT, *gram(p, z))):
        torch.testing.assert_close(got, expected)
    assert torch.autograd.gradcheck(pair_products, (x, p, z))
    assert torch.autograd.gradgradcheck(pair_products, (x, p, z))


def composed(name: str, t: Tensor) -> Tensor:
    if name == "hcothh":
        h = torch.acosh(t) / 2
        return h / torch.tanh(h)
    return getattr(torch, name)(t)


@pytest.mark.parametrize("name", ["log1p", "asinh", "hcothh"])
@pytest.mark.parametrize("options", ["", "weight", "scale offset", "weight scale offset"])
def test_tail(name: str, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "_BLOCK", 10)  # two rows in a block, and one in the last
    positive = name != "asinh"
    y = (draw(3, 5).abs() if positive else draw(3, 5)).detach().requires_grad_()
    row = draw(3, 1).detach().abs().add(1.5).requires_grad_()
    column, *rest = (draw(5).detach().abs().add(0.9).requires_grad_() for _ in range(4))
    given = {key: value for key, value in zip(("weight", "scale", "offset"), rest) if key in options}

    def call(y: Tensor, row: Tensor, column: Tensor, *rest: Tensor) -> Tensor:
        return tail(name, y, row, column, **dict(zip(given, rest)))

    inputs = (y, row, column, *given.values())
    expected = composed(name, y * column + row * given.get("weight", 1.0))
    expected = expected * given.get("scale", 1.0) + given.get("offset", 0.0)
    torch.testing.assert_close(call(*inputs), expected)
    assert torch.autograd.gradcheck(call, inputs)
    assert torch.autograd.gradgradcheck(call, inputs)
    loss = torch.func.grad(lambda *inputs: call(*inputs).sin().sum(), argnums=(0, 1))
    in_dims = (0, 0, None, *(None for _ in given))
    batched = torch.func.vmap(loss, in_dims)(y[:, None], row[:, None], column, *given.values())
    for got, exact in zip(batched, loss(*inputs)):
        torch.testing.assert_close(got.squeeze(1), exact)


def test_tail_takes_one_factor_for_all() -> None:
    y, row, column, scale = draw(3, 5), draw(3, 1), draw(5), draw()
    expected = scale * torch.asinh(y * column + row)
    torch.testing.assert_close(tail("asinh", y, row, column, scale=scale), expected)
    assert torch.autograd.gradcheck(lambda *x: tail("asinh", *x[:3], scale=x[3]), (y, row, column, scale))


def test_tail_keeps_the_gradient_at_its_bound() -> None:
    y = torch.tensor([[-0.5, -0.9]], dtype=torch.float64, requires_grad=True)
    row, low = torch.zeros(1, 1, dtype=torch.float64), torch.full((1, 1), -0.8, dtype=torch.float64)
    value = tail("log1p", y, row, torch.ones(2, dtype=torch.float64), low=low)
    value.sum().backward()
    torch.testing.assert_close(value, torch.log1p(torch.tensor([[-0.5, -0.8]], dtype=torch.float64)))
    torch.testing.assert_close(y.grad, torch.tensor([[2.0, 5.0]], dtype=torch.float64))


@pytest.mark.parametrize("q", [0.0, 1e-12, 1e-6, 9.9e-4, 1.1e-3, 0.3, 40.0, 1e9])
def test_hcothh_and_its_slope_from_0_to_far(q: float) -> None:
    cosh = 1 + 2 * q  # cosh(2h) at sinh(h)^2 = q; near 1 it holds q to 1e-16 only
    t = torch.tensor([[cosh]], dtype=torch.float64, requires_grad=True)
    value = tail("hcothh", t, torch.zeros_like(t), torch.ones(1, dtype=torch.float64))
    value.backward()
    with mpmath.workdps(40):
        argument = mpmath.mpf(cosh)

        def exact(c: mpmath.mpf) -> mpmath.mpf:
            h = mpmath.acosh(c) / 2
            return h * mpmath.coth(h)

        expected = (
            (1, mpmath.mpf(1) / 6) if q == 0 else (exact(argument), mpmath.diff(exact, argument, h=1e-18))
        )
    assert value.item() == pytest.approx(float(expected[0]), rel=1e-14)
    assert t.grad.item() == pytest.approx(float(mpmath.re(expected[1])), rel=1e-11)


@pytest.mark.parametrize("t", [0.0, -1e-30, 1e-9, -0.3, 5.0, -1e8])
def test_asinh_is_accurate_and_odd(t: float) -> None:
    argument = torch.tensor([[t]], dtype=torch.float64)
    got = tail("asinh", argument, torch.zeros_like(argument), torch.ones(1, dtype=torch.float64))
    assert got.item() == pytest.approx(float(mpmath.asinh(t)), rel=1e-15)
