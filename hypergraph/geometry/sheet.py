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

from hypergraph.geometry.numerics import Scalar, bound, distance_limit, over_norm, row_sum, scale, sq_norm


def _norm(x: Tensor) -> Tensor:
    """The norm of the spatial part."""
    return torch.linalg.vector_norm(x[..., 1:], dim=-1)


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
        again = torch.is_grad_enabled()
        if again:
            ratio = _one_plus_time(y, s) / _one_plus_time(x, s)
        # w is computed anew: that is quicker than the fresh memory it would keep
        w = _chord(x, y, ratio)
        w[..., 0].neg_()
        g = (over_norm(grad, h) / -4).unsqueeze(-1)
        grad_y = g * w if again else w.mul_(g)
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
    def forward(x: Tensor, most: Tensor) -> Tensor:
        return _norm(x).clamp_max(most)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        x, r = ctx.saved_tensors
        out = over_norm(_solid(grad) if torch.is_grad_enabled() else grad, r).unsqueeze(-1) * x
        out[..., 0].zero_()
        return out, None


def space_norm(x: Tensor, K: Scalar) -> Tensor:
    """The norm of the spatial part, up to that at the limit; its gradient at 0 is 0."""
    return _SpaceNorm.apply(x, math.sinh(distance_limit(x.dtype)) / scale(x, K))


class _Project(torch.autograd.Function):
    # [c/s, f x_s] with c^2 = 1 + s^2 |f x_s|^2; f, which brings x_s inside the limit, is a constant here
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        factor, q = bound(_norm(x).square(), -s * s, math.sinh(distance_limit(x.dtype)))
        c = q.add_(1).sqrt_()
        out = factor.unsqueeze(-1) * x
        out[..., 0] = c / s
        return out, factor, c

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output[1:])
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Tensor | None, Tensor | None]:
        if grad is None:
            return None, None
        x, s, factor, c = ctx.saved_tensors
        again = torch.is_grad_enabled()
        if again:
            grad = _solid(grad)
            c = (1 + (s * factor).square() * sq_norm(x[..., 1:]).squeeze(-1)).sqrt()
        slope = grad[..., 0] / c
        out, onto = factor.unsqueeze(-1) * grad, (s * slope * factor * factor).unsqueeze(-1)
        out = torch.addcmul(out, onto, x) if again else out.addcmul_(onto, x)
        out[..., 0].zero_()
        return out, -slope.sum() / (s * s) if ctx.needs_input_grad[1] else None


def project(x: Tensor, K: Scalar) -> Tensor:
    """The point of the sheet with the spatial part of x, or as much of it as is inside the limit."""
    return _Project.apply(x, scale(x, K))[0]
