"""Horosphere distances by hand against those through autograd."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from hypergraph.geometry.space import Space
from hypergraph.nn import make_space, radial


def inputs(space: Space, classes: int = 4) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    x = space.exp0(0.5 * torch.randn(7, 5, dtype=torch.float64))
    rest = (torch.randn(shape, dtype=torch.float64) for shape in ((classes, 5), (classes,), (classes,)))
    return tuple(t.detach().requires_grad_() for t in (x, *rest))


def fused(space: Space, *given: Tensor) -> Tensor:
    x, v, scale, offset = given
    return radial.busemann(x, v, space, scale=scale, offset=offset)


def plain(space: Space, *given: Tensor) -> Tensor:
    x, v, scale, offset = given
    return scale * space.busemann(x, v / v.norm(dim=-1, keepdim=True)) + offset


@pytest.mark.parametrize("K", [-1.0, -0.1, -2.3])
@pytest.mark.parametrize("classes", [4, 20])  # kept column by column, and row by row
@pytest.mark.parametrize("model", ["poincare", "lorentz"])
def test_horospheres(model: str, classes: int, K: float) -> None:
    space = make_space(model, K).double()
    given = inputs(space, classes)
    values = [function(space, *given) for function in (fused, plain)]
    assert type(values[0].grad_fn).__name__ == "HorospheresBackward"
    torch.testing.assert_close(*values, rtol=1e-12, atol=1e-12)
    upstream = torch.randn_like(values[0])
    for got, expected in zip(*(torch.autograd.grad(value, given, upstream) for value in values)):
        torch.testing.assert_close(got, expected, rtol=1e-11, atol=1e-11)
    assert torch.autograd.gradgradcheck(lambda *given: fused(space, *given), given)


@pytest.mark.parametrize("model", ["poincare", "lorentz"])
def test_horospheres_far_out_and_in_blocks(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = make_space(model, -0.5).double()
    given = inputs(space)
    monkeypatch.setattr(radial, "_BLOCK", 2)
    torch.testing.assert_close(fused(space, *given), plain(space, *given))
    far = (1e3 * given[0]).detach().requires_grad_()
    value = fused(space, far, *given[1:])
    torch.testing.assert_close(value, plain(space, far, *given[1:]))
    value.sum().backward()
    assert bool(far.grad.isfinite().all())


@pytest.mark.parametrize("model", ["poincare", "lorentz"])
def test_a_row_of_zeros_has_no_direction(model: str) -> None:
    space = make_space(model, -2.3).double()
    x, v, scale, offset = inputs(space)
    with torch.no_grad():
        v[1] = 0
    fused(space, x, v, scale, offset).sum().backward()
    assert all(bool(t.grad.isfinite().all()) for t in (x, v, scale, offset))
    assert v.grad[1].abs().max() < 1e3
