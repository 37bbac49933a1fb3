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

from hypergraph.geometry.numerics import (
    Scalar,
    asinhc,
    bounded,
    distance_limit,
    finite,
    inverse_radius,
    overflown,
    safe_sqrt,
)
from hypergraph.geometry.rows import (
    at_hand,
    block_dot,
    blocks,
    combine,
    dot,
    join,
    over_norm,
    row_dot,
    summed,
    transformed,
)


def _sinh_limit(x: Tensor) -> float:
    return math.sinh(distance_limit(x.dtype))


def _ratio(x: Tensor, y: Tensor, s: Scalar, out: Tensor | None = None) -> Tensor:
    """-(1 + s x_t) / (1 + s y_t), either between its values at the origin and at the limit."""
    top = 1 + math.cosh(distance_limit(x.dtype))
    a, b = (s * x[..., :1]).add_(1), (-s * y[..., :1]).sub_(1)
    return torch.div(a.clamp(2, top), b.clamp(-top, -2), out=out)


def _chord(x: Tensor, y: Tensor, ratio: Tensor, out: Tensor | None = None) -> Tensor:
    """w = x + ratio y, exactly 0 at coinciding points, with the sign of its time changed."""
    w = torch.addcmul(x, y, ratio, out=out)
    w[..., 0].neg_()
    return w


def _weights(x: Tensor, s: Scalar) -> Tensor:
    """What the squares of a chord's coordinates count in p."""
    weights = x.new_full((x.size(-1),), -0.5)
    weights[0] = 0
    return weights * (s * s)


