"""The fused functions against composed ones: values, first and second derivatives, vmap."""

from __future__ import annotations

import mpmath
import pytest
import torch
from torch import Tensor

from hypergraph.geometry.fused import direction_product, gram, norm, tail


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_direction_product() -> None:
    x, z = draw(2, 3, 4), draw(5, 4)
    expected = x @ (z / z.norm(dim=-1, keepdim=True)).mT
    torch.testing.assert_close(direction_product(x, z), expected)
    assert torch.autograd.gradcheck(direction_product, (x, z))
    assert torch.autograd.gradgradcheck(direction_product, (x, z))


def test_direction_product_of_a_zero_row_is_zero() -> None:
    x, z = draw(3, 4), torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    y = direction_product(x, z)
    y.sum().backward()
    assert bool((y == 0).all()) and bool(z.grad.isfinite().all())
    assert bool((norm(z) == 1).all())


def test_gram() -> None:
    p, z = draw(5, 4), draw(5, 4)
    for got, expected in zip(gram(p, z), (p.square().sum(-1), (p * z).sum(-1), z.square().sum(-1))):
        torch.testing.assert_close(got, expected)
    assert torch.autograd.gradcheck(gram, (p, z))
    assert torch.autograd.gradgradcheck(gram, (p, z))


def composed(name: str, t: Tensor) -> Tensor:
    if name == "hcothh":
        h = torch.acosh(t) / 2
        return h / torch.tanh(h)
    return getattr(torch, name)(t)


@pytest.mark.parametrize("name", ["log1p", "asinh", "hcothh"])
@pytest.mark.parametrize("columns", [False, True])
def test_tail(name: str, columns: bool) -> None:
    positive = name != "asinh"
    y = (draw(3, 5).abs() if positive else draw(3, 5)).detach().requires_grad_()
    row = draw(3, 1).detach().abs().add(1.5).requires_grad_()
    c, w = (draw(5).detach().abs().add(0.9).requires_grad_() for _ in range(2))

    def call(y: Tensor, row: Tensor, c: Tensor, w: Tensor) -> Tensor:
        return tail(name, y, row, column=c if columns else None, weight=w if columns else None)

    argument = y * c + row * w if columns else y + row
    torch.testing.assert_close(call(y, row, c, w), composed(name, argument))
    assert torch.autograd.gradcheck(call, (y, row, c, w))
    assert torch.autograd.gradgradcheck(call, (y, row, c, w))
    loss = torch.func.grad(lambda *inputs: call(*inputs).sin().sum(), argnums=(0, 1))
    batched = torch.func.vmap(loss, in_dims=(0, 0, None, None))(y[:, None], row[:, None], c, w)
    for got, expected in zip(batched, loss(y, row, c, w)):
        torch.testing.assert_close(got.squeeze(1), expected)


def test_tail_keeps_the_gradient_at_its_bound() -> None:
    y = torch.tensor([[-0.5, -0.9]], dtype=torch.float64, requires_grad=True)
    row, low = torch.zeros(1, 1, dtype=torch.float64), torch.full((1, 1), -0.8, dtype=torch.float64)
    value = tail("log1p", y, row, low=low)
    value.sum().backward()
    torch.testing.assert_close(value, torch.log1p(torch.tensor([[-0.5, -0.8]], dtype=torch.float64)))
    torch.testing.assert_close(y.grad, torch.tensor([[2.0, 5.0]], dtype=torch.float64))


@pytest.mark.parametrize("q", [0.0, 1e-12, 1e-6, 9.9e-4, 1.1e-3, 0.3, 40.0, 1e9])
def test_hcothh_and_its_slope_from_0_to_far(q: float) -> None:
    cosh = 1 + 2 * q  # cosh(2h) at sinh(h)^2 = q; near 1 it holds q to 1e-16 only
    t = torch.tensor([[cosh]], dtype=torch.float64, requires_grad=True)
    value = tail("hcothh", t, torch.zeros(1, 1, dtype=torch.float64))
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
    got = tail("asinh", torch.tensor([[t]], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64))
    assert got.item() == pytest.approx(float(mpmath.asinh(t)), rel=1e-15)
