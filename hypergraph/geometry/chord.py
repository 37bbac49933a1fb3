"""Reductions over points of the Lorentz model, with backward passes that touch each point once.

Autograd's rule for a slice writes a whole tensor of zeros, and that for a product by a row scalar takes
another reduction: a distance would spend most of its time there. Both passes can be differentiated again.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.numerics import Scalar, distance_limit, overflow


def _solid(grad: Tensor, like: Tensor) -> Tensor:
    """In a second derivative a gradient may be a zero without memory, which cannot be written to."""
    return grad + torch.zeros_like(like)


class _SpaceSqNorm(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        x_s = x[..., 1:]
        return (x_s * x_s).sum(-1, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, q = ctx.saved_tensors
        out = (2 * _solid(grad, q)) * x
        out[..., :1] = 0
        return out


def space_sq_norm(x: Tensor) -> Tensor:
    """The squared norm of the spatial part, in a last dimension of 1; finite also where it overflows."""
    return _SpaceSqNorm.apply(x).clamp_max(overflow(x.dtype))


def _one_plus_time(x: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """1 + s x_t, between its values at the origin and at the limit, and whether it was so by itself."""
    a = 1 + s * x[..., :1]
    inside = a.clamp(2, 1 + math.cosh(distance_limit(x.dtype)))
    return inside, inside == a


class _HalfChord(torch.autograd.Function):
    # q = ab/4 |w_s|^2, w = x/a - y/b, a = 1 + s x_t, b = 1 + s y_t. w is returned so that the backward pass,
    # which needs it, can be differentiated.
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        (a, _), (b, _) = _one_plus_time(x, s), _one_plus_time(y, s)
        w = x * (1 / a) - y * (1 / b)
        w_s = w[..., 1:]
        # s|w_s| < 2 on the sheet
        square = (w_s * w_s).sum(-1, keepdim=True).clamp_max(4 / (s * s))
        return (a * b / 4) * square, w

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(
        ctx: Any, grad_q: Tensor | None, grad_w: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        x, y, s, q, w = ctx.saved_tensors
        (a, free_a), (b, free_b) = _one_plus_time(x, s), _one_plus_time(y, s)
        grad_a = grad_b = time_x = time_y = torch.zeros_like(q)
        grad_x = grad_y = torch.zeros_like(w[..., :1])
        if grad_q is not None:
            g = _solid(grad_q, q)
            # with <w, x>/a - <w, y>/b = |w|^2 one reduction gives the derivatives by both a and b
            h = g * (b / 2 * (w[..., 1:] * x[..., 1:]).sum(-1, keepdim=True) - q)
            grad_a, grad_b = -h / a, h / b
            grad_x, grad_y = (g * b / 2) * w, (g * a / -2) * w
        if grad_w is not None:
            more_x, more_y = grad_w / a, grad_w / -b
            time_x, time_y = more_x[..., :1], more_y[..., :1]
            grad_a = grad_a - (more_x * x).sum(-1, keepdim=True) / a
            grad_b = grad_b - (more_y * y).sum(-1, keepdim=True) / b
            grad_x, grad_y = grad_x + more_x, grad_y + more_y
        grad_a, grad_b = grad_a * free_a, grad_b * free_b
        grad_x[..., :1] = s * grad_a + time_x
        grad_y[..., :1] = s * grad_b + time_y
        grad_s = (grad_a * x[..., :1] + grad_b * y[..., :1]).sum() if ctx.needs_input_grad[2] else None
        return grad_x.sum_to_size(x.shape), grad_y.sum_to_size(y.shape), grad_s


def half_chord(x: Tensor, y: Tensor, K: Scalar) -> Tensor:
    r""":math:`\sinh^2(s\,d(x, y)/2)/s^2` as one square: nothing cancels. It uses the time coordinates."""
    s = torch.as_tensor((-K) ** 0.5, dtype=x.dtype, device=x.device)
    return _HalfChord.apply(x, y, s)[0]