def _length(p: Tensor, s: Scalar, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The distance, in the place of p, and sinh(s d)."""
    # what is off the sheet may overflow, also to nan
    farthest = math.cosh(2 * distance_limit(p.dtype))
    lost = overflown(p, x, y)
    p = (p if lost is None else torch.where(lost, farthest, p)).clamp_max_(farthest)
    sinh = (p + 2).mul_(p).sqrt_()
    return p.add_(sinh).log1p_().div_(s).squeeze(-1), sinh


def _rates(ctx: Any, grad: Tensor, w: Tensor, ratio: Tensor, sinh: Tensor) -> tuple[Any, ...]:
    """The numbers by which the gradients of x and y are multiples of the chord, and the gradient of s."""
    x, y, s, d = ctx.saved_tensors[:4]
    by_y = over_norm(-s * grad.unsqueeze(-1), sinh)
    by_x = by_y / ratio
    grad_s = None
    if ctx.needs_input_grad[2]:
        by_time = (w[..., :1] * (by_x * x[..., :1] + by_y * y[..., :1])).squeeze(-1)
        grad_s = (by_time + grad * (2 / s * torch.tanh(s * d / 2) - d)).sum() / s
    return by_x, by_y, grad_s


class _Dist(torch.autograd.Function):
    # p = cosh(s d) - 1 = -s^2 |w_s|^2 / 2r, w = x + r y, r = -(1 + s x_t) / (1 + s y_t). On the sheet the
    # derivatives of p / s^2 are -1/r and -1 times w with the sign of its time changed.
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, s: Scalar) -> tuple[Tensor, ...]:
        ratio = _ratio(x, y, s)
        w = _chord(x, y, ratio)
        d, sinh = _length(row_dot(w, w, _weights(x, s)).div_(ratio), s, x, y)
        return d, w, ratio, sinh

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        if grad is None:  # in a second derivative
            return None, None, None
        x, y, s, d, w, ratio, sinh = ctx.saved_tensors
        if torch.is_grad_enabled():
            ratio, sinh = _ratio(x, y, s), torch.sinh(s * d).unsqueeze(-1)
        if torch.is_grad_enabled() or getattr(ctx, "spent", False):
            w = _chord(x, y, ratio)
        by_x, by_y, grad_s = _rates(ctx, grad, w, ratio, sinh)
        return (
            summed(by_x * w, x.shape) if ctx.needs_input_grad[0] else None,
            summed(by_y * w, y.shape) if ctx.needs_input_grad[1] else None,
            grad_s,
        )


def _in_blocks(x: Tensor, y: Tensor, s: Scalar) -> tuple[Tensor, ...]:
    """The forward pass of :class:`_Dist`: a block of points is read once, and its chord squared, in the same
    place for each, while it is in the cache."""
    w, ratio = x.new_empty(x.shape), x.new_empty(*x.shape[:-1], 1)
    p, spare, weights = torch.empty_like(ratio), None, _weights(x, s)
    for a, b, chord, r, sums in blocks(x, y, w, ratio, p):
        _chord(a, b, _ratio(a, b, s, r), chord)
        spare = block_dot(chord, chord, weights, sums, spare)
    d, sinh = _length(p.div_(ratio), s, x, y)
    return d, w, ratio, sinh


class _EagerDist(torch.autograd.Function):
    # the same without results that nobody asked for, which torch.func alone needs, and with less memory:
    # a block of points is in the cache when its chord is taken, and the chord becomes a gradient (a second
    # pass over a graph that was kept takes another one)
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, s: Tensor) -> Tensor:
        number = s.item() if at_hand(x) else s
        d, w, ratio, sinh = (_in_blocks if x.shape == y.shape else _Dist.forward)(x, y, number)
        ctx.save_for_backward(x, y, s, d, w, ratio, sinh)
        ctx.spent = False
        return d

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        both = all(ctx.needs_input_grad[:2])
        if torch.is_grad_enabled() or transformed(grad) or ctx.spent or not both:
            return _Dist.backward(ctx, grad)
        x, y, _, _, w, ratio, sinh = ctx.saved_tensors
        w = w.contiguous()
        by_x, by_y, grad_s = _rates(ctx, grad, w, ratio, sinh)
        grad_x, grad_y = w.data, torch.empty_like(w)
        ctx.spent = True
        for a, b, chord, out in blocks(by_x, by_y, grad_x, grad_y):
            torch.mul(b, chord, out=out)
            chord.mul_(a)
        return summed(grad_x, x.shape), summed(grad_y, y.shape), grad_s


def dist(x: Tensor, y: Tensor, K: Scalar) -> Tensor:
    r""":math:`\frac{2}{s}\sinh^{-1}` of half the chord, which is the length of one vector: nothing cancels.

    It uses the time coordinates, of which it needs the leading digits only. Its derivatives are those along
    the sheet.
    """
    s = inverse_radius(x, K)
    return _Dist.apply(x, y, s)[0] if transformed() else _EagerDist.apply(x, y, s)


def _dist0(x: Tensor, s: Tensor) -> Tensor:
    q = bounded(x[..., 1:], -s * s, _sinh_limit(x), x[..., :1])[1].squeeze(-1)
    return safe_sqrt(q) * asinhc(q) / s


class _Dist0(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, s: Tensor) -> Tensor:
        t = torch.linalg.vector_norm(x[..., 1:], dim=-1).mul_(s).add_(x[..., 0], alpha=0)
        limit, inside = _sinh_limit(x), None
        if x.is_cuda or not (t.numel() and t.amax().item() < limit):
            inside = t < limit
            t.clamp_max_(limit)
        # asinh t is log1p of t + (c - 1), and torch.asinh has no vector code
        q = t * t
        c = (q + 1).sqrt_()
        half_sinh = t * c
        d = q.div_(c.add_(1)).add_(t).log1p_().div_(s)
        ctx.save_for_backward(x, s, d, half_sinh, inside)
        return d

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        x, s, d, half_sinh, inside = ctx.saved_tensors
        if torch.is_grad_enabled():
            return torch.func.vjp(_dist0, x, s)[1](grad)
        moving = grad if inside is None else grad * inside
        # s|x_s| cosh(s d) is sinh(2 s d) / 2
        grad_x = over_norm(s * moving, half_sinh).unsqueeze(-1) * x
        grad_x[..., 0].zero_()
        grad_s = None
        if ctx.needs_input_grad[1]:
            grad_s = (moving * torch.tanh(s * d) / s - grad * d).sum() / s
        return grad_x, grad_s


def dist0(x: Tensor, K: Scalar) -> Tensor:
    """The distance from the origin, up to the limit; its gradient at 0 is 0."""
    s = inverse_radius(x, K)
    return _dist0(x, s) if transformed() else _Dist0.apply(x, s)


def _project(x: Tensor, K: Tensor) -> tuple[Tensor, Scalar]:
    x_s = x[..., 1:]
    factor, q = bounded(x_s, K, _sinh_limit(x), x[..., :1])
    return join((1 + q).sqrt() / (-K).sqrt(), factor, x_s), factor


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, K: Tensor) -> Tensor:
        out, factor = _project(x, K)
        ctx.save_for_backward(x, K, out[..., :1].clone(), factor if isinstance(factor, Tensor) else None)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        x, K, time, factor = ctx.saved_tensors
        if torch.is_grad_enabled():
            return torch.func.vjp(lambda *a: _project(*a)[0], x, K)[1](grad)
        # inside the time alone moves, by <x_s, dx_s> / time; beyond the limit L the spatial part is
        # (L/s) x_s / |x_s|, whose derivative is what is orthogonal to x_s of that of factor * x_s
        g_t = grad[..., :1]
        on_x, by_K = g_t / time, g_t / (time * K)
        if factor is None:
            grad_x = torch.addcmul(grad, on_x, x)
        else:
            along = factor * finite(dot(grad[..., 1:], x[..., 1:]))
            on_x = torch.where(factor == 1, on_x, along * (factor / _sinh_limit(x)).square() * K)
            by_K = torch.where(factor == 1, by_K, -(along + g_t * time))
            grad_x = combine(factor, grad, on_x, x)
        grad_x[..., 0].zero_()
        return grad_x, by_K.sum() / (2 * K) if ctx.needs_input_grad[1] else None


def project(x: Tensor, K: Scalar) -> Tensor:
    """Back onto the sheet, by the spatial part."""
    K = torch.as_tensor(K, dtype=x.dtype, device=x.device)
    return _project(x, K)[0] if transformed() else _Project.apply(x, K)
