"""Operators on whole points of the Lorentz model, with backward passes that touch each point once or twice.

Autograd's rule for the spatial part, a slice, fills a whole tensor with zeros, and its rule for a product by
a row scalar takes another reduction: with them these operators spend their time in fresh memory. The backward
passes are made of differentiable operations, or have a composed version where these are differentiated:
derivatives of any order, vmap and torch.compile work.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from hypergraph.geometry.numerics import Scalar, bounded, distance_limit, finite, inverse_radius
from hypergraph.geometry.rows import combine, dot, in_blocks, join, over_norm, row_sum


def _sinh_limit(x: Tensor) -> float:
    return math.sinh(distance_limit(x.dtype))


def _asinh(t: Tensor) -> Tensor:
    """For t >= 0; torch.asinh has no vector code."""
    q = t * t
    return q.div_((q + 1).sqrt_().add_(1)).add_(t).log1p_()


def _one_plus_time(x: Tensor, s: Tensor) -> Tensor:
    """1 + s x_t, between its values at the origin and at the limit."""
    return (s * x[..., 0]).add_(1).clamp(2, 1 + math.cosh(distance_limit(x.dtype)))


def _chord(x: Tensor, y: Tensor, ratio: Tensor) -> Tensor:
    """x - y / ratio, exactly 0 at coinciding points."""
    return torch.addcmul(x, y, (1 / ratio).unsqueeze(-1), value=-1)


def _chord_length(x: Tensor, y: Tensor, ratio: Tensor) -> Tensor:
    """The length of the spatial part of the chord."""

    def square(x: Tensor, y: Tensor, ratio: Tensor) -> Tensor:
        w = _chord(x[..., 1:], y[..., 1:], ratio.squeeze(-1))
        return row_sum(w.mul_(w))

    return in_blocks(square, x, y, ratio.unsqueeze(-1)).squeeze(-1).sqrt_()


class _Dist(torch.autograd.Function):
    # d = (2/s) asinh(s h), h = sqrt(b/a)/2 |w_s|, w = x - (a/b) y, a = 1 + s x_t, b = 1 + s y_t. On the sheet
    # the derivatives of h^2 are b/2a and -1/2 times w with the sign of its time changed.
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        a = _one_plus_time(x, s)
        ratio = _one_plus_time(y, s) / a
        # s|w| < 2a on the sheet
        h = torch.minimum(_chord_length(x, y, ratio).mul_(s / 2), a) * ratio.sqrt()
        return _asinh(h).mul_(2 / s), ratio

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, y, s, d, ratio = ctx.saved_tensors
        if torch.is_grad_enabled():
            ratio = _one_plus_time(y, s) / _one_plus_time(x, s)
        # w is computed anew: that is quicker than the fresh memory it would keep
        w = _chord(x, y, ratio)
        w[..., 0].neg_()
        grad_y = over_norm(-s * grad, torch.sinh(s * d)).unsqueeze(-1) * w
        del w  # its memory serves the next
        grad_x = -ratio.unsqueeze(-1) * grad_y
        grad_s = None
        if ctx.needs_input_grad[2]:
            by_time = grad_x[..., 0] * x[..., 0] + grad_y[..., 0] * y[..., 0]
            grad_s = (by_time + grad * (2 / s * torch.tanh(s * d / 2) - d)).sum() / s
        return grad_x.sum_to_size(x.shape), grad_y.sum_to_size(y.shape), grad_s


def dist(x: Tensor, y: Tensor, K: Scalar) -> Tensor:
    r""":math:`\frac{2}{s}\sinh^{-1}` of half the chord, which is the length of one vector: nothing cancels.

    It uses the time coordinates, of which it needs the leading digits only. Its derivatives are those along
    the sheet.
    """
    return _Dist.apply(x, y, inverse_radius(x, K))[0]


class _Dist0(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        t = s * torch.linalg.vector_norm(x[..., 1:], dim=-1)
        inside = t < _sinh_limit(x)
        return _asinh(t.clamp_max_(_sinh_limit(x))).div_(s), inside

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor | None]:
        x, s, d, inside = ctx.saved_tensors
        if torch.is_grad_enabled():
            # in a second derivative it may be a zero without memory, which cannot be written to
            grad = grad + torch.zeros(grad.shape, dtype=grad.dtype, device=grad.device)
        # the norm of x_s times cosh(s d) is sinh(2 s d) / 2s
        grad_x = (over_norm(2 * s * grad, torch.sinh(2 * s * d)) * inside).unsqueeze(-1) * x
        grad_x[..., 0].zero_()
        grad_s = None
        if ctx.needs_input_grad[1]:
            grad_s = (grad * (torch.tanh(s * d) / s * inside - d)).sum() / s
        return grad_x, grad_s


def dist0(x: Tensor, K: Scalar) -> Tensor:
    """The distance from the origin, up to the limit; its gradient at 0 is 0."""
    return _Dist0.apply(x, inverse_radius(x, K))[0]


def _project(x: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
    factor, q = bounded(x[..., 1:], K, _sinh_limit(x))
    return join((1 + q).sqrt() / (-K).sqrt(), factor, x[..., 1:]), factor


class _Project(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, K: Tensor) -> tuple[Tensor, Tensor]:
        return _project(x, K)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, output[0][..., :1].clone(), output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor | None]:
        x, K, time, factor = ctx.saved_tensors
        if torch.is_grad_enabled():
            return torch.func.vjp(lambda *a: _project(*a)[0], x, K)[1](grad)
        # inside the time alone moves, by <x_s, dx_s> / time; beyond the limit L the spatial part is
        # (L/s) x_s / |x_s|, whose derivative is what is orthogonal to x_s of that of factor * x_s
        inside, g_t = factor == 1, grad[..., :1]
        along = factor * finite(dot(grad[..., 1:], x[..., 1:]))
        on_x = torch.where(inside, g_t / time, along * (factor / _sinh_limit(x)).square() * K)
        grad_x = combine(factor, grad, on_x, x)
        grad_x[..., 0].zero_()
        grad_K = None
        if ctx.needs_input_grad[1]:
            grad_K = torch.where(inside, g_t / (time * K), -(along + g_t * time)).sum() / (2 * K)
        return grad_x, grad_K


def project(x: Tensor, K: Scalar) -> Tensor:
    """Back onto the sheet, by the spatial part."""
    K = torch.as_tensor(K, dtype=x.dtype, device=x.device)
    return (_project(x, K) if torch.compiler.is_compiling() else _Project.apply(x, K))[0]
