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
        grad_z, radial = scaled.mT @ x, -radial.unsqueeze(-1)
        if torch.is_grad_enabled():  # second derivatives, and torch.func, which has no rule for addcmul_
            return grad_x, torch.addcmul(grad_z, z, radial)
        return grad_x, grad_z.addcmul_(z, radial)


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
        return (a * p).add_(b * z), (c * z).add_(b * p)


def gram(p: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The inner products <p, p>, <p, z> and <z, z> of the rows of two matrices."""
    return _Gram.apply(p, z)


# Each function below owns its argument t, and may write over it; a slope is given by its inverse.


def _asinh(t: Tensor) -> Tensor:
    a = t.abs()
    q = a * a
    q /= (q + 1).sqrt_().add_(1)
    return a.add_(q).log1p_().copysign_(t)


def _asinh_slope(t: Tensor) -> Tensor:
    return (t * t).add_(1).sqrt()


def _log1p_slope(t: Tensor) -> Tensor:
    return t.add_(1)


def _hcothh(t: Tensor) -> Tensor:
    # q = sinh(h)^2; at 0 the smallest number leaves the right limit, 1
    q = t.sub_(1).mul_(0.5).clamp_min_(torch.finfo(t.dtype).tiny)
    root = (1 + q).sqrt_()
    r = q.sqrt()
    h = q.div_(1 + root).add_(r).log1p_()
    return h.mul_(root).div_(r)


# Below this q the six-term series is exact to float64 rounding.
_SERIES_BELOW = 1e-3


def _hcothh_slope(t: Tensor) -> Tensor:
    # The closed form above a bound plus the series below it, each constant on the other side: a choice by
    # torch.where over batch x classes costs as much as ten other passes.
    q = t.sub_(1).mul_(0.5)
    slope = _series(q.clamp(0, _SERIES_BELOW)).sub_(_series(q.new_full((1, 1), _SERIES_BELOW)))
    q = q.clamp_min(_SERIES_BELOW)
    root, r = (1 + q).sqrt_(), q.sqrt()
    ratio = (q / (1 + root)).add_(r).log1p().div_(r).div_(root)
    del root, r
    return slope.add_(ratio.neg_().add_(1).div_(q), alpha=0.5).mul_(0.5).reciprocal()


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
    t = y + row if column is None or weight is None else torch.addcmul(row * weight, y, column)
    return t.clamp_min_(low)


class _Tail(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(
        name: str,
        y: Tensor,
        row: Tensor,
        scale: Tensor | None,
        column: Tensor | None,
        weight: Tensor | None,
        low: Tensor,
    ) -> Tensor:
        value = _FUNCTIONS[name][0](_argument(y, row, column, weight, low))
        return value if scale is None else value.mul_(scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.name = inputs[0]
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        y, row, scale, column, weight, low = ctx.saved_tensors
        # the argument is computed again: that is quicker than the memory traffic of keeping it
        inverse_slope = _FUNCTIONS[ctx.name][1](_argument(y, row, column, weight, low))
        grad_scale = None
        if scale is not None:
            inverse_slope /= scale
            if ctx.needs_input_grad[3]:
                grad_scale = (grad * _Tail.apply(ctx.name, y, row, None, column, weight, low)).sum()
        g = grad / inverse_slope
        if column is None or weight is None:
            return None, g, g.sum(-1, keepdim=True), grad_scale, None, None, None
        columns = (g * y).sum(0)
        return None, g * column, (g @ weight).unsqueeze(-1), grad_scale, columns, row.squeeze(-1) @ g, None


def tail(
    name: str,
    y: Tensor,
    row: Tensor,
    scale: Tensor | None = None,
    *,
    column: Tensor | None = None,
    weight: Tensor | None = None,
    low: float | Tensor = -torch.inf,
) -> Tensor:
    r"""f of :math:`y_{ik} c_k + r_i w_k`, or of :math:`y_{ik} + r_i`, which is at least ``low``.

    ``low`` is a bound that holds exactly, and that only rounding can break: no gradient is lost to it.

    Args:
        name: ``"log1p"``, ``"asinh"``, or ``"hcothh"``: :math:`h\coth h` at :math:`\cosh(2h)`.
        y: ``(..., C)``.
        row: ``(..., 1)``.
        scale: a 0-d factor of the result.
        column: ``(C,)``.
        weight: ``(C,)``.
        low: ``(..., 1)``, or one number.
    """
    bound = low.detach().reshape(-1, 1) if isinstance(low, Tensor) else y.new_full((1, 1), low)
    flat = _Tail.apply(name, y.reshape(-1, y.size(-1)), row.reshape(-1, 1), scale, column, weight, bound)
    return flat.reshape(y.shape)
