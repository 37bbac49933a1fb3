"""Operators on whole points of the Lorentz model, with backward passes that touch each point once or twice.

Autograd's rule for the spatial part, a slice, fills a whole tensor with zeros, and its rule for a product by
a row scalar takes another reduction: with them a distance spends its time in fresh memory. The backward
passes are made of differentiable operations: derivatives of any order, vmap and torch.compile work.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.numerics import Scalar, distance_limit, over_norm, row_sum, scale


def _solid(grad: Tensor) -> Tensor:
    """In a second derivative a gradient may be a zero without memory, which cannot be written to."""
    return grad + torch.zeros(grad.shape, dtype=grad.dtype, device=grad.device)


def _one_plus_time(x: Tensor, s: Tensor) -> Tensor:
    """1 + s x_t, between its values at the origin and at the limit."""
    return (s * x[..., 0]).add_(1).clamp(2, 1 + math.cosh(distance_limit(x.dtype)))


def _chord(x: Tensor, y: Tensor, ratio: Tensor) -> Tensor:
    """x - y / ratio, exactly 0 at coinciding points."""
    return torch.addcmul(x, y, (1 / ratio).unsqueeze(-1), value=-1)


class _HalfChord(torch.autograd.Function):
    # h = sqrt(b/a)/2 |w_s|, w = x - (a/b) y, a = 1 + s x_t, b = 1 + s y_t. On the sheet the derivatives of
    # h^2 are b/2a and -1/2 times w with the sign of its time changed.
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        a = _one_plus_time(x, s)
        ratio = _one_plus_time(y, s) / a
        w = _chord(x, y, ratio)
        w[..., 0].zero_()
        # s|w| < 2a on the sheet
        h = torch.minimum(row_sum(w.mul_(w)).squeeze(-1).sqrt_() / 2, a / s) * ratio.sqrt()
        return h, ratio

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, y, s, h, ratio = ctx.saved_tensors
        if torch.is_grad_enabled():
            ratio = _one_plus_time(y, s) / _one_plus_time(x, s)
        # w is computed anew: that is quicker than the fresh memory it would keep
        w = _chord(x, y, ratio)
        w[..., 0].neg_()
        g = (over_norm(grad, h) / -4).unsqueeze(-1)
        grad_y = g * w
        del w  # its memory serves the next
        grad_x = -ratio.unsqueeze(-1) * grad_y
        grad_s = None
        if ctx.needs_input_grad[2]:
            grad_s = (grad_x[..., 0] * x[..., 0] + grad_y[..., 0] * y[..., 0]).sum() / s
        return grad_x.sum_to_size(x.shape), grad_y.sum_to_size(y.shape), grad_s


def half_chord(x: Tensor, y: Tensor, K: Scalar) -> Tensor:
    r""":math:`\sinh(s\,d(x, y)/2)/s` as the length of one vector: nothing cancels.

    It uses the time coordinates, of which it needs the leading digits only. Its derivatives are those along
    the sheet.
    """
    return _HalfChord.apply(x, y, scale(x, K))[0]


class _SpaceNorm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return torch.linalg.vector_norm(x[..., 1:], dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, r = ctx.saved_tensors
        out = over_norm(_solid(grad) if torch.is_grad_enabled() else grad, r).unsqueeze(-1) * x
        out[..., 0].zero_()
        return out


def space_norm(x: Tensor, K: Scalar) -> Tensor:
    """The norm of the spatial part, up to that at the limit; its gradient at 0 is 0."""
    return _SpaceNorm.apply(x).clamp_max(math.sinh(distance_limit(x.dtype)) / scale(x, K))
