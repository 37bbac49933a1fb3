"""Products with directions, and the elementwise functions that follow them over batch x classes.

At this size the time goes into fresh memory, not into arithmetic: composed operations touch several times
as much of it, and torch.asinh, which has no vector code, alone takes as long as three matrix products. The
backward passes are made of differentiable operations: derivatives of any order, vmap and torch.compile work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def norm(z: Tensor) -> Tensor:
    """The norms of the rows of z; 1 for a row of zeros, so that one can divide by it."""
    r = torch.linalg.vector_norm(z, dim=-1)
    return torch.where(r > 0, r, 1.0)


class _DirectionProduct(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, z: Tensor) -> Tensor:
        return (x @ z.mT).to(z.dtype).div_(norm(z))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, z, y = ctx.saved_tensors
        inverse = 1 / norm(z)
        scaled = grad * inverse
        grad_x = scaled @ z if ctx.needs_input_grad[0] else None
        if not ctx.needs_input_grad[1]:
            return grad_x, None
        # the derivative of a direction is orthogonal to it, and <grad_v, v> is a sum over the batch
        radial = (grad * y).sum(0) * inverse.square()
        return grad_x, (scaled.mT @ x).addcmul_(z, -radial.unsqueeze(-1))


def direction_product(x: Tensor, z: Tensor) -> Tensor:
    """The inner products of x ``(..., n)`` with the directions z / |z| of the rows of z ``(C, n)``.

    In the dtype of z: autocast may lower the product, not what follows.
    """
    return _DirectionProduct.apply(x.reshape(-1, x.size(-1)), z).reshape(*x.shape[:-1], z.size(0))


class _Gram(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(p: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        square = torch.linalg.vector_norm
        return square(p, dim=-1).square(), (p * z).sum(-1), square(z, dim=-1).square()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_p: Tensor, grad_pz: Tensor, grad_z: Tensor) -> tuple[Tensor, Tensor]:
        p, z = ctx.saved_tensors
        a, b, c = (g.unsqueeze(-1) for g in (2 * grad_p, grad_pz, 2 * grad_z))
        return (a * p).addcmul_(b, z), (c * z).addcmul_(b, p)


def gram(p: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inner products <p, p>, <p, z> and <z, z> of the rows of two matrices."""
    return _Gram.apply(p, z)


# Each function below owns its argument t, and may write over it; a slope is already times grad.


def _asinh(t: Tensor) -> Tensor:
    a = t.abs()
    q = a * a
    q /= (q + 1).sqrt_().add_(1)
    return a.add_(q).log1p_().copysign_(t)


def _asinh_slope(t: Tensor, grad: Tensor) -> Tensor:
    return grad * t.square_().add_(1).rsqrt_()


def _log1p_slope(t: Tensor, grad: Tensor) -> Tensor:
    return grad / t.add_(1)


def _hcothh(t: Tensor) -> Tensor:
    # q = sinh(h)^2; at 0 the smallest number leaves the right limit, 1
    q = t.sub_(1).mul_(0.5).clamp_min_(torch.finfo(t.dtype).tiny)
    root = (1 + q).sqrt_()
    r = q.sqrt()
    h = q.div_(1 + root).add_(r).log1p_()
    return h.mul_(root).div_(r)


# Below this q the six-term series is exact to float64 rounding.
_SERIES_BELOW = 1e-3


def _hcothh_slope(t: Tensor, grad: Tensor) -> Tensor:
    # The closed form above a bound plus the series below it, each constant on the other side: a choice by
    # torch.where over batch x classes costs as much as ten other passes.
    q = t.sub_(1).mul_(0.5)
    slope = _series(q.clamp(0, _SERIES_BELOW)) - _series(q.new_full((1, 1), _SERIES_BELOW))
    q = q.clamp_min(_SERIES_BELOW)
    root, r = (1 + q).sqrt(), q.sqrt()
    ratio = (q / (1 + root)).add_(r).log1p().div(r * root)
    return grad * slope.addcdiv_(1 - ratio, q, value=0.5).mul_(0.5)


def _series(q: Tensor) -> Tensor:
    """The derivative of h coth h by q = sinh(h)^2."""
    value = q * (-512 / 3003)
    for coefficient in (128 / 693, -64 / 315, 8 / 35, -4 / 15):
        value = value.add_(coefficient).mul_(q)
    return value.add_(1 / 3)


_FUNCTIONS = {
    "log1p": (torch.log1p_, _log1p_slope),
    "asinh": (_asinh, _asinh_slope),
    "hcothh": (_hcothh, _hcothh_slope),
}


def _argument(y: Tensor, row: Tensor, column: Tensor | None, weight: Tensor | None, low: Tensor) -> Tensor:
    t = y + row if column is None or weight is None else (y * column).addcmul_(row, weight)
    return t.clamp_min_(low)


class _Tail(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        name: str,
        y: Tensor,
        row: Tensor,
        column: Tensor | None,
        weight: Tensor | None,
        low: Tensor,
        scale: Tensor,
    ) -> Tensor:
        return _FUNCTIONS[name][0](_argument(y, row, column, weight, low)).mul_(scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.name = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        y, row, column, weight, low, scale = ctx.saved_tensors
        function, slope = _FUNCTIONS[ctx.name]
        grad_scale = None
        if ctx.needs_input_grad[6]:
            grad_scale = (grad * function(_argument(y, row, column, weight, low))).sum_to_size(scale.shape)
        # the argument is computed again: that is quicker than the memory traffic of keeping it
        # not in place: in a second derivative grad may be a zero that has no memory
        g = slope(_argument(y, row, column, weight, low), grad) * scale
        if column is None or weight is None:
            return None, g, g.sum(-1, keepdim=True), None, None, None, grad_scale
        columns = (g * y).sum(0)
        return None, g * column, (g @ weight).unsqueeze(-1), columns, row.squeeze(-1) @ g, None, grad_scale


def tail(
    name: str,
    y: Tensor,
    row: Tensor,
    scale: Tensor,
    *,
    column: Tensor | None = None,
    weight: Tensor | None = None,
    low: float | Tensor = -torch.inf,
) -> Tensor:
    r"""``scale`` times f of :math:`y_{ik} c_k + r_i w_k`, or of :math:`y_{ik} + r_i`, at least ``low``.

    ``low`` is a bound that holds exactly, and that only rounding can break: no gradient is lost to it.

    Args:
        name: ``"log1p"``, ``"asinh"``, or ``"hcothh"``: :math:`h\coth h` at :math:`\cosh(2h)`.
        y: ``(..., C)``.
        row: ``(..., 1)``.
        scale: a number, or one a column, ``(C,)``.
        column: ``(C,)``.
        weight: ``(C,)``.
        low: ``(..., 1)``, or one number.
    """
    bound = low.detach().reshape(-1, 1) if isinstance(low, Tensor) else y.new_full((1, 1), low)
    flat = _Tail.apply(name, y.reshape(-1, y.size(-1)), row.reshape(-1, 1), column, weight, bound, scale)
    return flat.reshape(y.shape)
